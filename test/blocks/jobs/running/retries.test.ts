import { describe, expect, test } from 'vitest';
import { request } from '../../../../src/http/message.ts';
import { defineJob, type RetryOptions } from '../../../../src/index.ts';
import { JobsWorld, jobsWorld } from '../../../support/jobs-world.ts';

const fail = (): never => {
  throw new Error('no');
};
/** The seconds between attempts. */
const gaps = (times: readonly string[]): readonly number[] =>
  times.slice(1).map((time, index) => (Date.parse(`${time}Z`) - Date.parse(`${times[index]}Z`)) / 1_000);

describe('retries that code sets', () => {
  test.each<[what: string, retry: Omit<RetryOptions, 'retryIf'>, seconds: number[]]>([
    ['by default 3, from 1 s, each twice as long', {}, [1, 2, 4]],
    ['none', { maxRetries: 0 }, []],
    ['a longest delay', { maxRetries: 5, delay: '10s', maxDelay: '25s' }, [10, 20, 25, 25, 25]],
    ['another factor', { maxRetries: 3, delay: 'PT1S', factor: 3 }, [1, 3, 9]],
    ['the same delay', { maxRetries: 3, delay: 2_000, factor: 1 }, [2, 2, 2]],
    ['a longest delay below the first', { maxRetries: 2, delay: '1m', maxDelay: '30s', factor: 1 }, [30, 30]],
  ])('%s', async (_what, retry, seconds) => {
    await using world = await jobsWorld();
    world.run = fail;
    await world.sidecar.jobs.schedule('bad', { dueTime: '1s', retry });
    await world.clock.advance('1h');
    expect(gaps(world.times)).toEqual(seconds);
    expect(await world.sidecar.jobs.get('bad')).toMatchObject({ lastRun: { outcome: 'failed' } });
  });

  test('a year of them goes on for ever, ever more slowly', async () => {
    await using world = await jobsWorld();
    world.run = fail;
    const retry = { maxRetries: 'unlimited', delay: '1m' } as const;
    await world.sidecar.jobs.schedule('bad', { dueTime: '1s', retry });
    await world.clock.advance('365d');
    // 2^19 minutes are a year.
    expect(world.seen).toHaveLength(20);
    expect(await world.sidecar.jobs.get('bad')).toMatchObject({ lastRun: { outcome: 'retrying', attempt: 20 } });
  });

  test('grow on after a restart, and after the job was paused', async () => {
    await using world = await jobsWorld();
    world.run = fail;
    await world.sidecar.jobs.schedule('bad', { dueTime: '1s', retry: { maxRetries: 4, delay: '10s' } });
    await world.clock.advance('12s');
    await world.restart('5s');
    await world.clock.advance('30s');
    await world.sidecar.jobs.pause('bad');
    await world.sidecar.jobs.resume('bad');
    await world.clock.advance('1h');
    expect(world.seen.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5]);
    expect(gaps(world.times)).toEqual([10, 20, 40, 80]);
  });

  test('may be shorter by chance, by the share of jitter at most', async () => {
    await using world = await jobsWorld();
    world.run = fail;
    const retry = { maxRetries: 20, delay: '100s', factor: 1, jitter: 0.5 };
    await world.sidecar.jobs.schedule('bad', { dueTime: '1s', retry: { ...retry, delay: '100s' } });
    await world.clock.advance('3h');
    const seconds = gaps(world.times);
    expect(seconds).toHaveLength(20);
    for (const gap of seconds) expect(gap).toBeGreaterThanOrEqual(50);
    for (const gap of seconds) expect(gap).toBeLessThanOrEqual(100.001);
    expect(new Set(seconds).size).toBeGreaterThan(1);
  });

  test('of a definition count, unless the job was given some; retryIf of the definition counts for both', async () => {
    await using world = new JobsWorld();
    const seen: unknown[] = [];
    const retry: RetryOptions = { maxRetries: 5, delay: '1s', retryIf: (error) => String(error).includes('busy') };
    const job = defineJob('job-*', { retry }, (text: string) => {
      throw new Error(text);
    });
    world.sidecar.register(job);
    world.sidecar.events.on('jobRetrying', ({ jobName }) => seen.push(jobName));
    world.sidecar.events.on('jobFailed', ({ jobName, attempt }) => seen.push([jobName, attempt]));
    await world.start();
    await world.sidecar.jobs.schedule(job, { id: 'busy', dueTime: '1s', data: 'busy', retry: { maxRetries: 1 } });
    await world.sidecar.jobs.schedule(job, { id: 'gone', dueTime: '10s', data: 'no such invoice' });
    await world.clock.advance('1h');
    expect(seen).toEqual(['job-busy', ['job-busy', 2], ['job-gone', 1]]);
    // Kept, to be run again once the cause is mended.
    expect(await world.sidecar.jobs.get(job, 'gone')).toMatchObject({ data: 'no such invoice', runs: 1 });
  });

  test('retryIf that fails itself refuses no retry', async () => {
    await using world = new JobsWorld();
    const retry: RetryOptions = { maxRetries: 2, retryIf: fail };
    world.sidecar.register(defineJob('job', { retry }, world.record));
    world.run = fail;
    await world.start();
    await world.sidecar.jobs.schedule('job', { dueTime: '1s', retry: { maxRetries: 2 } });
    await world.clock.advance('1h');
    expect(world.seen).toHaveLength(3);
    expect(world.logger.at('error').map(({ message }) => message)).toContain(
      'retryIf of a job failed: the run will be tried again',
    );
  });

  test('are shown to operators; the API shows what it knows of them', async () => {
    await using world = await jobsWorld();
    const retry = { maxRetries: 'unlimited', delay: '1m', maxDelay: '1h', jitter: 0.1 } as const;
    await world.sidecar.jobs.schedule('job', { dueTime: '1h', retry });
    const shown = { maxRetries: 'unlimited', delayMs: 60_000, maxDelayMs: 3_600_000, factor: 2, jitter: 0.1 };
    expect((await world.sidecar.jobs.get('job'))?.retry).toEqual(shown);
    const { body } = await world.sidecar.handle(request('GET', '/v1.0-alpha1/jobs/job'));
    expect(JSON.parse(String(body))).toMatchObject({ failure_policy: { constant: { interval: '1m0s' } } });
    expect(String(body)).not.toContain('backoff');
  });

  test.each<[what: string, options: object, message: string]>([
    ['the old name', { failurePolicy: { drop: {} } }, 'unknown field "failurePolicy": expected retry, such as'],
    ['attempts', { retry: { maxAttempts: 3 } }, 'retry: unknown field "maxAttempts": expected maxRetries'],
    ['Infinity', { retry: { maxRetries: Infinity } }, 'or "unlimited"'],
    ['a negative delay', { retry: { delay: -1 } }, 'retry.delay is -1: expected a duration'],
    ['a factor below 1', { retry: { factor: 0.5 } }, 'retry.factor is 0.5: expected a number of 1 or more'],
    ['no object', { retry: 3 }, 'retry: expected an object, actual is a number'],
    ['a function', { retry: { retryIf: fail } }, 'retry.retryIf is a function, which is not kept with a job'],
  ])('%s is refused', async (_what, options, message) => {
    await using world = await jobsWorld();
    await expect(world.sidecar.jobs.schedule('job', { dueTime: '1s', ...options })).rejects.toThrow(message);
    expect(await world.sidecar.jobs.get('job')).toBeUndefined();
  });

  test('the old name in a definition is refused with the new one', () => {
    const options = { failurePolicy: { drop: {} } } as object;
    expect(() => defineJob('job', options, fail)).toThrow('expected retry, such as { maxRetries: 5, delay');
    expect(() => defineJob('job', { retry: { delay: '1 hour' as never } }, fail)).toThrow(
      'retry in options of job "job".delay is "1 hour": expected a duration',
    );
  });
});

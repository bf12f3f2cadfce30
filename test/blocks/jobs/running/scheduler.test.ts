import { describe, expect, test } from 'vitest';
import { request } from '../../../../src/http/message.ts';
import { defineJob } from '../../../../src/index.ts';
import { JobsWorld, jobsWorld, timeOf } from '../../../support/jobs-world.ts';

const fail = (): never => {
  throw new Error('no');
};

/** Whether a time of day was over when the test began, at midnight. */
const isOver = (time: string): boolean => time.startsWith('23:') || time === '00:00:00';

describe('jobs run', () => {
  test('a month of a nightly job passes in milliseconds', async () => {
    await using world = await jobsWorld();
    const startedAt = performance.now();
    await world.sidecar.jobs.schedule('nightly', { schedule: 'TZ=UTC 0 30 2 * * *', data: { full: true } });
    await world.clock.advance('744h');
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    expect(world.seen.length).toBe(31);
    expect(world.seen[0]).toEqual({
      name: 'nightly',
      at: '2026-01-01T02:30:00',
      dueAt: '2026-01-01T02:30:00',
      attempt: 1,
      data: { full: true },
    });
    expect(world.times.at(-1)).toBe('2026-01-31T02:30:00');
  });

  test('a failed run is tried again when the clock stands between two milliseconds', async () => {
    await using world = await jobsWorld();
    world.run = (_, { attempt }) => (attempt < 3 ? fail() : undefined);
    await world.clock.advance(0.5);
    await world.sidecar.jobs.schedule('bad', { dueTime: '0s' });
    await world.clock.advance('10s');
    expect(world.seen.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
  });

  test('dueTime: one run, then it is gone and its name is free', async () => {
    await using world = await jobsWorld();
    await world.sidecar.jobs.schedule('once', { dueTime: '10m' });
    await world.clock.advance('9m59.999s');
    expect([world.seen.length, (await world.sidecar.jobs.get('once'))?.dueTime]).toEqual([0, '10m']);
    await world.clock.advance('1ms');
    expect(world.times).toEqual(['2026-01-01T00:10:00']);
    expect(await world.sidecar.jobs.get('once')).toBe(undefined);
    expect(await world.store.size()).toBe(0);
    await world.sidecar.jobs.schedule('once', { dueTime: new Date('2026-01-01T01:00:00Z') });
    await world.clock.advance('1h');
    expect(world.times.at(-1)).toBe('2026-01-01T01:00:00');
    expect(world.lines).toEqual([
      ...['jobScheduled once', 'jobStarted once 1', 'jobCompleted once 1', 'jobEnded once finished'],
      ...['jobScheduled once', 'jobStarted once 1', 'jobCompleted once 1', 'jobEnded once finished'],
    ]);
  });

  test.each<[what: string, dueTime: string, times: string[]]>([
    ['in the future: first then, and the schedule from there', '90s', ['00:01:30', '00:02:30', '00:03:30']],
    ['now: at once', '0s', ['00:00:00', '00:01:00', '00:02:00', '00:03:00']],
    ['in the past: one run at once, then from now', '-1h', ['00:00:00', '00:01:00', '00:02:00', '00:03:00']],
  ])('dueTime with @every 1m, %s', async (_what, dueTime, times) => {
    await using world = await jobsWorld();
    await world.sidecar.jobs.schedule('both', { dueTime, schedule: '@every 1m' });
    await world.clock.advance('3m30s');
    expect(world.times).toEqual(times.map((time) => `2026-01-01T${time}`));
  });

  test.each<[what: string, schedule: string, dueTime: string, dues: string[]]>([
    ['@every', '@every 3s', '-10s', ['23:59:50', '23:59:53', '23:59:56', '23:59:59', '00:00:02', '00:00:05']],
    ['cron', '0/20 * * * * *', '2025-12-31T23:59:30Z', ['23:59:30', '23:59:40', '00:00:00']],
  ])('dueTime in the past on the dapr wire: the first run, and every tick since, with %s', async (_what, ...rest) => {
    const [schedule, dueTime, dues] = rest;
    await using world = await jobsWorld({ wire: 'dapr' });
    await world.sidecar.jobs.schedule('both', { dueTime, schedule });
    await world.clock.advance('5s');
    expect(world.seen.map(({ dueAt }) => dueAt.slice(11))).toEqual(dues);
    expect(world.seen.filter(({ at }) => at === '2026-01-01T00:00:00').length).toBe(dues.filter(isOver).length);
  });

  test('dueTime in the past on the dapr wire with missedTicks once: one run for all, then by its grid', async () => {
    await using world = await jobsWorld({ wire: 'dapr', jobs: { missedTicks: 'once' } });
    await world.sidecar.jobs.schedule('both', { dueTime: '-10s', schedule: '@every 3s' });
    await world.clock.advance('5s');
    expect(world.times.map((time) => time.slice(11))).toEqual(['00:00:00', '00:00:02', '00:00:05']);
  });

  test('dueTime with a cron schedule: first then, afterwards by the clock', async () => {
    await using world = await jobsWorld();
    await world.sidecar.jobs.schedule('both', { dueTime: '90s', schedule: '0 * * * * *' });
    await world.clock.advance('3m');
    expect(world.times).toEqual(['00:01:30', '00:02:00', '00:03:00'].map((time) => `2026-01-01T${time}`));
  });

  test('repeats counts runs, failed ones too; @every does not drift however long runs take', async () => {
    await using world = await jobsWorld();
    world.run = async (_, { attempt }) => {
      await new Promise<void>((resolve) => world.clock.setTimeout(resolve, 300));
      if (world.seen.length === 2 && attempt === 1) fail();
    };
    await world.sidecar.jobs.schedule('thrice', { schedule: '@every 1s', repeats: 3, retry: { maxRetries: 0 } });
    await world.clock.advance('10s');
    expect(world.times).toEqual(['00:00:01', '00:00:02', '00:00:03'].map((time) => `2026-01-01T${time}`));
    expect(world.lines.filter((line) => /Dropped|Ended/.test(line))).toEqual(['jobEnded thrice finished']);
  });

  test('ttl: @every 1s with 3s runs three times; then it is gone', async () => {
    await using world = await jobsWorld();
    await world.sidecar.jobs.schedule('short', { schedule: '@every 1s', ttl: '3s' });
    await world.clock.advance('3s');
    expect(world.seen.length).toBe(3);
    expect((await world.sidecar.jobs.get('short'))?.ttl).toBe('3s');
    await world.clock.advance('1m');
    expect([world.seen.length, await world.store.size()]).toEqual([3, 0]);
    expect(world.lines.at(-1)).toBe('jobEnded short expired');
  });

  test('ttl that ends before the first run: the job stays until then, and is gone without one', async () => {
    await using world = await jobsWorld();
    await world.sidecar.jobs.schedule('never', { schedule: '@daily', ttl: '10s' });
    await world.clock.advance('10s');
    expect(await world.sidecar.jobs.get('never')).toMatchObject({ ttl: '10s' });
    await world.clock.advance('1ms');
    expect(await world.sidecar.jobs.get('never')).toBe(undefined);
    expect([world.seen, await world.store.size()]).toEqual([[], 0]);
  });

  test.each(['__proto__', 'constructor', 'toString', 'ünï – 汉字 🚀', 'a b', 'x|y@z', "!'()*", '%2F', '0'])(
    'a job may be named %s',
    async (name) => {
      await using world = await jobsWorld();
      await world.sidecar.jobs.schedule(name, { dueTime: '1s', data: name });
      await expect(world.sidecar.jobs.schedule(name, { dueTime: '1s' })).rejects.toMatchObject({ status: 409 });
      expect(await world.sidecar.jobs.get(name)).toMatchObject({ name, data: name });
      await world.clock.advance('1s');
      expect(world.seen.map(({ name: ran, data }) => [ran, data])).toEqual([[name, name]]);
      expect(await world.sidecar.jobs.delete(name)).toBe(false);
    },
  );

  test('large data lies apart, and goes with the job', async () => {
    await using world = await jobsWorld();
    const data = { text: 'ä'.repeat(100_000) };
    await world.sidecar.jobs.schedule('large', { schedule: '@every 1s', repeats: 2, data });
    await world.sidecar.jobs.schedule('large', { schedule: '@every 1s', repeats: 2, data, ifExists: 'replace' });
    expect(await world.store.size()).toBe(3);
    expect((await world.sidecar.jobs.get('large'))?.data).toEqual(data);
    await world.clock.advance('2s');
    expect(world.seen.map((run) => run.data)).toEqual([data, data]);
    expect(await world.store.size()).toBe(0);
  });

  test('jobs that are due together all run, at most `concurrency` at a time, however many', async () => {
    await using world = await jobsWorld({ jobs: { concurrency: 7 } });
    let [running, most] = [0, 0];
    world.run = async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
    };
    const names = Array.from({ length: 3_000 }, (_, index) => `job-${index}`);
    await Promise.all(names.map((name) => world.sidecar.jobs.schedule(name, { dueTime: '1h' })));
    await world.clock.advance('2h');
    expect([most, world.seen.length, new Set(world.seen.map(({ name }) => name)).size]).toEqual([7, 3_000, 3_000]);
    expect(await world.store.size()).toBe(0);
  });

  test('far more jobs than are held in memory run each at its time, in whatever order they were scheduled', async () => {
    await using world = await jobsWorld();
    const count = 6_000;
    for (let index = 0; index < count; index++) {
      const second = (index * 7_919) % count;
      await world.sidecar.jobs.schedule(`job-${second}`, { dueTime: `${second + 1}s` });
    }
    await world.clock.advance('50m');
    const wrong = world.seen.filter(({ name, at }, index) => {
      const due = Date.parse('2026-01-01T00:00:01Z') + index * 1_000;
      return name !== `job-${index}` || at !== timeOf(due);
    });
    expect([world.seen.length, wrong]).toEqual([3_000, []]);
  });
});

describe('jobs that fail', () => {
  test.each<[what: string, failurePolicy: object | undefined, seconds: number[]]>([
    ['without a policy: 3 retries, 1 second apart', undefined, [1, 2, 3, 4]],
    ['constant with max 4', { constant: { maxRetries: 4, interval: '2s' } }, [1, 3, 5, 7, 9]],
    ['constant with max 0', { constant: { maxRetries: 0 } }, [1]],
    ['constant with max 2 and no interval: at once', { constant: { maxRetries: 2 } }, [1, 1, 1]],
    ['drop', { drop: {} }, [1]],
  ])('%s', async (_what, failurePolicy, seconds) => {
    await using world = await jobsWorld();
    world.run = fail;
    const body = { dueTime: '1s', failurePolicy };
    await world.sidecar.handle(request('POST', '/v1.0-alpha1/jobs/bad', { body }));
    await world.clock.advance('1h');
    expect(world.times).toEqual(seconds.map((second) => `2026-01-01T00:00:0${second}`));
    expect(world.seen.map(({ attempt }) => attempt)).toEqual(seconds.map((_, index) => index + 1));
    const isDropped = failurePolicy !== undefined && 'drop' in failurePolicy;
    const end = isDropped
      ? [`jobDropped bad ${seconds.length}`, 'jobEnded bad finished']
      : [`jobFailed bad ${seconds.length}`];
    expect(world.lines.slice(-end.length)).toEqual(end);
    expect(await world.sidecar.jobs.get('bad')).toEqual(isDropped ? undefined : expect.objectContaining({ runs: 1 }));
    expect(world.logger.at('error').map(({ details }) => details['reason'])).toEqual(['no']);
  });

  test('constant without max_retries is tried without end, and the next tick waits', async () => {
    await using world = await jobsWorld();
    world.run = (_, { attempt }) => (attempt < 100 ? fail() : undefined);
    const retry = { maxRetries: 'unlimited', delay: '3s', factor: 1 } as const;
    await world.sidecar.jobs.schedule('stubborn', { schedule: '@every 1s', repeats: 2, retry });
    await world.clock.advance('5m');
    expect(world.seen.filter(({ attempt }) => attempt === 1).map(({ dueAt }) => dueAt)).toEqual([
      '2026-01-01T00:00:01',
      '2026-01-01T00:00:02',
    ]);
  });

  test('a tick that failed for good does not stop the next', async () => {
    await using world = await jobsWorld();
    world.run = fail;
    await world.sidecar.jobs.schedule('bad', { schedule: '@every 1m' });
    await world.clock.advance('2m30s');
    expect(world.times.map((time) => time.slice(14))).toEqual([
      '01:00',
      '01:01',
      '01:02',
      '01:03',
      '02:00',
      '02:01',
      '02:02',
      '02:03',
    ]);
  });

  test('attempts are kept over a restart', async () => {
    await using world = await jobsWorld();
    world.run = fail;
    const retry = { maxRetries: 2, delay: '1m', factor: 1 } as const;
    await world.sidecar.jobs.schedule('bad', { dueTime: '1s', retry });
    await world.clock.advance('2s');
    await world.restart('10s');
    await world.clock.advance('1h');
    expect(world.seen.map(({ attempt, at }) => [attempt, at.slice(14)])).toEqual([
      [1, '00:01'],
      [2, '01:01'],
      [3, '02:01'],
    ]);
  });

  test('retries end with the job: none after its ttl', async () => {
    await using world = await jobsWorld();
    world.run = fail;
    const retry = { maxRetries: 'unlimited', delay: '2s', factor: 1 } as const;
    await world.sidecar.jobs.schedule('bad', { schedule: '@every 1s', ttl: '6s', retry });
    await world.clock.advance('1h');
    expect(world.times.map((time) => time.slice(17))).toEqual(['01', '03', '05', '05', '06']);
    expect(await world.store.size()).toBe(0);
  });
});

describe('jobs that are missed', () => {
  test('while the process was down: one run for all, counted once, then by the clock', async () => {
    await using world = await jobsWorld();
    await world.sidecar.jobs.schedule('hourly', { schedule: '@hourly', repeats: 4 });
    await world.clock.advance('1h');
    await world.restart('4h30m');
    await world.clock.advance('3h');
    const hours = world.seen.map(({ at, dueAt }) => [at.slice(11), dueAt.slice(11)]);
    expect(hours[0]).toEqual(['01:00:00', '01:00:00']);
    expect(hours[1]?.[1]).toBe('02:00:00');
    expect(hours.slice(2).map(([at]) => at)).toEqual(['06:00:00', '07:00:00']);
  });

  test('each of them with missedTicks all, one after the other', async () => {
    await using world = await jobsWorld({ jobs: { missedTicks: 'all' } });
    await world.sidecar.jobs.schedule('hourly', { schedule: '@hourly' });
    await world.restart('3h30m');
    expect(world.seen.map(({ dueAt }) => dueAt.slice(11))).toEqual(['01:00:00', '02:00:00', '03:00:00']);
    await world.clock.advance('30m');
    expect(world.times.at(-1)).toBe('2026-01-01T04:00:00');
  });

  test('each of them on the dapr wire', async () => {
    await using world = await jobsWorld({ wire: 'dapr' });
    await world.sidecar.jobs.schedule('hourly', { schedule: '@hourly' });
    await world.restart('3h30m');
    expect(world.seen.length).toBe(3);
  });

  test('while the run before was under way: one run, at once after it; ticks of one job never overlap', async () => {
    await using world = await jobsWorld();
    let [running, most] = [0, 0];
    world.run = async () => {
      most = Math.max(most, ++running);
      if (world.seen.length === 1) await new Promise<void>((resolve) => world.clock.setTimeout(resolve, 3_500));
      running--;
    };
    await world.sidecar.jobs.schedule('slow', { schedule: '@every 1s' });
    await world.clock.advance('6s');
    expect(most).toBe(1);
    expect(world.times.map((time) => time.slice(17))).toEqual(['01', '04.500', '05', '06']);
  });

  test('one-shots that came due while the process was down run at the start, all of them', async () => {
    await using world = await jobsWorld();
    for (let index = 0; index < 40; index++) await world.sidecar.jobs.schedule(`once-${index}`, { dueTime: '1h' });
    await world.restart('2h');
    expect([world.seen.length, await world.store.size()]).toEqual([40, 0]);
  });

  test('a run that was due before the ttl ended is made up for', async () => {
    await using world = await jobsWorld();
    await world.sidecar.jobs.schedule('short', { schedule: '@every 1m', ttl: '90s' });
    await world.restart('1h');
    expect([world.seen.length, await world.store.size()]).toEqual([1, 0]);
  });

  test('without a handler and an application they wait, and run when there is one', async () => {
    await using world = await new JobsWorld().start();
    const { jobs } = world.sidecar;
    await jobs.schedule('a', { dueTime: '1s' });
    await jobs.schedule('b', { schedule: '@every 1s', repeats: 2 });
    await jobs.schedule('later', { dueTime: '1h' });
    await world.clock.advance('10s');
    expect(world.lines.filter((line) => !line.startsWith('jobScheduled'))).toEqual([]);
    const scans = world.store.scans;
    await world.clock.advance('10m');
    expect(world.store.scans).toBe(scans);
    const registered = await jobs.register(defineJob('a', () => void world.seen.push({ name: 'a' } as never)));
    await world.clock.settled();
    expect(world.seen.map(({ name }) => name)).toEqual(['a']);
    world.handleAll('b');
    await world.clock.advance('1ms');
    expect(world.seen.map(({ name, attempt }) => [name, attempt]).slice(1)).toEqual([['b', 1]]);
    await registered.close();
    await jobs.schedule('a', { dueTime: '1s' });
    await world.clock.advance('1m');
    expect((await jobs.get('a'))?.dueTime).toBe('1s');
  });
});

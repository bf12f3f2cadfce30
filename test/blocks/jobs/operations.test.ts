import { describe, expect, test, vi } from 'vitest';
import { jobLayout } from '../../../src/blocks/jobs/job-layout.ts';
import { embeddedState } from '../../../src/components/embedded/index.ts';
import { request } from '../../../src/http/message.ts';
import type { JobOutcome } from '../../../src/index.ts';
import { temporaryDirectory } from '../../support/embedded-store.ts';
import { JobsWorld, jobsWorld } from '../../support/jobs-world.ts';

const fail = (): never => {
  throw new Error('the printer is out of paper');
};
const START = Date.parse('2026-01-01T00:00:00Z');
const minutes = (times: readonly string[]): readonly string[] => times.map((time) => time.slice(11, 16));
const HOURLY = { schedule: '@every 1h' } as const;
const NO_RETRY = { maxRetries: 0, delay: 0, factor: 1 } as const;

/** A run that lasts until it is ended. */
function hold(world: JobsWorld): () => void {
  let end = (): void => undefined;
  world.run = () => new Promise<void>((resolve) => (end = resolve));
  return () => end();
}

const begun = (world: JobsWorld, runs: number): Promise<void> =>
  vi.waitFor(() => expect(world.seen.length).toBe(runs), { timeout: 10_000 });

const STORES = [
  ['memory', () => jobsWorld()],
  ['embedded', () => jobsWorld({ state: embeddedState({ path: temporaryDirectory() }) })],
] as const;

describe.each(STORES)('list, state in %s', (_store, start) => {
  test('jobs in the order of their names, by prefix, page by page, without their data', async () => {
    await using world = await start();
    const { jobs } = world.sidecar;
    for (const name of ['b', 'report-2', 'report-10', 'report', 'reporter', 'zeta', 'Report', 'report!'])
      await jobs.schedule(name, { ...HOURLY, data: 'secret' });
    const names = async (options = {}): Promise<string> =>
      (await jobs.listPage(options)).jobs.map(({ name }) => name).join(' ');
    expect(await names()).toBe('Report b report report! report-10 report-2 reporter zeta');
    expect(await names({ prefix: 'report' })).toBe('report report! report-10 report-2 reporter');
    expect(await names({ prefix: 'report-' })).toBe('report-10 report-2');
    expect(await names({ prefix: 'x' })).toBe('');
    const each: string[] = [];
    for await (const { name } of jobs.list({ prefix: 'report' })) each.push(name);
    expect(each.join(' ')).toBe(await names({ prefix: 'report' }));
    const first = await jobs.listPage({ prefix: 'report', limit: 3 });
    expect(first.jobs.map(({ name }) => name)).toEqual(['report', 'report!', 'report-10']);
    expect(await names({ prefix: 'report', limit: 3, cursor: first.cursor ?? '' })).toBe('report-2 reporter');
    expect((await jobs.listPage({ prefix: 'report', limit: 3, cursor: first.cursor ?? '' })).cursor).toBe(undefined);
    for (const [options, message] of [
      [{ prefix: 'report', cursor: 'b' }, /cursor is "b": expected that of a page with prefix "report"/],
      [{ prefix: '\ud800' }, /prefix in options of listPage is "\\ud800": expected well-formed text/],
      [{ cursor: 'a\udc00' }, /cursor in options of listPage is "a\\udc00"/],
      [{ prefix: 5 as unknown as string }, /prefix in options of listPage is 5/],
    ] as const)
      await expect(jobs.listPage(options)).rejects.toMatchObject({
        code: 'ERR_INVALID_ARGUMENT',
        message: expect.stringMatching(message),
      });
    expect(first.jobs[0]).toEqual({
      name: 'report',
      schedule: '@every 1h',
      nextRunAt: START + 3_600_000,
      isPaused: false,
      runs: 0,
    });
  });
});

describe.each(STORES)('the last outcome, state in %s', (_store, start) => {
  test('is that of the last attempt, and outlives a restart', async () => {
    await using world = await start();
    const { jobs } = world.sidecar;
    const lastRun = async (): Promise<JobOutcome | undefined> => (await world.sidecar.jobs.get('report'))?.lastRun;
    await jobs.schedule('report', { ...HOURLY, retry: { maxRetries: 1, delay: '5s', factor: 1 } });
    expect(await lastRun()).toBe(undefined);
    await world.pass('1h');
    expect(await lastRun()).toEqual({ endedAt: START + 3_600_000, outcome: 'done', attempt: 1, durationMs: 0 });
    world.run = async () => {
      await new Promise<void>((resolve) => world.clock.setTimeout(resolve, 2_000));
      fail();
    };
    await world.pass('1h3s');
    const failed = { durationMs: 2_000, reason: 'the printer is out of paper' };
    expect(await lastRun()).toEqual({ ...failed, endedAt: START + 7_202_000, outcome: 'retrying', attempt: 1 });
    await world.pass('10s');
    expect(await lastRun()).toEqual({ ...failed, endedAt: START + 7_209_000, outcome: 'failed', attempt: 2 });
    await world.restart('1m');
    expect(await lastRun()).toEqual({ ...failed, endedAt: START + 7_209_000, outcome: 'failed', attempt: 2 });
    expect((await world.sidecar.jobs.listPage()).jobs).toMatchObject([{ runs: 2, lastRun: { outcome: 'failed' } }]);
    const body = { ...HOURLY, failure_policy: { drop: {} } };
    await world.sidecar.handle(request('POST', '/v1.0-alpha1/jobs/dropped', { body }));
    await world.pass('1h2s');
    expect(await world.sidecar.jobs.get('dropped')).toMatchObject({ runs: 1, lastRun: { outcome: 'dropped' } });
  });
});

describe.each(STORES)('run, state in %s', (_store, start) => {
  test('makes one more run: schedule, repeats and what was counted stay as they are', async () => {
    await using world = await start();
    const { jobs } = world.sidecar;
    await jobs.schedule('report', { ...HOURLY, repeats: 2, data: 7 });
    await world.pass('20m');
    expect(await jobs.run('report')).toBe(true);
    await world.pass('0s');
    expect(world.seen).toEqual([
      { name: 'report', at: '2026-01-01T00:20:00', dueAt: '2026-01-01T00:20:00', attempt: 1, data: 7 },
    ]);
    expect(await jobs.get('report')).toMatchObject({ nextRunAt: START + 3_600_000, runs: 0, repeats: 2 });
    expect((await jobs.get('report'))?.lastRun).toMatchObject({ outcome: 'done', endedAt: START + 1_200_000 });
    await world.pass('3h');
    expect(minutes(world.times)).toEqual(['00:20', '01:00', '02:00']);
    expect(await jobs.get('report')).toBe(undefined);
    expect(await jobs.run('report')).toBe(false);
  });

  test('of a job that runs once leaves its time to it, over a restart', async () => {
    await using world = await start();
    await world.sidecar.jobs.schedule('once', { dueTime: '1h' });
    await world.pass('10m');
    await world.sidecar.jobs.run('once');
    await world.pass('1s');
    await world.restart('1m');
    await world.pass('2h');
    expect(minutes(world.times)).toEqual(['00:10', '01:00']);
  });

  test('is kept: asked for without a function, it comes after a restart', async () => {
    await using world = await start();
    await world.stop();
    await world.restart('0s', false);
    await world.sidecar.jobs.schedule('report', HOURLY);
    await world.sidecar.jobs.run('report');
    await world.pass('1m');
    await world.restart('1m');
    await world.pass('1h');
    expect(minutes(world.times)).toEqual(['00:02', '01:00']);
  });

  test('retries as the policy says, and returns to the schedule when it has failed for good', async () => {
    await using world = await start();
    const { jobs } = world.sidecar;
    await jobs.schedule('report', { ...HOURLY, retry: { maxRetries: 2, delay: '1m', factor: 1 } });
    world.run = fail;
    await jobs.run('report');
    await world.pass('10m');
    expect(world.seen.map(({ at, attempt }) => `${at.slice(11, 16)} ${attempt}`)).toEqual([
      '00:00 1',
      '00:01 2',
      '00:02 3',
    ]);
    expect(await jobs.get('report')).toMatchObject({ runs: 0, nextRunAt: START + 3_600_000 });
    expect(world.lines.at(-1)).toBe('jobFailed report 3');
  });

  test('retries a failed run at once, which is then that run', async () => {
    await using world = await start();
    const { jobs } = world.sidecar;
    await jobs.schedule('report', { ...HOURLY, retry: { maxRetries: 3, delay: '30m', factor: 1 } });
    world.run = fail;
    await world.pass('1h');
    await jobs.run('report');
    await world.pass('1s');
    expect(world.seen.map(({ attempt }) => attempt)).toEqual([1, 2]);
    world.run = () => undefined;
    await jobs.run('report');
    await world.pass('1s');
    expect(await jobs.get('report')).toMatchObject({ runs: 1, nextRunAt: START + 7_200_000, lastRun: { attempt: 3 } });
    await world.pass('1h');
    expect(minutes(world.times)).toEqual(['01:00', '01:00', '01:00', '02:00']);
  });

  test('is refused with 409 while the job runs, or is due already', async () => {
    await using world = await start();
    const { jobs } = world.sidecar;
    const end = hold(world);
    await jobs.schedule('report', HOURLY);
    await jobs.run('report');
    const refusal = {
      code: 'ERR_JOB_BUSY',
      status: 409,
      message: expect.stringContaining('"report" runs, or is due already'),
    };
    await expect(jobs.run('report')).rejects.toMatchObject(refusal);
    await begun(world, 1);
    await world.clock.advance('2h');
    await expect(jobs.run('report')).rejects.toMatchObject({ status: 409 });
    world.run = () => undefined;
    end();
    await world.pass('1s');
    expect(minutes(world.times)).toEqual(['00:00', '02:00']);
    expect(await jobs.run('report')).toBe(true);
  });

  test('of a job that has had its last run and waits for its expiry', async () => {
    await using world = await start();
    const { jobs } = world.sidecar;
    await jobs.schedule('report', { ...HOURLY, ttl: '90m' });
    await world.pass('70m');
    await jobs.run('report');
    await world.pass('1s');
    expect(await jobs.get('report')).toMatchObject({ runs: 1 });
    await world.pass('1h');
    expect(await jobs.get('report')).toBe(undefined);
    expect(minutes(world.times)).toEqual(['01:00', '01:10']);
    expect(world.lines.at(-1)).toBe('jobEnded report expired');
  });
});

describe.each(STORES)('pause, state in %s', (_store, start) => {
  test('keeps a job from running, over a restart, until it is resumed: what it has missed is one run', async () => {
    await using world = await start();
    await world.sidecar.jobs.schedule('report', HOURLY);
    expect(await world.sidecar.jobs.pause('report')).toBe(true);
    expect(await world.sidecar.jobs.pause('report')).toBe(false);
    expect(await world.sidecar.jobs.pause('nobody')).toBe(false);
    expect(await world.sidecar.jobs.get('report')).toMatchObject({ isPaused: true, nextRunAt: START + 3_600_000 });
    await world.pass('90m');
    await world.restart('90m');
    await world.pass('90m');
    expect(world.times).toEqual([]);
    expect((await world.sidecar.jobs.listPage()).jobs).toMatchObject([{ name: 'report', isPaused: true }]);
    expect(await world.sidecar.jobs.resume('report')).toBe(true);
    expect(await world.sidecar.jobs.resume('report')).toBe(false);
    await world.pass('1h');
    expect(minutes(world.times)).toEqual(['04:30', '05:00']);
    expect(await world.sidecar.jobs.get('report')).toMatchObject({ isPaused: false, runs: 2 });
  });

  test('of a job without an expiry leaves nothing to wait for', async () => {
    await using world = await start();
    const { jobs } = world.sidecar;
    const before = world.clock.pendingTimers;
    await jobs.schedule('report', HOURLY);
    await jobs.pause('report');
    expect(world.clock.pendingTimers).toBe(before);
    await world.clock.advanceToNext();
    expect(await jobs.get('report')).toMatchObject({ isPaused: true });
  });

  test('of a job that is resumed in time changes nothing', async () => {
    await using world = await start();
    await world.sidecar.jobs.schedule('report', HOURLY);
    await world.sidecar.jobs.pause('report');
    await world.pass('59m');
    await world.sidecar.jobs.resume('report');
    await world.pass('62m');
    expect(minutes(world.times)).toEqual(['01:00', '02:00']);
  });

  test('lets a run that is under way end: it is recorded, and not made again', async () => {
    await using world = await start();
    const { jobs } = world.sidecar;
    const end = hold(world);
    await jobs.schedule('report', HOURLY);
    await world.clock.advance('1h');
    await begun(world, 1);
    await jobs.pause('report');
    await jobs.resume('report');
    await world.clock.advance('1m');
    await jobs.pause('report');
    end();
    await world.pass('0s');
    expect(world.lines.at(-1)).toBe('jobCompleted report 1');
    expect(await jobs.get('report')).toMatchObject({ runs: 1, isPaused: true, nextRunAt: START + 7_200_000 });
    world.run = () => undefined;
    await world.pass('3h');
    await jobs.resume('report');
    await world.pass('0s');
    expect(minutes(world.times)).toEqual(['01:00', '04:01']);
  });

  test('(or an update of its data) does not lose the run, nor make it come at once again', async () => {
    await using world = await start();
    const { jobs } = world.sidecar;
    let cursor = 0;
    world.run = () => jobs.schedule('report', { ...HOURLY, data: { cursor: ++cursor }, ifExists: 'update' });
    await jobs.schedule('report', { ...HOURLY, data: { cursor } });
    for (const round of [1, 2, 3]) {
      await world.pass('1h');
      expect(await jobs.get('report')).toMatchObject({ runs: round, data: { cursor: round } });
    }
    expect(minutes(world.times)).toEqual(['01:00', '02:00', '03:00']);
    expect(world.seen.map(({ data }) => data)).toEqual([{ cursor: 0 }, { cursor: 1 }, { cursor: 2 }]);
  });

  test('and resumption during a run do not make it come again', async () => {
    await using world = await start();
    const { jobs } = world.sidecar;
    const end = hold(world);
    await jobs.schedule('report', HOURLY);
    for (const round of [1, 2]) {
      await world.clock.advance('1h');
      await begun(world, round);
      await jobs.pause('report');
      await jobs.resume('report');
      await world.clock.advance('1m');
      end();
      await world.pass('0s');
      expect(await jobs.get('report')).toMatchObject({ runs: round, isPaused: false });
    }
    expect(minutes(world.times)).toEqual(['01:00', '02:00']);
  });

  test('holds back the retries of a failed run, and a run that was asked for still comes', async () => {
    await using world = await start();
    const { jobs } = world.sidecar;
    await jobs.schedule('report', { ...HOURLY, retry: { maxRetries: 9, delay: '1m', factor: 1 } });
    world.run = fail;
    await world.pass('61m');
    await jobs.pause('report');
    await world.pass('10m');
    expect(world.seen.map(({ attempt }) => attempt)).toEqual([1, 2]);
    await jobs.run('report');
    await world.pass('10m');
    expect(world.seen.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    world.run = () => undefined;
    await jobs.run('report');
    await world.pass('3h');
    expect(await jobs.get('report')).toMatchObject({
      runs: 1,
      isPaused: true,
      lastRun: { outcome: 'done', attempt: 4 },
    });
    await jobs.run('report');
    await world.pass('1h');
    expect(await jobs.get('report')).toMatchObject({ runs: 1, isPaused: true, lastRun: { attempt: 1 } });
    expect(world.seen.length).toBe(5);
  });

  test('of a job with a ttl: it expires as if it was not paused', async () => {
    await using world = await start();
    const { jobs } = world.sidecar;
    await jobs.schedule('report', { ...HOURLY, ttl: '90m' });
    await jobs.pause('report');
    await world.pass('2h');
    expect([await jobs.get('report'), world.lines.at(-1)]).toEqual([undefined, 'jobEnded report expired']);
    expect((await jobs.listPage()).jobs).toEqual([]);
  });

  test('outlives a definition in code that has changed, not a replacement', async () => {
    await using world = await start();
    await world.sidecar.jobs.schedule('report', HOURLY);
    await world.sidecar.jobs.pause('report');
    await world.sidecar.jobs.schedule('report', { schedule: '@every 2h', ifExists: 'update' });
    await world.pass('4h');
    expect([world.times, await world.sidecar.jobs.get('report')]).toMatchObject([[], { isPaused: true }]);
    await world.sidecar.jobs.schedule('report', { schedule: '@every 2h', ifExists: 'update', data: 8 });
    expect(await world.sidecar.jobs.get('report')).toMatchObject({ isPaused: true, data: 8 });
    await world.sidecar.jobs.schedule('report', { schedule: '@every 2h', ifExists: 'replace' });
    expect(await world.sidecar.jobs.get('report')).toMatchObject({ isPaused: false });
  });

  test('and runs that are asked for, of many jobs that run all the time, lose no run and make none twice', async () => {
    await using world = await start();
    const { jobs } = world.sidecar;
    const names = Array.from({ length: 200 }, (_, index) => `job-${index}`);
    await Promise.all(names.map((name) => jobs.schedule(name, { schedule: '@every 10s', retry: NO_RETRY })));
    let asked = 0;
    for (let second = 0; second < 60; second++) {
      await Promise.all(
        names.map(async (name, index) => {
          if ((index + second) % 7 === 0) await jobs.pause(name);
          else if ((index + second) % 7 === 1) await jobs.resume(name);
          else if ((index + second) % 29 === 2) if (await jobs.run(name).catch(() => false)) asked++;
        }),
      );
      await world.pass('1s');
    }
    await Promise.all(names.map((name) => jobs.resume(name)));
    await world.pass('1s');
    const counted = (await jobs.listPage({ limit: 1_000 })).jobs.reduce((sum, { runs }) => sum + runs, 0);
    expect(asked).toBeGreaterThan(100);
    expect(world.seen.length).toBe(counted + asked);
  });
});

describe('options of listPage', () => {
  test.each([
    [{ limit: 0 }, 'limit in options of listPage is 0: expected a whole number from 1 to 1000'],
    [{ limit: 1_001 }, 'limit in options of listPage is 1001: expected a whole number from 1 to 1000'],
    [{ limit: '5' }, 'limit in options of listPage is "5": expected a whole number from 1 to 1000'],
    [
      { prefixes: 'a' },
      expect.stringContaining('options of listPage: unknown field "prefixes": expected prefix, cursor, limit'),
    ],
  ])('%j is an error', async (options, message) => {
    await using world = await jobsWorld();
    await expect(world.sidecar.jobs.listPage(options as object)).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
      message,
    });
  });
});

describe('jobs that a release before has stored', () => {
  const at = Date.parse('2026-01-01T01:05:00Z');
  const job =
    '{"n":"retried","s":"@every 1h","r":5,"x":1,"a":1767225600000,"k":1767229200000,"f":1,"c":1767229200000,"o":2}\n{"a":1}';

  test('are read, run and written with all that is new', async () => {
    await using world = new JobsWorld();
    const layout = jobLayout('shop');
    await world.store.memory.commit({
      put: [
        { key: layout.job('retried'), value: Buffer.from(`\u0001${at}`) },
        { key: layout.due(at, 'retried'), value: Buffer.from(`\u0001${job}`) },
      ],
    });
    world.handleAll();
    await world.start();
    const { jobs } = world.sidecar;
    expect(await jobs.get('retried')).toEqual({
      name: 'retried',
      schedule: '@every 1h',
      repeats: 5,
      data: { a: 1 },
      nextRunAt: at,
      isPaused: false,
      runs: 2,
    });
    await jobs.pause('retried');
    await world.pass('90m');
    await jobs.resume('retried');
    await world.pass('0s');
    expect(world.seen).toMatchObject([{ attempt: 2, dueAt: '2026-01-01T01:00:00', data: { a: 1 } }]);
    expect(await jobs.get('retried')).toMatchObject({ runs: 3, lastRun: { outcome: 'done', attempt: 2 } });
  });
});

/** Jobs that run once and have failed for good: they are kept with their data, to be run again. */
import { describe, expect, test } from 'vitest';
import { request } from '../../../../src/http/message.ts';
import { JobsWorld } from '../../../support/jobs-world.ts';

const WEEK_MS = 7 * 24 * 3_600_000;
const ONCE = { dueTime: '1s', data: { invoice: 4711 } } as const;

function fail(): never {
  throw new Error('the mail server is down');
}

/** A world in which one job has failed for good, after 4 s. */
async function failedWorld(options: ConstructorParameters<typeof JobsWorld>[0] = {}): Promise<JobsWorld> {
  const world = new JobsWorld(options);
  world.run = fail;
  world.handleAll();
  await world.sidecar.start();
  await world.sidecar.jobs.schedule('reminder', ONCE);
  await world.clock.advance('1m');
  return world;
}

describe('a job that runs once and has failed for good', () => {
  test('is listed as failed, with its data and the reason, for seven days', async () => {
    await using world = await failedWorld();
    const { jobs } = world.sidecar;
    const failedAt = Date.parse('2026-01-01T00:00:04Z');
    const info = {
      name: 'reminder',
      keptUntilAt: failedAt + WEEK_MS,
      isPaused: false,
      runs: 1,
      lastRun: { outcome: 'failed', endedAt: failedAt, attempt: 4, reason: 'the mail server is down' },
    };
    expect(await jobs.get('reminder')).toMatchObject({ ...info, data: ONCE.data });
    const { jobs: listed } = await jobs.listPage();
    expect(listed).toMatchObject([info]);
    expect(listed[0]).not.toHaveProperty('nextRunAt');
    await world.clock.advance(failedAt + WEEK_MS - world.clock.now());
    expect(await jobs.get('reminder')).toBeDefined();
    await world.clock.advance('1m');
    expect(await jobs.get('reminder')).toBeUndefined();
    expect(world.seen).toHaveLength(4);
    expect(await world.store.size()).toBe(0);
  });

  test('runs again with its data when it is asked to, with all its retries', async () => {
    await using world = await failedWorld();
    const { jobs } = world.sidecar;
    expect(await jobs.run('reminder')).toBe(true);
    await world.clock.advance('1m');
    expect(world.seen.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 1, 2, 3, 4]);
    expect((await jobs.get('reminder'))?.keptUntilAt).toBe(Date.parse('2026-01-01T00:01:03Z') + WEEK_MS);
    world.run = () => undefined;
    await jobs.run('reminder');
    await world.clock.advance('1m');
    expect(world.seen.at(-1)).toMatchObject({ attempt: 1, at: '2026-01-01T00:02:00', data: ONCE.data });
    expect(await jobs.get('reminder')).toBeUndefined();
    expect(await world.store.size()).toBe(0);
  });

  test('is kept over a restart, and with data of an entry of their own', async () => {
    await using world = await failedWorld();
    const data = 'x'.repeat(100_000);
    await world.sidecar.jobs.schedule('large', { dueTime: '1s', data });
    await world.clock.advance('1m');
    await world.restart('1h');
    expect((await world.sidecar.jobs.listPage()).jobs.map(({ name }) => name)).toEqual(['large', 'reminder']);
    expect((await world.sidecar.jobs.get('large'))?.data).toBe(data);
    await world.restart('8d');
    await world.clock.advance('1s');
    expect(await world.store.size()).toBe(0);
  });

  test('is not there over HTTP, and its name is free', async () => {
    await using world = await failedWorld();
    const path = '/v1.0-alpha1/jobs/reminder';
    expect((await world.sidecar.handle(request('GET', path))).status).toBe(500);
    expect((await world.sidecar.handle(request('POST', path, { body: { dueTime: '1h' } }))).status).toBe(204);
    expect(await world.sidecar.jobs.get('reminder')).toMatchObject({ runs: 0, isPaused: false });
    expect(await world.sidecar.jobs.get('reminder')).not.toHaveProperty('data');
  });

  test.each(['fail', 'keep', 'update', 'replace'] as const)(
    'gives its name to the next one: ifExists %s',
    async (way) => {
      await using world = await failedWorld();
      expect(await world.sidecar.jobs.schedule('reminder', { ...ONCE, dueTime: '1h', ifExists: way })).toBe(true);
      expect(await world.sidecar.jobs.get('reminder')).toMatchObject({
        runs: 0,
        nextRunAt: world.clock.now() + 3_600_000,
      });
    },
  );

  test('can be deleted, and neither paused nor resumed', async () => {
    await using world = await failedWorld();
    const { jobs } = world.sidecar;
    expect([await jobs.pause('reminder'), await jobs.resume('reminder')]).toEqual([false, false]);
    expect([await jobs.delete('reminder'), await jobs.delete('reminder')]).toEqual([true, false]);
    expect(await world.store.size()).toBe(0);
  });

  test('is kept if the process ends before the failure is on disk: the attempt comes again', async () => {
    await using world = await failedWorld();
    await world.sidecar.jobs.schedule('late', ONCE);
    await world.clock.advance('2500ms');
    await world.restart('0s');
    await world.clock.advance('1m');
    expect(await world.sidecar.jobs.get('late')).toMatchObject({ data: ONCE.data, lastRun: { outcome: 'failed' } });
  });

  test('is dropped if its policy says so', async () => {
    await using world = await failedWorld();
    const body = { ...ONCE, failure_policy: { drop: {} } };
    await world.sidecar.handle(request('POST', '/v1.0-alpha1/jobs/dropped', { body }));
    await world.clock.advance('1m');
    expect(await world.sidecar.jobs.get('dropped')).toBeUndefined();
  });
});

test('keepFailed sets how long, and 0 keeps nothing', async () => {
  await using hour = await failedWorld({ jobs: { keepFailed: '1h' } });
  await hour.clock.advance('58m');
  expect(await hour.sidecar.jobs.get('reminder')).toBeDefined();
  await hour.clock.advance('2m');
  expect(await hour.sidecar.jobs.get('reminder')).toBeUndefined();
  await using none = await failedWorld({ jobs: { keepFailed: 0 } });
  expect(await none.sidecar.jobs.get('reminder')).toBeUndefined();
  expect(await none.store.size()).toBe(0);
});

test('a job with a schedule is not kept after its last run', async () => {
  await using world = await failedWorld();
  await world.sidecar.jobs.schedule('thrice', { schedule: '@every 1m', repeats: 3 });
  await world.clock.advance('1h');
  expect(await world.sidecar.jobs.get('thrice')).toBeUndefined();
});

test('more failures than may run at a time end when their time is over', async () => {
  await using world = await failedWorld();
  const names = Array.from({ length: 300 }, (_, index) => `many-${index}`);
  await Promise.all(names.map((name) => world.sidecar.jobs.schedule(name, ONCE)));
  await world.clock.advance('1m');
  expect(await world.store.size()).toBeGreaterThan(600);
  await world.clock.advance('7d');
  expect(await world.store.size()).toBe(0);
});

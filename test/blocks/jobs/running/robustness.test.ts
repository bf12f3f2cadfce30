import { describe, expect, test, vi } from 'vitest';
import { defineJob, type Jobs, Sidecar } from '../../../../src/index.ts';
import type { Clock } from '../../../../src/kit/index.ts';
import { virtualClock } from '../../../../src/testing/index.ts';
import { jobsWorld } from '../../../support/jobs-world.ts';
import { KeptStore } from '../../../support/kept-store.ts';
import { RecordingLogger } from '../../../support/logger.ts';

/** Lets a run hang until it is let go. */
function gate(): { readonly passed: Promise<void>; open(): void } {
  let open = (): void => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open: () => open() };
}

describe('jobs that change while they run', () => {
  test.each(['success', 'failure'])('a job that is deleted while it runs does not come back: %s', async (ends) => {
    await using world = await jobsWorld();
    const hold = gate();
    world.run = async () => {
      await hold.passed;
      if (ends === 'failure') throw new Error('no');
    };
    await world.sidecar.jobs.schedule('job', { schedule: '@every 1s' });
    await world.clock.advance('1s');
    expect(await world.sidecar.jobs.delete('job')).toBe(true);
    hold.open();
    await world.clock.advance('1m');
    expect([world.seen.length, await world.store.size()]).toEqual([1, 0]);
    expect(world.lines.at(-1)).toBe('jobEnded job deleted');
  });

  test.each<[what: string, change: (jobs: Jobs) => Promise<unknown>]>([
    ['deleted', (jobs) => jobs.delete('job')],
    ['replaced', (jobs) => jobs.schedule('job', { dueTime: '1h', ifExists: 'replace' })],
    ['paused', (jobs) => jobs.pause('job')],
  ])('a job that runs without a pause can be %s', async (_what, change) => {
    const store = new KeptStore();
    let conflicts = 0;
    // While one run is being recorded the next one ends: a change is always based on the run before.
    store.interfere = async (_batch, commit) => {
      await new Promise((resolve) => setTimeout(resolve, 3));
      return commit().catch((error: unknown) => {
        conflicts++;
        throw error;
      });
    };
    await using sidecar = new Sidecar({ appId: 'shop', state: store });
    let runs = 0;
    sidecar.register(defineJob('job', () => void runs++));
    await sidecar.start();
    await sidecar.jobs.schedule('job', { schedule: '@every 1ms' });
    await expect.poll(() => runs).toBeGreaterThan(3);
    await change(sidecar.jobs);
    expect(conflicts).toBeLessThan(10);
  });

  test('a job that is replaced while it runs begins anew, and waits until the old run is over', async () => {
    await using world = await jobsWorld();
    const hold = gate();
    world.run = (data) => (data === 'old' ? hold.passed : undefined);
    await world.sidecar.jobs.schedule('job', { schedule: '@every 1s', repeats: 1, data: 'old' });
    await world.clock.advance('1s');
    await world.sidecar.jobs.schedule('job', { dueTime: '1s', data: 'new', ifExists: 'replace' });
    await world.clock.advance('5s');
    expect(world.seen.map(({ data }) => data)).toEqual(['old']);
    hold.open();
    await world.clock.advance('1s');
    expect(world.seen.map(({ data, attempt }) => [data, attempt])).toEqual([
      ['old', 1],
      ['new', 1],
    ]);
    expect(await world.store.size()).toBe(0);
  });

  test('replaced while it runs, twice and for the same instant: the last one runs, once', async () => {
    await using world = await jobsWorld();
    const hold = gate();
    world.run = (data) => (data === 0 ? hold.passed : undefined);
    await world.sidecar.jobs.schedule('job', { dueTime: '1s', data: 0 });
    await world.clock.advance('1s');
    for (const data of [1, 2]) await world.sidecar.jobs.schedule('job', { dueTime: '0s', data, ifExists: 'replace' });
    hold.open();
    await world.clock.advance('1m');
    expect(world.seen.map(({ data, at }) => [data, at.slice(17)])).toEqual([
      [0, '01'],
      [2, '01'],
    ]);
    expect(await world.store.size()).toBe(0);
  });

  test('replacing a waiting job leaves nothing of it, also many times over', async () => {
    await using world = await jobsWorld();
    for (let index = 0; index < 5_000; index++)
      await world.sidecar.jobs.schedule('debounced', {
        dueTime: `${3600 + (index % 50)}s`,
        data: index,
        ifExists: 'replace',
      });
    expect(await world.store.size()).toBe(2);
    await world.clock.advance('2h');
    expect(world.seen.map(({ data }) => data)).toEqual([4_999]);
  });

  test('of many that schedule one name at once, one wins', async () => {
    await using world = await jobsWorld();
    const all = Array.from({ length: 20 }, (_, data) => world.sidecar.jobs.schedule('job', { dueTime: '1s', data }));
    const results = await Promise.allSettled(all);
    expect(results.filter(({ status }) => status === 'fulfilled').length).toBe(1);
    const replaced = Array.from({ length: 20 }, (_, data) =>
      world.sidecar.jobs.schedule('job', { dueTime: `${data + 1}s`, data, ifExists: 'replace' }),
    );
    await Promise.all(replaced);
    await world.clock.advance('1m');
    expect(world.seen.length).toBe(1);
    expect(await world.store.size()).toBe(0);
  });

  test('a run may schedule its own job anew', async () => {
    await using world = await jobsWorld();
    world.run = async (data) => {
      if ((data as number) < 3)
        await world.sidecar.jobs.schedule('chain', { dueTime: '1m', data: (data as number) + 1, ifExists: 'replace' });
    };
    await world.sidecar.jobs.schedule('chain', { dueTime: '1m', data: 1 });
    await world.clock.advance('10m');
    expect(world.seen.map(({ data, at }) => [data, at.slice(14)])).toEqual([
      [1, '01:00'],
      [2, '02:00'],
      [3, '03:00'],
    ]);
  });
});

describe('jobs on a store that fails', () => {
  test('the end of a run is recorded once the store works again; the run is not repeated', async () => {
    const store = new KeptStore();
    await using world = await jobsWorld({ store });
    await world.sidecar.jobs.schedule('job', { schedule: '@every 1m', repeats: 2 });
    store.interfere = () => Promise.reject(new Error('disk full'));
    await world.clock.advance('1m30s');
    expect(world.lines.at(-1)).toBe('jobStarted job 1');
    store.interfere = (_batch, commit) => commit();
    await world.clock.advance('1m');
    expect(world.times.map((time) => time.slice(14))).toEqual(['01:00', '02:00']);
    expect(world.lines.slice(-2)).toEqual(['jobCompleted job 1', 'jobEnded job finished']);
  });

  test('a commit that was written although it failed loses no tick', async () => {
    const store = new KeptStore();
    await using world = await jobsWorld({ store });
    await world.sidecar.jobs.schedule('job', { schedule: '@every 1m', repeats: 3 });
    let failures = 0;
    store.interfere = async (_batch, commit) => {
      const version = await commit();
      if (failures++ === 0) throw new Error('the answer was lost');
      return version;
    };
    await world.clock.advance('10m');
    expect(world.times.map((time) => time.slice(14))).toEqual(['01:00', '02:00', '03:00']);
  });

  test('a job that was written although scheduling failed with 500 runs', async () => {
    const store = new KeptStore();
    await using world = await jobsWorld({ store });
    store.interfere = async (_batch, commit) => {
      await commit();
      throw new Error('the answer was lost');
    };
    await expect(world.sidecar.jobs.schedule('job', { dueTime: '1s' })).rejects.toMatchObject({
      code: 'ERR_JOB_STORE',
      status: 500,
    });
    store.interfere = (_batch, commit) => commit();
    await world.clock.advance('1s');
    expect(world.seen.length).toBe(1);
  });

  test('jobs that cannot be read are read when they can be', async () => {
    const store = new KeptStore();
    await using world = await jobsWorld({ store });
    const data = 'x'.repeat(10_000);
    await world.sidecar.jobs.schedule('large', { dueTime: '1s', data });
    store.failReads = true;
    await world.clock.advance('3s');
    await world.restart('1s');
    expect(world.seen).toEqual([]);
    store.failReads = false;
    await world.clock.advance('1m');
    expect(world.seen.map((run) => run.data)).toEqual([data]);
  });

  test('a stop while the end of a run cannot be recorded leaves the run to be repeated', async () => {
    const store = new KeptStore();
    await using world = await jobsWorld({ store });
    await world.sidecar.jobs.schedule('job', { dueTime: '1s' });
    store.interfere = () => Promise.reject(new Error('disk full'));
    await world.clock.advance('1s');
    await world.stop();
    store.interfere = (_batch, commit) => commit();
    await world.restart('1m');
    expect([world.seen.length, await store.size()]).toEqual([2, 0]);
  });
});

/** A clock that can be set, as a machine's: its timers go on by elapsed time. */
class SettableClock implements Clock {
  readonly inner = virtualClock();
  #shiftMs = 0;

  now(): number {
    return this.inner.now() + this.#shiftMs;
  }
  setTimeout(callback: () => void, delayMs: number): ReturnType<Clock['setTimeout']> {
    return this.inner.setTimeout(callback, delayMs);
  }
  watch(activity: Parameters<NonNullable<Clock['watch']>>[0]): void {
    this.inner.watch(activity);
  }
  shift(byMs: number): void {
    this.#shiftMs += byMs;
  }
}

describe('clocks that are set', () => {
  async function jobsOn(clock: SettableClock): Promise<{ sidecar: Sidecar; runs: number[] }> {
    const sidecar = new Sidecar({ appId: 'shop', clock, logger: { debug() {}, info() {}, warn() {}, error() {} } });
    const runs: number[] = [];
    sidecar.register(defineJob('*', () => void runs.push(clock.now())));
    await sidecar.start();
    return { sidecar, runs };
  }
  const HOUR = 3_600_000;

  test('forwards: what is due then runs within a minute', async () => {
    const clock = new SettableClock();
    const { sidecar, runs } = await jobsOn(clock);
    await sidecar.jobs.schedule('noon', { dueTime: '12h' });
    await clock.inner.advance('1s');
    clock.shift(12 * HOUR);
    await clock.inner.advance('1m');
    expect(runs.length).toBe(1);
    await sidecar.stop();
  });

  test('backwards: nothing runs before the clock shows its instant', async () => {
    const clock = new SettableClock();
    const { sidecar, runs } = await jobsOn(clock);
    const dueAt = clock.now() + 10_000;
    await sidecar.jobs.schedule('soon', { dueTime: new Date(dueAt) });
    clock.shift(-HOUR);
    await clock.inner.advance('59m');
    expect(runs).toEqual([]);
    await clock.inner.advance('2m');
    expect(runs).toEqual([dueAt]);
    await sidecar.stop();
  });

  test('a schedule goes on after a jump of a year, with one run for all that was jumped over', async () => {
    const clock = new SettableClock();
    const { sidecar, runs } = await jobsOn(clock);
    await sidecar.jobs.schedule('hourly', { schedule: '@hourly' });
    await clock.inner.advance('1h');
    clock.shift(365 * 24 * HOUR + HOUR / 2);
    await clock.inner.advance('1m');
    expect(runs.length).toBe(2);
    await clock.inner.advance('1h');
    expect(runs.length).toBe(3);
    expect((runs[2] ?? 0) % HOUR).toBe(0);
    await sidecar.stop();
  });
});

test('a job whose end was written without an answer does not run again, though a slow read still shows it', async () => {
  const state = new KeptStore();
  await using sidecar = new Sidecar({ appId: 'shop', state, logger: new RecordingLogger() });
  const [run, read] = [gate(), gate()];
  const runs: string[] = [];
  sidecar.register(
    defineJob('*', (_, { name }) => {
      runs.push(name);
      return run.passed;
    }),
  );
  await sidecar.start();
  await sidecar.jobs.schedule('once', { dueTime: '0s' });
  await expect.poll(() => runs).toEqual(['once']);
  const scan = state.memory.scan.bind(state.memory);
  const slow = vi.spyOn(state.memory, 'scan').mockImplementation(async (range) => {
    const entries = await scan(range);
    await read.passed;
    return entries;
  });
  // Since it is uncertain whether this was written, everything is read anew.
  state.interfere = () => Promise.reject(new Error('no answer'));
  await expect(sidecar.jobs.schedule('other', { dueTime: '1h' })).rejects.toThrow('no answer');
  expect(slow).toHaveBeenCalledTimes(1);
  let commits = 0;
  state.interfere = async (_batch, commit) => {
    commits++;
    const version = await commit();
    if (commits === 1) throw new Error('no answer');
    return version;
  };
  run.open();
  await expect.poll(() => commits).toBe(2);
  await new Promise((resolve) => setTimeout(resolve, 50));
  read.open();
  await new Promise((resolve) => setTimeout(resolve, 50));
  await expect.poll(() => sidecar.jobs.get('once')).toBeUndefined();
  expect(runs).toEqual(['once']);
});

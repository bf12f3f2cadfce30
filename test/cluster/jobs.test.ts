import { describe, expect, test } from 'vitest';
import { shardOf } from '../../src/cluster/shards.ts';
import { Fleet } from '../support/fleet.ts';

const NAMES = Array.from({ length: 60 }, (_, index) => `job-${index}`);
const namesOf = (runs: readonly string[]): string[] => runs.map((run) => run.split(' ')[0] ?? '').sort();
const sorted = [...NAMES].sort();

describe('jobs of one app ID on two hosts', () => {
  test('run once each, wherever they were scheduled, on both', async () => {
    await using fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    await fleet.pass(2);
    for (const name of NAMES) await a.sidecar.jobs.schedule(name, { dueTime: '10s' });
    await fleet.pass(15);
    expect(namesOf([...a.runs, ...b.runs])).toEqual(sorted);
    expect(Math.min(a.runs.length, b.runs.length)).toBeGreaterThan(15);
  });

  test('run once each although a host joins in between, which takes over what is not running', async () => {
    await using fleet = new Fleet();
    const a = await fleet.join();
    for (const name of NAMES) await a.sidecar.jobs.schedule(name, { dueTime: '10s' });
    const b = await fleet.join();
    await fleet.pass(15);
    expect(namesOf([...a.runs, ...b.runs])).toEqual(sorted);
    expect(b.runs.length).toBeGreaterThan(15);
  });

  test('run on the other as soon as one stops', async () => {
    await using fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    await fleet.pass(2);
    for (const name of NAMES) await a.sidecar.jobs.schedule(name, { dueTime: '5s' });
    fleet.members.shift();
    await a.stop();
    await fleet.pass(6);
    expect([a.runs, namesOf(b.runs)]).toEqual([[], sorted]);
  });

  test('run on the other while one that stops waits for its work in flight', async () => {
    await using fleet = new Fleet();
    const [a, b] = [await fleet.join({ stopTimeout: 30_000 }), await fleet.join()];
    const ends: (() => void)[] = [];
    const hang = (): Promise<void> => new Promise<void>((resolve) => ends.push(resolve));
    a.onRun = ({ name }) => (name.startsWith('long') ? hang() : undefined);
    await fleet.pass(2);
    const long = NAMES.slice(0, 30).map((name) => `long-${name}`);
    for (const name of long) await a.sidecar.jobs.schedule(name, { dueTime: '0s' });
    await fleet.pass(1);
    const hanging = namesOf(a.runs);
    expect([ends.length, b.runs.length]).toEqual([hanging.length, long.length - hanging.length]);
    for (const name of NAMES) await a.sidecar.jobs.schedule(name, { schedule: '@every 2s', repeats: 2 });
    const stopped = a.sidecar.stop();
    await fleet.pass(1);
    await fleet.pass(5, [b]);
    // Shards in which a job is still at work stay, until it has ended.
    const busy = new Set(hanging.map(shardOf));
    const free = NAMES.filter((name) => !busy.has(shardOf(name)));
    const ran = (): string[] => namesOf(b.runs).filter((name) => !name.startsWith('long'));
    expect(ran()).toEqual([...free, ...free].sort());
    for (const end of ends) end();
    await fleet.pass(1);
    await stopped;
    await fleet.pass(6, [b]);
    expect(ran()).toEqual([...NAMES, ...NAMES].sort());
    expect([a.emitted('jobCompleted').length, b.runs.filter((run) => run.startsWith('long')).length]).toEqual([
      hanging.length,
      long.length - hanging.length,
    ]);
  });

  test('run on the other within the lease when one stands still', async () => {
    await using fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    await fleet.pass(2);
    for (const name of NAMES) await b.sidecar.jobs.schedule(name, { dueTime: '1s' });
    a.store.pause();
    await fleet.pass(15, [b]);
    expect([a.runs, namesOf(b.runs)]).toEqual([[], sorted]);
  });

  test('that run on a host which stands still are run again elsewhere, and it can record nothing when it goes on', async () => {
    await using fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    await fleet.pass(2);
    const ends: (() => void)[] = [];
    a.onRun = () => new Promise<void>((resolve) => ends.push(resolve));
    for (const name of NAMES) await b.sidecar.jobs.schedule(name, { schedule: '@every 20s', repeats: 3 });
    await fleet.pass(21);
    const begun = namesOf(a.runs);
    expect(begun.length).toBeGreaterThan(15);
    a.store.pause();
    for (const end of ends) end();
    await fleet.pass(15, [b]);
    // Those that a had begun have run again, all others were run by b before.
    expect(namesOf(b.runs)).toEqual(sorted);
    const before = await fleet.memory.scan({ from: 'jobs!', to: 'jobs"' });
    a.onRun = () => undefined;
    a.store.resume();
    await a.clock.settled();
    const own = (entries: typeof before): unknown => entries.map(({ key, version }) => [key, version]);
    expect(own(await fleet.memory.scan({ from: 'jobs!', to: 'jobs"' }))).toEqual(own(before));
    expect(a.store.conflicts.length).toBeGreaterThan(0);
    expect(a.logger.at('error')).toEqual([]);
    // It has joined anew, with its part: each job has three runs that count, and those of a that did not.
    await fleet.pass(80);
    const all = namesOf([...a.runs, ...b.runs]);
    expect(all).toEqual([...NAMES, ...NAMES, ...NAMES, ...begun].sort());
    expect(await fleet.memory.scan({ from: 'jobs!', to: 'jobs"' })).toEqual([]);
  });

  test('do not run when another host has deleted or replaced them', async () => {
    await using fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    await fleet.pass(2);
    for (const name of NAMES) await a.sidecar.jobs.schedule(name, { dueTime: '5s' });
    for (const [index, name] of NAMES.entries()) {
      const other = index % 2 === 0 ? a : b;
      if (index % 3 === 0) await other.sidecar.jobs.delete(name);
      else await other.sidecar.jobs.schedule(name, { dueTime: index % 3 === 1 ? '5s' : '9s', ifExists: 'replace' });
    }
    await fleet.pass(12);
    const left = NAMES.filter((_, index) => index % 3 !== 0);
    expect(namesOf([...a.runs, ...b.runs])).toEqual([...left].sort());
  });

  test('run late, but run, on a host whose store was slow to renew its lease', async () => {
    await using fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    await fleet.pass(2);
    for (const name of NAMES) await a.sidecar.jobs.schedule(name, { dueTime: '9s' });
    await fleet.pass(2);
    a.store.pause();
    await fleet.pass(8, [a]);
    a.store.resume();
    await fleet.pass(1, [a]);
    await fleet.pass(9, [b]);
    expect(namesOf([...a.runs, ...b.runs])).toEqual(sorted);
  });

  test('run although the store could not be read when another host scheduled them', async () => {
    await using fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    await fleet.pass(2);
    const { get } = a.store;
    a.store.get = () => Promise.reject(new Error('the disk is on fire'));
    for (const name of NAMES) await b.sidecar.jobs.schedule(name, { dueTime: '1s' });
    await fleet.pass(1);
    a.store.get = get;
    await fleet.pass(8);
    expect(namesOf([...a.runs, ...b.runs])).toEqual(sorted);
    expect(a.runs.length).toBeGreaterThan(15);
  });

  test('that could not be read leave no timer when the host stops', async () => {
    await using fleet = new Fleet();
    const a = await fleet.join();
    const { get } = a.store;
    a.store.get = (key) =>
      key.startsWith('jobs!') ? Promise.reject(new Error('the disk is on fire')) : get.call(a.store, key);
    await a.sidecar.jobs.schedule('large', { dueTime: '1s', data: 'x'.repeat(100_000) });
    await fleet.pass(2);
    expect(a.logger.at('error')).toHaveLength(1);
    await a.sidecar.stop();
    expect(a.clock.pendingTimers).toBe(0);
  });

  test('under way are waited for when their shard goes to a host that joins', async () => {
    await using fleet = new Fleet();
    const a = await fleet.join();
    const ends: (() => void)[] = [];
    a.onRun = () => new Promise<void>((resolve) => ends.push(resolve));
    for (const name of NAMES) await a.sidecar.jobs.schedule(name, { dueTime: '1s' });
    await fleet.pass(1);
    expect(a.runs.length).toBe(NAMES.length);
    const b = await fleet.join();
    await fleet.pass(5);
    for (const end of ends) end();
    await fleet.pass(20);
    expect([a.runs.length, b.runs, a.logger.at('error')]).toEqual([NAMES.length, [], []]);
    expect(await fleet.memory.scan({ from: 'jobs!', to: 'jobs"' })).toEqual([]);
  });

  test('run when the other host asks for it, once each, on their owners', async () => {
    await using fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    await fleet.pass(2);
    for (const name of NAMES) await a.sidecar.jobs.schedule(name, { schedule: '@every 1h' });
    await fleet.pass(2);
    for (const name of NAMES) expect(await b.sidecar.jobs.run(name)).toBe(true);
    await fleet.pass(3);
    expect(namesOf([...a.runs, ...b.runs])).toEqual(sorted);
    expect(Math.min(a.runs.length, b.runs.length)).toBeGreaterThan(15);
    const { jobs } = await b.sidecar.jobs.listPage();
    expect(jobs.map(({ name, runs, lastRun }) => `${name} ${runs} ${lastRun?.outcome}`)).toEqual(
      sorted.map((name) => `${name} 0 done`),
    );
  });

  test('are paused and resumed by the other host, also while they run: no run is made twice or lost', async () => {
    await using fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    await fleet.pass(2);
    const ends: (() => void)[] = [];
    for (const member of [a, b]) member.onRun = () => new Promise<void>((resolve) => ends.push(resolve));
    for (const name of NAMES) await a.sidecar.jobs.schedule(name, { schedule: '@every 10s' });
    await fleet.pass(10);
    expect(ends.length).toBe(NAMES.length);
    for (const name of NAMES) await expect(b.sidecar.jobs.run(name)).rejects.toMatchObject({ status: 409 });
    for (const name of NAMES) expect(await b.sidecar.jobs.pause(name)).toBe(true);
    for (const end of ends) end();
    await fleet.pass(30);
    expect(namesOf([...a.runs, ...b.runs])).toEqual(sorted);
    for (const member of [a, b]) member.onRun = () => undefined;
    for (const name of NAMES) expect(await b.sidecar.jobs.resume(name)).toBe(true);
    await fleet.pass(3);
    expect(namesOf([...a.runs, ...b.runs])).toEqual([...NAMES, ...NAMES].sort());
    expect((await a.sidecar.jobs.listPage()).jobs.every(({ runs }) => runs === 2)).toBe(true);
    expect([...a.logger.at('error'), ...b.logger.at('error')]).toEqual([]);
  });
});

test('a host that stops keeps the jobs that run until they have ended, although another host joins meanwhile', async () => {
  await using fleet = new Fleet();
  const a = await fleet.join({ stopTimeout: 30_000 });
  const ends: (() => void)[] = [];
  a.onRun = () => new Promise<void>((resolve) => ends.push(resolve));
  await fleet.pass(2);
  for (const name of NAMES.slice(0, 20)) await a.sidecar.jobs.schedule(name, { dueTime: '1s' });
  await a.clock.advance('1s');
  await expect.poll(() => a.runs.length).toBe(20);
  const stopped = a.sidecar.stop();
  const b = await fleet.join();
  await fleet.pass(8);
  expect(b.runs).toEqual([]);
  for (const end of ends) end();
  await fleet.pass(5);
  await stopped;
  await fleet.pass(10, [b]);
  expect([a.emitted('jobCompleted').length, b.runs]).toEqual([20, []]);
}, 60_000);

import { describe, expect, test } from 'vitest';
import { readHosts } from '../../src/cluster/hosts.ts';
import { Membership } from '../../src/cluster/membership.ts';
import { assignment, SHARD_COUNT, shardOf } from '../../src/cluster/shards.ts';
import { systemClock } from '../../src/kit/index.ts';
import { OpenStore, pass, TestHost } from '../support/hosts.ts';
import { RecordingLogger } from '../support/logger.ts';
import { PausableStore } from '../support/pausable-store.ts';

const ALL = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);
const together = (...hosts: readonly TestHost[]): readonly number[] =>
  hosts.flatMap(({ owned }) => owned).sort((a, b) => a - b);

function joinInRealTime(store: PausableStore, times: { heartbeatMs: number; leaseMs: number }): Promise<Membership> {
  return Membership.join({
    ...{ store, appId: 'shop', namespace: 'default', clock: systemClock, logger: new RecordingLogger(), ...times },
    newId: () => crypto.randomUUID(),
    track: () => () => undefined,
  });
}

describe('the shard of an ID', () => {
  test('is the same in every release', () => {
    const ids = ['', 'a', 'order-4711', 'ä', '😀', '__proto__'];
    expect(ids.map(shardOf)).toEqual([11, 51, 25, 56, 38, 43]);
  });

  test('spreads IDs evenly', () => {
    const counts = ALL.map(() => 0);
    for (let index = 0; index < 64_000; index++) {
      const shard = shardOf(`job-${index}`);
      counts[shard] = (counts[shard] ?? 0) + 1;
    }
    expect(Math.min(...counts)).toBeGreaterThan(850);
    expect(Math.max(...counts)).toBeLessThan(1_150);
  });
});

describe('the assignment of shards', () => {
  test('gives every shard a host and no host more than its part, in whatever order they are named', () => {
    for (let count = 1; count <= 70; count++) {
      const hosts = Array.from({ length: count }, (_, index) => `host-${index}`);
      const targets = assignment(hosts);
      expect(assignment([...hosts].reverse())).toEqual(targets);
      const most = Math.max(...hosts.map((host) => targets.filter((target) => target === host).length));
      expect([targets.length, targets.includes(undefined), most]).toEqual([64, false, Math.ceil(64 / count)]);
    }
  });

  test('moves few when a host comes', () => {
    const before = assignment(['a', 'b', 'c']);
    const after = assignment(['a', 'b', 'c', 'd']);
    const moved = ALL.filter((shard) => before[shard] !== after[shard]);
    expect(moved.length).toBeLessThan(30);
  });
});

describe('one host alone', () => {
  test('owns everything after one commit, and then does nothing on a store of its own process', async () => {
    const store = new OpenStore(true);
    const host = await TestHost.join(store);
    expect([host.owned, store.commits, store.scans]).toEqual([ALL, 1, 2]);
    await host.clock.advance('720h');
    expect([store.commits, store.scans, host.clock.pendingTimers]).toEqual([1, 2, 0]);
    await host.membership.leave();
    expect([store.commits, await store.scan({ from: '' })]).toEqual([2, []]);
  });

  test('takes everything at once over from one that was killed, on a store that only one process can have open', async () => {
    const store = new OpenStore(true);
    const killed = {
      key: 'hosts!host!killed!',
      value: Buffer.from('\u0001{"id":"killed","appId":"shop","namespace":"default","actorTypes":["A"],"updatedAt":1}'),
    };
    const shards = ALL.map((shard) => ({
      key: `shards!=shop!${String(shard).padStart(2, '0')}!`,
      value: Buffer.from('\u0001killed'),
    }));
    await store.commit({ put: [killed, ...shards] });
    const host = await TestHost.join(store);
    expect(host.owned).toEqual(ALL);
    expect((await readHosts(store)).hosts.map(({ id }) => id)).toEqual([host.membership.id]);
  });

  test('waits for the lease of one that was killed, on a store that others may have open', async () => {
    const store = new OpenStore();
    const killed = await TestHost.join(store);
    killed.pause();
    const host = await TestHost.join(store);
    await pass([host], 9);
    expect(host.owned).toEqual([]);
    await pass([host], 6);
    expect(host.owned).toEqual(ALL);
  });

  test('starts without a store that answers, and owns everything as soon as it does', async () => {
    const store = new OpenStore(true);
    store.failing = true;
    const host = await TestHost.join(store);
    expect([host.owned, host.logger.at('error').length]).toEqual([[], 1]);
    await pass([host], 20);
    expect(host.logger.at('error').length).toBe(1);
    store.failing = false;
    await pass([host], 5);
    expect(host.owned).toEqual(ALL);
  });
});

describe.each([true, false])('two hosts of one app ID (all hosts in one process: %s)', (isExclusive) => {
  const open = async (): Promise<{ store: OpenStore; a: TestHost; b: TestHost }> => {
    const store = new OpenStore(isExclusive);
    const a = await TestHost.join(store, { id: 'a' });
    const b = await TestHost.join(store, { id: 'b' });
    await pass([a, b], 6);
    return { store, a, b };
  };

  test('own half of the shards each', async () => {
    const { a, b } = await open();
    expect([a.owned.length, b.owned.length, together(a, b)]).toEqual([32, 32, ALL]);
  });

  test('keep what they have while nothing happens', async () => {
    const { a, b } = await open();
    const [ofA, ofB] = [a.owned, b.owned];
    await pass([a, b], 120);
    expect([a.owned, b.owned]).toEqual([ofA, ofB]);
    expect([a.membership.id, b.membership.id]).toEqual(['a1', 'b1']);
  });

  test('take over from one that leaves, at once', async () => {
    const { a, b } = await open();
    await a.membership.leave();
    await pass([b], isExclusive ? 0 : 5);
    await b.clock.settled();
    expect([a.owned, b.owned]).toEqual([[], ALL]);
  });

  test('take over from one that stands still, when its lease is over and not before', async () => {
    const { a, b } = await open();
    a.pause();
    // It renewed its record at most 5 s ago.
    await pass([b], 4);
    expect(b.owned.length).toBe(32);
    await pass([b], 11);
    expect(b.owned).toEqual(ALL);
  });

  test('take over from one that was killed, however often the hosts are asked for meanwhile', async () => {
    const store = new OpenStore();
    const slow = new PausableStore(store);
    slow.keepsBack = () => new Promise((resolve) => setTimeout(resolve, 5));
    const killed = new PausableStore(store);
    const times = { heartbeatMs: 300, leaseMs: 900 };
    const a = await joinInRealTime(slow, times);
    const b = await joinInRealTime(killed, times);
    const owned = (): number => ALL.filter((shard) => a.shards.owns(shard)).length;
    await expect.poll(owned, { timeout: 10_000 }).toBe(32);
    killed.pause();
    let isAsking = true;
    const asking = Array.from({ length: 4 }, async () => {
      while (isAsking) await a.hosts();
    });
    await expect.poll(owned, { timeout: 10_000 }).toBe(64);
    isAsking = false;
    await Promise.all(asking);
    killed.resume();
    await Promise.all([a.leave(), b.leave()]);
  });

  test('let one that wakes up write nothing, and give it its part again', async () => {
    const { store, a, b } = await open();
    const [shard = -1] = a.owned;
    expect(await a.write(shard, 'before')).toBe(true);
    a.pause();
    const late = a.write(shard, 'late');
    await pass([b], 15);
    const before = await store.scan({ from: 'note/', to: 'note0' });
    // It does not know yet.
    expect(a.owned.length).toBe(32);
    a.resume();
    expect(await late).toBe(false);
    expect(await store.scan({ from: 'note/', to: 'note0' })).toEqual(before);
    expect(await b.write(shard, 'taken over')).toBe(true);
    await pass([a, b], 12);
    expect([a.owned.length, b.owned.length, together(a, b)]).toEqual([32, 32, ALL]);
    expect(a.membership.id).toBe('a2');
    expect(a.logger.at('warn').map(({ message }) => message)).toEqual([
      'other hosts considered this host dead: it joins again',
    ]);
    expect(a.logger.at('error')).toEqual([]);
  });

  test('stay alive for one whose clock is set forward', async () => {
    const { a, b } = await open();
    await a.membership.hosts();
    const now = a.clock.now.bind(a.clock);
    a.clock.now = () => now() + 86_400_000;
    await a.membership.setActorTypes(['Cart']);
    await pass([a, b], 20);
    expect([a.membership.id, b.membership.id, together(a, b)]).toEqual(['a1', 'b1', ALL]);
  });

  test('are missed within the lease by one whose clock is set back', async () => {
    const { a, b } = await open();
    await a.membership.hosts();
    b.pause();
    const now = a.clock.now.bind(a.clock);
    a.clock.now = () => now() - 86_400_000;
    await pass([a], 21);
    expect(a.owned).toEqual(ALL);
  });

  test('are missed within the lease by one whose clock is set back, when it has a monotonic one as well', async () => {
    const { a, b } = await open();
    await a.membership.hosts();
    b.pause();
    const now = a.clock.now.bind(a.clock);
    Object.assign(a.clock, { monotonic: now });
    await pass([a], 1);
    a.clock.now = () => now() - 86_400_000;
    await pass([a], 15);
    expect(a.owned).toEqual(ALL);
  });

  test('own nothing after the lease when they could not renew it, though their clock was set back', async () => {
    const { a } = await open();
    const now = a.clock.now.bind(a.clock);
    Object.assign(a.clock, { monotonic: now });
    await pass([a], 6);
    expect(a.owned.length).toBe(32);
    a.pause();
    a.clock.now = () => now() - 86_400_000;
    await pass([a], 4);
    expect(a.owned.length).toBe(32);
    await pass([a], 10);
    expect(a.owned).toEqual([]);
  });

  test('stay alive for each other when neither could reach the store for long', async () => {
    const { store, a, b } = await open();
    await a.membership.hosts();
    store.failing = true;
    await pass([a, b], 60);
    store.failing = false;
    await pass([a, b], 30);
    expect([a.membership.id, b.membership.id, together(a, b)]).toEqual(['a1', 'b1', ALL]);
  });

  test('let one that has slept own nothing as soon as its clock shows it', async () => {
    const { a } = await open();
    await pass([a], 1);
    expect(a.owned.length).toBe(32);
    // A clock that jumps, as after a laptop was closed: no timer has fired yet.
    const { shards } = a.membership;
    const now = a.clock.now();
    a.clock.now = () => now + 15_000;
    expect(a.owned).toEqual([]);
    expect(shards.fence(0) === undefined).toBe(false);
  });
});

describe('a host that could not renew its lease for a while', () => {
  test('hears of its shards again when it has, as it has left alone what came meanwhile', async () => {
    const store = new OpenStore(true);
    const a = await TestHost.join(store);
    const b = await TestHost.join(store);
    await pass([a, b], 4);
    a.pause();
    await pass([a], 8);
    expect(a.owned).toEqual([]);
    const before = a.changes.length;
    a.resume();
    await a.clock.settled();
    expect(a.owned.length).toBe(32);
    expect(a.changes.slice(before)).toEqual([{ gained: a.owned, kept: a.owned, lost: [] }]);
    await b.membership.leave();
  });
});

/** From its first loss on, something is under way in the shards of a host until the answer is called. */
function underWayIn({ membership }: TestHost): () => void {
  let end: () => void = () => undefined;
  const underWay = new Promise<void>((resolve) => {
    end = resolve;
  });
  membership.shards.onChange(({ lost }) => (lost.length > 0 ? underWay : undefined));
  return () => end();
}

describe('handing a shard over', () => {
  test('waits for what is under way, and tells of the loss first', async () => {
    const store = new OpenStore(true);
    const a = await TestHost.join(store, { id: 'a' });
    let end: () => void = () => undefined;
    const underWay = new Promise<void>((resolve) => {
      end = resolve;
    });
    const lost: number[] = [];
    a.membership.shards.onChange((change) => {
      lost.push(...change.lost);
      return change.lost.length > 0 ? underWay : undefined;
    });
    const b = await TestHost.join(store, { id: 'b' });
    await pass([a, b], 6);
    expect([lost.length, a.owned.length, b.owned]).toEqual([32, 32, []]);
    const [shard = -1] = lost;
    // What is under way can still be recorded.
    expect(await a.write(shard, 'the last')).toBe(true);
    end();
    await pass([a, b], 1);
    expect([a.owned.length, b.owned.length, together(a, b)]).toEqual([32, 32, ALL]);
    expect(await a.write(shard, 'too late')).toBe(false);
  });

  test('does not wait for ever', async () => {
    const store = new OpenStore(true);
    const a = await TestHost.join(store);
    a.membership.shards.onChange(({ lost }) => (lost.length > 0 ? new Promise<void>(() => undefined) : undefined));
    const b = await TestHost.join(store);
    await pass([a, b], 14);
    expect(b.owned).toEqual([]);
    await pass([a, b], 2);
    expect(b.owned.length).toBe(32);
  });

  test('leaves nobody without it when the host that it is for has gone meanwhile', async () => {
    const store = new OpenStore(true);
    const a = await TestHost.join(store);
    let end: () => void = () => undefined;
    const underWay = new Promise<void>((resolve) => {
      end = resolve;
    });
    a.membership.shards.onChange(({ lost }) => (lost.length > 0 ? underWay : undefined));
    const b = await TestHost.join(store);
    await pass([a, b], 1);
    expect(a.owned.length).toBe(32);
    await b.membership.leave();
    end();
    await a.clock.settled();
    expect(a.owned).toEqual(ALL);
    expect(await a.write(0, 'as before')).toBe(true);
  });

  test('that failed leaves nobody without it either', async () => {
    const store = new OpenStore(true);
    const a = await TestHost.join(store);
    let end: () => void = () => undefined;
    const underWay = new Promise<void>((resolve) => {
      end = resolve;
    });
    a.membership.shards.onChange(({ lost }) => (lost.length > 0 ? underWay : undefined));
    const b = await TestHost.join(store);
    await pass([a, b], 1);
    store.failing = true;
    end();
    await a.clock.settled();
    store.failing = false;
    await b.membership.leave();
    await pass([a], 6);
    expect(a.owned).toEqual(ALL);
  });

  test('that failed after the other host had gone leaves nobody without it, on a store that tells of all changes', async () => {
    const store = new OpenStore();
    const a = await TestHost.join(store, { hints: 'all' });
    const end = underWayIn(a);
    const b = await TestHost.join(store, { hints: 'all' });
    await pass([a, b], 1);
    await b.membership.leave();
    await pass([a], 1);
    store.failing = true;
    end();
    await a.clock.settled();
    store.failing = false;
    await pass([a], 6);
    expect(a.owned).toEqual(ALL);
  });

  test('goes on when the store was away for a while: nothing begins in between', async () => {
    const store = new OpenStore();
    const times = { heartbeatMs: 2_000, leaseMs: 12_000 };
    const a = await TestHost.join(store, times);
    const end = underWayIn(a);
    const b = await TestHost.join(store, times);
    await pass([a, b], 1);
    const lost = a.changes.flatMap((change) => change.lost);
    expect(lost.length).toBe(32);
    const before = a.changes.length;
    store.failing = true;
    await pass([a, b], 8);
    store.failing = false;
    await pass([a, b], 2);
    const begun = a.changes.slice(before).flatMap(({ gained }) => gained);
    expect(begun.filter((shard) => lost.includes(shard))).toEqual([]);
    end();
    await pass([a, b], 5);
    expect([a.owned.length, b.owned.length, together(a, b)]).toEqual([32, 32, ALL]);
  });

  test('of a host whose listener throws goes on', async () => {
    const store = new OpenStore(true);
    const a = await TestHost.join(store);
    a.membership.shards.onChange(() => {
      throw new Error('a bug');
    });
    const b = await TestHost.join(store);
    await pass([a, b], 2);
    expect([b.owned.length, a.logger.at('error').length > 0]).toEqual([32, true]);
  });
});

describe('hosts of different app IDs', () => {
  test('own all shards of their own each, and renew nothing for one another', async () => {
    const store = new OpenStore(true);
    const shop = await TestHost.join(store);
    const billing = await TestHost.join(store, { appId: 'billing' });
    const { commits } = store;
    await pass([shop, billing], 60);
    expect([shop.owned, billing.owned, store.commits]).toEqual([ALL, ALL, commits]);
    expect((await billing.membership.hosts()).hosts.map(({ appId }) => appId).sort()).toEqual(['billing', 'shop']);
  });
});

describe('the table of hosts', () => {
  test('gets a higher version with every change of hosts with actor types, and with no other', async () => {
    const store = new OpenStore(true);
    const versions: number[] = [];
    const note = async (): Promise<void> => void versions.push((await readHosts(store)).tableVersion);
    const plain = await TestHost.join(store, { appId: 'plain' });
    await note();
    const typed = await TestHost.join(store, { actorTypes: ['Cart'] });
    await note();
    await typed.membership.setActorTypes(['Cart', 'Order']);
    await note();
    await typed.membership.setActorTypes(['Order', 'Cart']);
    await note();
    await plain.membership.leave();
    await note();
    await typed.membership.leave();
    await note();
    expect(versions).toEqual([0, 1, 2, 2, 2, 3]);
    await TestHost.join(store, { actorTypes: ['Cart'] });
    expect((await readHosts(store)).tableVersion).toBe(4);
  });
});

import { expect, test } from 'vitest';
import { shardOf } from '../../src/cluster/shards.ts';
import { type OwnedChange, OwnedShards } from '../../src/kernel/owned-shards.ts';
import { ConflictError } from '../../src/state/errors.ts';
import { OpenStore, pass, TestHost } from '../support/hosts.ts';

const IDS = Array.from({ length: 200 }, (_, index) => `order-${index}`);

/** Shards of a host, what they told of, and the IDs that are its own. */
function follow(host: TestHost): { shards: OwnedShards; changes: OwnedChange[]; own: () => readonly string[] } {
  const shards = new OwnedShards(host.membership.shards);
  const changes: OwnedChange[] = [];
  shards.onChange((change) => void changes.push(change));
  return { shards, changes, own: () => IDS.filter((id) => shards.owns(id)) };
}

/** An ID of a host, and one of the other. */
function split(host: TestHost): { ours: string; theirs: string } {
  const ours = IDS.find((id) => host.owned.includes(shardOf(id)));
  const theirs = IDS.find((id) => !host.owned.includes(shardOf(id)));
  if (ours === undefined || theirs === undefined) throw new Error('one host has them all');
  return { ours, theirs };
}

test('without shards every ID is owned, no commit needs a fence and a hand-over never comes', () => {
  const shards = new OwnedShards(undefined, 'always');
  shards.onChange(() => expect.unreachable());
  const conflict = new ConflictError('shards!=shop!00!');
  expect([shards.isShared, shards.owns('a'), shards.fence('a'), shards.isFenced(conflict)]).toEqual([
    ...[false, true, undefined, false],
  ]);
});

test('alone, a host fences its commits only where the rule is to do so always', async () => {
  const host = await TestHost.join(new OpenStore(true));
  const { shards } = host.membership;
  const fence = shards.fence(shardOf('a'));
  expect(new OwnedShards(shards).fence('a')).toBeUndefined();
  expect(new OwnedShards(shards, 'always').fence('a')).toEqual(fence);
});

test('of two hosts each owns and fences its part, and an ID of the other is a conflict that says so', async () => {
  const store = new OpenStore();
  const [a, b] = [await TestHost.join(store), await TestHost.join(store)];
  await pass([a, b], 6);
  const [ofA, ofB] = [follow(a), follow(b)];
  expect([...ofA.own(), ...ofB.own()].sort()).toEqual([...IDS].sort());
  const { ours, theirs } = split(a);
  expect(ofA.shards.isShared).toBe(true);
  expect(ofA.shards.fence(ours)).toEqual(a.membership.shards.fence(shardOf(ours)));
  expect(ofA.shards.isFenced(thrownBy(() => ofA.shards.fence(theirs)))).toBe(true);
  expect(ofA.shards.isFenced(new ConflictError('jobs!due'))).toBe(false);
});

function thrownBy(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  return undefined;
}

test('a shard is handed over when nothing of it is in hand, the others at once', async () => {
  const store = new OpenStore(true);
  const a = await TestHost.join(store, { id: 'a' });
  const { shards, changes } = follow(a);
  for (const id of IDS) shards.of(id).begin();
  shards.of(IDS[0] ?? '').begin();
  const b = await TestHost.join(store, { id: 'b' });
  await pass([a, b], 1);
  const lost = changes.flatMap((change) => [...change.lost]);
  const idle = lost.filter((shard) => !IDS.some((id) => shards.of(id) === shard));
  expect([lost.length, a.owned.length, b.owned.length]).toEqual([32, 32, idle.length]);
  expect(lost.map(({ isOwned }) => isOwned)).toEqual(lost.map(() => false));
  // What is in hand still counts.
  const busy = lost.filter((shard) => !idle.includes(shard));
  expect(busy.map((shard) => shard.fence()?.key).includes(undefined)).toBe(false);
  for (const id of IDS) shards.of(id).end();
  await pass([a, b], 1);
  expect(b.owned.length).toBe(lost.includes(shards.of(IDS[0] ?? '')) ? 31 : 32);
  shards.of(IDS[0] ?? '').end();
  await pass([a, b], 1);
  expect([a.owned.length, b.owned.length]).toEqual([32, 32]);
});

test('what is never over is waited for in the time of a lease, and may end after it', async () => {
  const store = new OpenStore(true);
  const a = await TestHost.join(store, { id: 'a' });
  const { shards } = follow(a);
  for (const id of IDS) shards.of(id).begin();
  const b = await TestHost.join(store, { id: 'b' });
  await pass([a, b], 14);
  const busy = new Set(IDS.map(shardOf));
  expect(b.owned.filter((shard) => busy.has(shard))).toEqual([]);
  await pass([a, b], 2);
  expect(b.owned.length).toBe(32);
  const { theirs } = split(a);
  shards.of(theirs).end();
  expect(shards.isFenced(thrownBy(() => shards.fence(theirs)))).toBe(true);
});

test('what was lost is told as gained when it comes back', async () => {
  const store = new OpenStore(true);
  const [a, b] = [await TestHost.join(store, { id: 'a' }), await TestHost.join(store, { id: 'b' })];
  await pass([a, b], 1);
  const { shards, changes, own } = follow(a);
  const before = own();
  await b.membership.leave();
  await pass([a], 1);
  const gained = changes.flatMap((change) => [...change.gained]);
  expect(IDS.filter((id) => gained.includes(shards.of(id)))).toEqual(IDS.filter((id) => !before.includes(id)));
  expect(own()).toEqual(IDS);
});

test('tells what others have written below a prefix, until it is stopped', async () => {
  const store = new OpenStore(true);
  const [a, b] = [await TestHost.join(store), await TestHost.join(store)];
  await pass([a, b], 1);
  const { shards, changes } = follow(a);
  const told: string[] = [];
  shards.watch('notes!', (keys) => void told.push(...keys));
  await store.commit({ put: [{ key: 'notes!1!', value: Buffer.from('x') }] });
  await pass([a], 1);
  shards.stop();
  await store.commit({ put: [{ key: 'notes!2!', value: Buffer.from('x') }] });
  await b.membership.leave();
  await pass([a], 1);
  expect([told, changes.length]).toEqual([['notes!1!'], 0]);
});

import { describe, expect, test } from 'vitest';
import { SHARD_COUNT } from '../../src/cluster/shards.ts';
import { OpenStore, pass, TestHost } from '../support/hosts.ts';

const ALL = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);
const together = (...hosts: readonly TestHost[]): readonly number[] =>
  hosts.flatMap(({ owned }) => owned).sort((a, b) => a - b);

const hostShardKey = (shard: number): string => `shards!=shop!${String(shard).padStart(2, '0')}!`;

/** A generator of numbers from 0 to 1 (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Hosts join, leave, stand still and wake up by chance, and write as often as they may. The store takes what the
 * owner writes that stands in it, and nothing else.
 */
async function history(seed: number, isExclusive: boolean): Promise<void> {
  const random = randomFrom(seed);
  const store = new OpenStore(isExclusive);
  const hosts: { readonly host: TestHost; asleep: boolean }[] = [];
  const join = async (): Promise<void> => void hosts.push({ host: await TestHost.join(store), asleep: false });
  await join();
  for (let step = 0; step < 60; step++) {
    const dice = random();
    const one = hosts[Math.floor(random() * hosts.length)];
    if (dice < 0.1 && hosts.length < 4) await join();
    else if (dice < 0.15 && hosts.length > 1 && one !== undefined) {
      hosts.splice(hosts.indexOf(one), 1);
      one.host.resume();
      await one.host.membership.leave();
    } else if (dice < 0.3 && one !== undefined) {
      one.asleep = !one.asleep;
      if (one.asleep) one.host.pause();
    }
    const awake = hosts.filter(({ asleep }) => !asleep).map(({ host }) => host);
    await pass(awake, Math.floor(random() * 8));
    // Also those that sleep: they wake up just before.
    for (const { host, asleep } of hosts) {
      if (!asleep) host.resume();
      const shard = Math.floor(random() * SHARD_COUNT);
      const { shards, id } = host.membership;
      if (!shards.owns(shard)) continue;
      const before = (await store.get(hostShardKey(shard)))?.version;
      const isOwner = before === shards.fence(shard).version;
      host.resume();
      if (await host.write(shard, id)) expect([seed, step, shard, isOwner]).toEqual([seed, step, shard, true]);
      if (asleep) host.pause();
    }
    const fences = hosts.flatMap(({ host: { membership, owned } }) =>
      owned.map((shard) => ({ shard, id: membership.id, ...membership.shards.fence(shard) })),
    );
    const claims = new Map<number, string[]>();
    for (const { shard, id, key, version } of fences)
      if ((await store.get(key))?.version === version) claims.set(shard, [...(claims.get(shard) ?? []), id]);
    for (const [shard, ids] of claims) expect([seed, step, shard, ids.length]).toEqual([seed, step, shard, 1]);
  }
  for (const { host } of hosts) host.resume();
  await pass(
    hosts.map(({ host }) => host),
    60,
  );
  const live = hosts.map(({ host }) => host);
  expect([seed, together(...live)]).toEqual([seed, ALL]);
  const most = Math.max(...live.map(({ owned }) => owned.length));
  expect(most).toBeLessThanOrEqual(Math.ceil(SHARD_COUNT / live.length));
  for (const { host } of hosts) await host.membership.leave();
  expect((await store.scan({ from: 'hosts!host!', to: 'hosts!host"' })).length).toBe(0);
}

describe('random histories of hosts', () => {
  test.each([true, false])(
    'every shard has one owner at most, and in the end exactly one (one process: %s)',
    async (isExclusive) => {
      for (let seed = 1; seed <= 5; seed++) await history(seed, isExclusive);
    },
    120_000,
  );
});

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type RedisOptions, redisState } from '../../../src/components/redis/index.ts';
import { stateStoreConformance } from '../../../src/kit/store-conformance.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { put } from '../../support/embedded-store.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { holderOf, moveSlot, startCluster, startClusterReplica } from '../../support/redis-groups.ts';
import { hasRedis, type OwnServer } from '../../support/servers.ts';
import { FailoverWriters } from '../remote/failover-writers.ts';

describe.runIf(hasRedis())('state in a Redis cluster', () => {
  let nodes: readonly OwnServer[];
  beforeAll(async () => {
    nodes = await startCluster();
  }, 60_000);
  afterAll(async () => {
    for (const node of nodes) await node[Symbol.asyncDispose]();
  });

  const newPrefix = (): string => `test-${randomUUID().slice(0, 8)}`;
  const open = (options: Partial<RedisOptions> = {}): Promise<StateStore> =>
    redisState({
      nodes: nodes.map(({ port }) => `127.0.0.1:${port}`),
      cluster: true,
      prefix: newPrefix(),
      operationTimeout: 30_000,
      ...options,
    }).open({ clock: systemClock, logger: new RecordingLogger() });

  for (const { name, run } of stateStoreConformance)
    test(name, () => {
      const prefix = newPrefix();
      return run(() => open({ prefix }));
    });

  /** The node that holds a prefix, and another one. */
  async function holderAndOther(prefix: string): Promise<readonly [OwnServer, OwnServer]> {
    const holder = await holderOf(nodes, prefix);
    const other = nodes.find((node) => node !== holder);
    if (other === undefined) throw new Error('the cluster has one node');
    return [holder, other];
  }

  test('the slot moves to another node while entries are written: none is lost, hints go on', async () => {
    const prefix = newPrefix();
    await using store = await open({ prefix });
    await using other = await open({ prefix });
    const writers = new FailoverWriters(store);
    await writers.more(200);
    const [from, to] = await holderAndOther(prefix);
    await moveSlot(from, to, prefix);
    await writers.more(200);
    await moveSlot(to, from, prefix);
    await writers.more(200);
    await writers.stop();
    expect([await writers.lost(), writers.errors]).toEqual([[], []]);
    const told: (readonly string[])[] = [];
    using _watch = other.watch('hint', (keys) => told.push(keys));
    await vi.waitFor(
      async () => {
        await store.commit({ put: [put('hint')] });
        expect(told).toContainEqual(['hint']);
      },
      { timeout: 10_000, interval: 100 },
    );
  }, 60_000);

  test('a store that only knows a replica finds the primary', async () => {
    const prefix = newPrefix();
    await using replica = await startClusterReplica(await holderOf(nodes, prefix));
    await using store = await open({ prefix, nodes: [`127.0.0.1:${replica.port}`] });
    expect(await store.commit({ put: [put('a')] })).toBeGreaterThan(0);
  }, 60_000);

  // The last case: the cluster lacks a node afterwards.
  test('a replica takes over for a node that is killed', async () => {
    const prefix = newPrefix();
    const [holder] = await holderAndOther(prefix);
    await using replica = await startClusterReplica(holder);
    await using store = await open({ prefix });
    const writers = new FailoverWriters(store);
    await writers.more(200);
    await holder.kill();
    await writers.more(200);
    await writers.stop();
    expect(replica.port).toBeGreaterThan(0);
    expect(writers.errors).toEqual([]);
    expect((await writers.lost()).length).toBeLessThan(50);
    const versions = [...writers.acknowledged.values()];
    expect(new Set(versions).size).toBe(versions.length);
  }, 60_000);
});

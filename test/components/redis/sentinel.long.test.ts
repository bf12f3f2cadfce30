import { describe, expect, test } from 'vitest';
import { type RedisOptions, redisState } from '../../../src/components/redis/index.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { put } from '../../support/embedded-store.ts';
import { freePort } from '../../support/http.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { redisCommand, startReplica } from '../../support/redis-groups.ts';
import { SentinelGroup } from '../../support/sentinel-group.ts';
import { hasRedis, type OwnServer, startRedis } from '../../support/servers.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { FailoverWriters, takeFence, writeUnder } from '../remote/failover-writers.ts';

function open(options: RedisOptions): Promise<StateStore> {
  return redisState({ operationTimeout: 30_000, ...options }).open({
    clock: systemClock,
    logger: new RecordingLogger(),
  });
}

async function openBehind(group: SentinelGroup, options: Partial<RedisOptions> = {}): Promise<StateStore> {
  return open({ ...(await group.connection()), ...options });
}

/** The entries of the store's place on a server. */
async function countAt({ port }: OwnServer): Promise<number> {
  return Number(await redisCommand(port, ['HLEN', '{insidecar}:versions']));
}

describe.runIf(hasRedis())('state in Redis behind sentinels', () => {
  test('a replica takes over after kill -9: what it lacks is lost, no version is given out twice', async () => {
    await using group = await SentinelGroup.start();
    await using store = await openBehind(group);
    const writers = new FailoverWriters(store);
    const fence = await takeFence(store);
    await writers.more(200);
    const marker = await store.commit({ put: [put('marker')] });
    await expect
      .poll(() => redisCommand(group.replica.port, ['HGET', '{insidecar}:versions', 'marker']))
      .toBe(String(marker));
    const inTime = new Set([...writers.acknowledged].filter(([, version]) => version < marker).map(([key]) => key));
    // From here on, nothing reaches the replica.
    group.replication.isBlackHole = true;
    await writers.more(100);
    await using lostStore = await openBehind(group);
    const lostFence = await takeFence(lostStore);
    await group.primary.kill();
    await group.failedOver();
    await writers.more(200);

    // The former primary comes back, and believes to be one until the sentinels tell it.
    await group.primary.restart();
    const before = await countAt(group.primary);
    await using late = await openBehind(group);
    await late.commit({ put: [put('late')] });
    await writers.more(100);
    await writers.stop();
    expect(await redisCommand(group.primary.port, ['HGET', '{insidecar}:versions', 'late'])).toBeNull();
    expect(await countAt(group.primary)).toBe(before);

    const lost = await writers.lost();
    expect(writers.errors).toEqual([]);
    expect(lost.length).toBeGreaterThanOrEqual(100);
    expect(lost.filter((key) => inTime.has(key))).toEqual([]);
    await expect(writeUnder(lostStore, lostFence, 'under-no-fence')).rejects.toMatchObject({ kind: 'conflict' });
    await writeUnder(store, fence, 'under-fence');
    const newFence = await takeFence(lostStore);
    await expect(writeUnder(store, fence, 'under-old-fence')).rejects.toMatchObject({ kind: 'conflict' });
    const versions = [...writers.acknowledged.values(), fence, newFence];
    expect(new Set(versions).size).toBe(versions.length);
    expect(versions).not.toContain(lostFence);
  }, 90_000);

  test('a primary that stands still is left, and not used again when it goes on', async () => {
    await using group = await SentinelGroup.start();
    await using store = await openBehind(group, { callTimeout: 2_000 });
    const writers = new FailoverWriters(store);
    await writers.more(200);
    group.primary.signal('SIGSTOP');
    await group.failedOver();
    await writers.more(100);
    const acknowledged = writers.acknowledged.size;
    group.primary.signal('SIGCONT');
    await writers.more(100);
    await writers.stop();
    const lost = await writers.lost();
    expect(writers.errors).toEqual([]);
    expect(writers.acknowledged.size).toBeGreaterThan(acknowledged);
    // Only what was acknowledged just before the stop, and was not sent on yet.
    expect(lost.length).toBeLessThan(50);
    const versions = [...writers.acknowledged.values()];
    expect(new Set(versions).size).toBe(versions.length);
  }, 90_000);
});

test.runIf(hasRedis())('a server that has become a replica is left by commits and reads', async () => {
  await using former = await startRedis();
  await using next = await startReplica(former.port);
  await using proxy = await TcpProxy.start(former.port);
  await using store = await open({ url: `redis://127.0.0.1:${proxy.port}` });
  await store.commit({ put: [put('a')] });
  await store.get('a');
  // The proxy leads new connections to the new primary; those that there are stay.
  await redisCommand(next.port, ['REPLICAOF', 'NO', 'ONE']);
  proxy.target = next.port;
  const stale = await redisCommand(former.port, ['REPLICAOF', '127.0.0.1', String(await freePort())], ['DBSIZE']);
  expect(stale).toBeGreaterThan(0);
  const version = await store.commit({ put: [put('a', 5)] });
  await expect.poll(async () => (await store.get('a'))?.version).toBe(version);
});

import { describe, expect, test, vi } from 'vitest';
import { type RedisOptions, redis } from '../../../src/components/redis/index.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { put } from '../../support/embedded-store.ts';
import { freePort } from '../../support/http.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { redisCommand, SENTINEL_NAME, startReplica, startSentinels, untilPrimary } from '../../support/redis-groups.ts';
import { hasRedis, type OwnServer, startRedis } from '../../support/servers.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { FailoverWriters, takeFence, writeUnder } from '../remote/failover-writers.ts';

/** A primary, a replica that gets its changes through a proxy, and three sentinels. */
class SentinelGroup implements AsyncDisposable {
  readonly primary: OwnServer;
  readonly replica: OwnServer;
  readonly replication: TcpProxy;
  readonly sentinels: readonly OwnServer[];

  private constructor(
    [primary, replica]: readonly [OwnServer, OwnServer],
    replication: TcpProxy,
    sentinels: readonly OwnServer[],
  ) {
    this.primary = primary;
    this.replica = replica;
    this.replication = replication;
    this.sentinels = sentinels;
  }

  static async start(): Promise<SentinelGroup> {
    const primary = await startRedis();
    const replication = await TcpProxy.start(primary.port);
    const replica = await startReplica(replication.port);
    return new SentinelGroup([primary, replica], replication, await startSentinels(3, primary.port));
  }

  async failedOver(): Promise<void> {
    await untilPrimary(this.sentinels[1]?.port ?? 0, this.replica.port);
  }

  /** Opens a store; the first sentinel of its list does not exist. */
  async open(options: Partial<RedisOptions> = {}): Promise<StateStore> {
    const nodes = [await freePort(), ...this.sentinels.map(({ port }) => port)].map((port) => `127.0.0.1:${port}`);
    return open({ nodes, sentinelName: SENTINEL_NAME, ...options });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of [...this.sentinels, this.replica]) await server[Symbol.asyncDispose]();
    await this.replication[Symbol.asyncDispose]();
    await this.primary[Symbol.asyncDispose]();
  }
}

function open(options: RedisOptions): Promise<StateStore> {
  return redis({ operationTimeoutMs: 30_000, ...options }).open({ clock: systemClock, logger: new RecordingLogger() });
}

/** The entries of the store's place on a server. */
async function countAt({ port }: OwnServer): Promise<number> {
  return Number(await redisCommand(port, ['HLEN', '{insidecar}:versions']));
}

describe.runIf(hasRedis())('state in Redis behind sentinels', () => {
  test('a replica takes over after kill -9: what it lacks is lost, no version is given out twice', async () => {
    await using group = await SentinelGroup.start();
    await using store = await group.open();
    const writers = new FailoverWriters(store);
    const fence = await takeFence(store);
    await writers.more(200);
    const marker = await store.commit({ put: [put('marker')] });
    await vi.waitFor(async () =>
      expect(await redisCommand(group.replica.port, ['HGET', '{insidecar}:versions', 'marker'])).toBe(String(marker)),
    );
    const inTime = new Set([...writers.acknowledged].filter(([, version]) => version < marker).map(([key]) => key));
    // From here on, nothing reaches the replica.
    group.replication.isBlackHole = true;
    await writers.more(100);
    await using lostStore = await group.open();
    const lostFence = await takeFence(lostStore);
    await group.primary.kill();
    await group.failedOver();
    await writers.more(200);

    // The former primary comes back, and believes to be one until the sentinels tell it.
    await group.primary.restart();
    const before = await countAt(group.primary);
    await using late = await group.open();
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
    await using store = await group.open({ callTimeoutMs: 2_000 });
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
  await vi.waitFor(async () => expect((await store.get('a'))?.version).toBe(version));
});

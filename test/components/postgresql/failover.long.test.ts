import { describe, expect, test, vi } from 'vitest';
import { type PostgresqlOptions, postgresqlState } from '../../../src/components/postgresql/index.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { put } from '../../support/embedded-store.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { hasPostgresql, type OwnServer, startPostgresql, startStandby } from '../../support/servers.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { FailoverWriters, takeFence, writeUnder } from '../remote/failover-writers.ts';
import { runSql } from './pg-test-server.ts';

/** A primary and a standby that gets its changes through a proxy. */
class Pair implements AsyncDisposable {
  readonly primary: OwnServer;
  readonly standby: OwnServer;
  readonly replication: TcpProxy;

  private constructor(primary: OwnServer, standby: OwnServer, replication: TcpProxy) {
    this.primary = primary;
    this.standby = standby;
    this.replication = replication;
  }

  static async start(): Promise<Pair> {
    const primary = await startPostgresql();
    const replication = await TcpProxy.start(primary.port);
    return new Pair(primary, await startStandby(replication.port), replication);
  }

  /** The hosts in the form of a connection string: the standby first. */
  get url(): string {
    return urlOf(this.standby.port, this.primary.port);
  }

  async promote(): Promise<void> {
    await runSql(this.standby.port, 'SELECT pg_promote()');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.standby[Symbol.asyncDispose]();
    await this.replication[Symbol.asyncDispose]();
    await this.primary[Symbol.asyncDispose]();
  }
}

function urlOf(...ports: readonly number[]): string {
  return `postgresql://postgres@${ports.map((port) => `127.0.0.1:${port}`).join()}/postgres`;
}

function open(connection: string, options: Partial<PostgresqlOptions> = {}): Promise<StateStore> {
  const logger = new RecordingLogger();
  return postgresqlState({ url: connection, operationTimeout: 30_000, ...options }).open({
    clock: systemClock,
    logger,
  });
}

describe.runIf(hasPostgresql())('state in PostgreSQL, when a standby takes over', () => {
  test('an asynchronous standby lacks the last commits, no version is given out twice, and fences hold', async () => {
    await using pair = await Pair.start();
    await using store = await open(pair.url);
    const writers = new FailoverWriters(store);
    const fence = await takeFence(store);
    await writers.more(200);
    const inTime = new Set(writers.acknowledged.keys());
    // From here on, nothing reaches the standby.
    const replicated = await untilReplicated(pair, store);
    pair.replication.isBlackHole = true;
    await writers.more(100);
    const lostStore = await open(pair.url);
    const lostFence = await takeFence(lostStore);
    await expect(writeUnder(store, fence, 'under-lost-fence')).rejects.toMatchObject({ kind: 'conflict' });
    await pair.primary.kill();
    await pair.promote();
    await writers.more(200);
    await writers.stop();

    const lost = await writers.lost();
    expect(writers.errors).toEqual([]);
    expect(lost.length).toBeGreaterThanOrEqual(100);
    expect(lost.filter((key) => inTime.has(key))).toEqual([]);
    expect(await store.get('marker')).toMatchObject({ version: replicated });
    // The fence that was lost is worth nothing; the one before it holds again, until somebody takes it anew.
    await expect(writeUnder(lostStore, lostFence, 'under-no-fence')).rejects.toMatchObject({ kind: 'conflict' });
    await writeUnder(store, fence, 'under-fence');
    const newFence = await takeFence(lostStore);
    await expect(writeUnder(store, fence, 'under-old-fence')).rejects.toMatchObject({ kind: 'conflict' });
    const versions = [...writers.acknowledged.values(), fence, newFence];
    expect(new Set(versions).size).toBe(versions.length);
    expect(versions).not.toContain(lostFence);
    await lostStore.close();
  }, 60_000);

  test('a synchronous standby has everything that was acknowledged', async () => {
    await using pair = await Pair.start();
    await runSql(pair.primary.port, `ALTER SYSTEM SET synchronous_standby_names = '*'`);
    await runSql(pair.primary.port, 'SELECT pg_reload_conf()');
    await using store = await open(pair.url);
    const writers = new FailoverWriters(store);
    await writers.more(200);
    pair.replication.isBlackHole = true;
    const acknowledged = writers.acknowledged.size;
    // What is on its way is on the primary's disk, and not acknowledged: the standby lacks it.
    const waiting = `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
    await expect.poll(async () => Number((await runSql(pair.primary.port, waiting))[0]?.[0])).toBeGreaterThan(0);
    expect(writers.acknowledged.size - acknowledged).toBeLessThan(100);
    await pair.primary.kill();
    // The new primary has no standby to wait for.
    await pair.promote();
    await runSql(pair.standby.port, 'ALTER SYSTEM RESET synchronous_standby_names');
    await runSql(pair.standby.port, 'SELECT pg_reload_conf()');
    await writers.more(200);
    await writers.stop();
    expect([await writers.lost(), writers.errors]).toEqual([[], []]);
    const versions = [...writers.acknowledged.values()];
    expect(new Set(versions).size).toBe(versions.length);
  }, 60_000);

  test('a standby is used once it is promoted, and a former primary that still answers is left', async () => {
    await using pair = await Pair.start();
    await using proxy = await TcpProxy.start(pair.primary.port);
    await using store = await open(urlOf(proxy.port));
    await store.commit({ put: [put('a')] });
    await using waiting = await open(urlOf(pair.standby.port), { operationTimeout: 200 });
    expect(waiting.failure?.message).toContain('the server is a standby');
    await expect(waiting.get('a')).rejects.toMatchObject({ kind: 'failed', message: /the server is a standby/ });
    // Both are primaries now; the proxy leads new connections to the new one.
    await pair.promote();
    proxy.target = pair.standby.port;
    await runSql(
      pair.primary.port,
      // The connection for commits only; its last statement was the hint of a commit.
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_notify%' AND pid <> pg_backend_pid()`,
    );
    const version = await store.commit({ put: [put('a', 5)] });
    await expect.poll(async () => (await store.get('a'))?.version).toBe(version);
    await vi.waitFor(async () => expect((await waiting.get('a'))?.version).toBe(version), { timeout: 30_000 });
    // Its other connection may still be waiting for its next attempt.
    await vi.waitFor(() => expect(waiting.failure).toBeUndefined(), { timeout: 30_000 });
  }, 60_000);
});

/** Writes an entry and waits until the standby has it. */
async function untilReplicated({ standby }: Pair, store: StateStore): Promise<number> {
  const version = await store.commit({ put: [put('marker')] });
  const marker = `SELECT version FROM insidecar.entry WHERE key = 'marker'`;
  await expect.poll(async () => Number((await runSql(standby.port, marker))[0]?.[0])).toBe(version);
  return version;
}

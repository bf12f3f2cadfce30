import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { KeyValueDefinition, KeyValueStore } from '../../../src/components/key-value.ts';
import { postgresqlStateStore } from '../../../src/components/postgresql/index.ts';
import { redisStateStore } from '../../../src/components/redis/index.ts';
import { freePort } from '../../support/http.ts';
import { etagOf, put, putOne, textOf, writeOne } from '../../support/key-value-cases.ts';
import { hasPostgresql, hasRedis, type OwnServer, startPostgresql, startRedis } from '../../support/servers.ts';
import { storeContext } from '../../support/store-context.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

describe.each([
  {
    technology: 'Redis',
    isThere: hasRedis,
    start: () => startRedis(),
    store: (port: number): KeyValueDefinition =>
      redisStateStore('store', { url: `redis://127.0.0.1:${port}`, callTimeout: 1_000 }),
  },
  {
    technology: 'PostgreSQL',
    isThere: hasPostgresql,
    start: () => startPostgresql(),
    store: (port: number): KeyValueDefinition =>
      postgresqlStateStore('store', {
        url: { host: '127.0.0.1', port, user: 'postgres', database: 'postgres' },
        callTimeout: 1_000,
      }),
  },
])('outages of values in $technology', ({ technology, isThere, start, store }) => {
  let server: OwnServer;
  let canRun = false;
  beforeAll(async () => {
    canRun = isThere();
    if (canRun) server = await start();
  }, 60_000);
  afterAll(() => server?.[Symbol.asyncDispose]());

  const open = (port: number): Promise<KeyValueStore> => store(port).open(storeContext());

  test('a server that is not there does not hold the start; calls fail and name it', async ({ skip }) => {
    if (!canRun) return skip();
    const port = await freePort();
    const startedAt = performance.now();
    const opened = await open(port);
    expect(performance.now() - startedAt).toBeLessThan(4_000);
    expect(opened.failure?.message).toContain(`${technology} at 127.0.0.1:${port}`);
    await expect(opened.read(['a'])).rejects.toThrow(`${technology} at 127.0.0.1:${port}`);
    await expect(opened.write([put('a', '1')], { atomic: true })).rejects.toThrow(`127.0.0.1:${port}`);
    await opened.close();
  });

  test('a server that is killed and comes back: calls fail, then work, with all that was confirmed', async ({
    skip,
  }) => {
    if (!canRun) return skip();
    const opened = await open(server.port);
    const etag = await putOne(opened, 'kept', '1');
    await server.kill();
    await expect(putOne(opened, 'lost', '1')).rejects.toThrow(technology);
    await vi.waitFor(() => expect(opened.failure?.message).toContain(technology), { timeout: 10_000 });
    await server.restart();
    await vi.waitFor(async () => expect(await textOf(opened, 'kept')).toBe('1'), { timeout: 20_000, interval: 100 });
    expect(await etagOf(opened, 'kept')).toBe(etag);
    await vi.waitFor(() => putOne(opened, 'kept', '2'), { timeout: 10_000, interval: 100 });
    await vi.waitFor(() => expect(opened.failure).toBeUndefined(), { timeout: 10_000 });
    await opened.close();
  }, 60_000);

  test('a change whose answer is lost is an error, and is not made twice', async ({ skip }) => {
    if (!canRun) return skip();
    await using proxy = await TcpProxy.start(server.port);
    const opened = await open(proxy.port);
    const etag = await putOne(opened, 'unknown', '1');
    proxy.answersLeft = 0;
    await expect(writeOne(opened, put('unknown', '2', { etag }))).rejects.toThrow('may have been made');
    proxy.answersLeft = Number.POSITIVE_INFINITY;
    const direct = await open(server.port);
    expect(await textOf(direct, 'unknown')).toBe('2');
    const next = await etagOf(direct, 'unknown');
    await vi.waitFor(async () => expect(await textOf(opened, 'unknown')).toBe('2'), { timeout: 20_000, interval: 100 });
    expect(await etagOf(opened, 'unknown')).toBe(next);
    await Promise.all([opened.close(), direct.close()]);
  }, 60_000);
});

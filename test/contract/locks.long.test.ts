/** Locks while their server is down, and of two processes. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { redisLocks } from '../../src/components/redis/index.ts';
import { hasPostgresql, hasRedis, startPostgresql, startRedis } from '../support/servers.ts';
import { storesWorld, until } from '../support/stores-world.ts';

const LOCK = '/v1.0-alpha1/lock/locks';
const CHILD = fileURLToPath(new URL('../support/lock-child.ts', import.meta.url));

/** Runs a process that takes one lock again and again; gives how often it held the lock, and how often not alone. */
async function compete(
  kind: string,
  url: string,
  resource: string,
): Promise<{ readonly held: number; readonly overlaps: number }> {
  const child = spawn(process.execPath, ['--import', 'tsx', CHILD, kind, url, resource], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  await once(child, 'exit');
  return JSON.parse(printed) as { held: number; overlaps: number };
}

describe.skipIf(!hasRedis())('Redis', () => {
  test('a server that is down: 500, unhealthy, and all is well once it is back', async () => {
    await using own = await startRedis();
    await using world = await storesWorld({
      components: [redisLocks('locks', { url: `redis://127.0.0.1:${own.port}`, callTimeout: 1_000 })],
    });
    expect((await world.post(LOCK, { resourceId: 'r', lockOwner: 'me', expiryInSeconds: 60 })).status).toBe(200);
    await own.kill();
    expect((await world.post(LOCK, { resourceId: 'r', lockOwner: 'me', expiryInSeconds: 5 })).error).toEqual([
      500,
      'ERR_TRY_LOCK',
    ]);
    await until(
      async () => (await world.get('/v1.0/healthz')).status === 500,
      () => 'unhealthy',
    );
    await own.restart();
    await until(
      async () => (await world.get('/v1.0/healthz')).status === 204,
      () => 'healthy',
    );
    expect((await world.post(LOCK, { resourceId: 's', lockOwner: 'me', expiryInSeconds: 5 })).status).toBe(200);
  });

  test('two processes never hold one lock at the same time', async () => {
    await using server = await startRedis();
    const url = `redis://127.0.0.1:${server.port}`;
    const resource = randomUUID();
    const [one, other] = await Promise.all([compete('redis', url, resource), compete('redis', url, resource)]);
    expect([one.overlaps, other.overlaps, one.held > 0, other.held > 0]).toEqual([0, 0, true, true]);
  }, 60_000);
});

describe.skipIf(!hasPostgresql())('PostgreSQL', () => {
  test('two processes never hold one lock at the same time', async () => {
    await using server = await startPostgresql();
    const url = `postgresql://postgres@127.0.0.1:${server.port}/postgres`;
    const resource = randomUUID();
    const [one, other] = await Promise.all([
      compete('postgresql', url, resource),
      compete('postgresql', url, resource),
    ]);
    expect([one.overlaps, other.overlaps, one.held > 0, other.held > 0]).toEqual([0, 0, true, true]);
  }, 60_000);
});

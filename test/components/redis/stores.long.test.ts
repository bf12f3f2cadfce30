/** State, locks and configuration on a Redis with replicas, behind sentinels, and with TLS. */
import { createClient } from 'redis';
import { describe, expect, test, vi } from 'vitest';
import {
  type RedisConnectionOptions,
  redisConfiguration,
  redisLocks,
  redisStateStore,
} from '../../../src/components/redis/index.ts';
import type { AnyComponentDefinition } from '../../../src/kit/index.ts';
import { itemsOf, subscribe } from '../../support/configuration-table.ts';
import { redisCommand, startReplica } from '../../support/redis-groups.ts';
import { SentinelGroup } from '../../support/sentinel-group.ts';
import { hasRedis, startRedis } from '../../support/servers.ts';
import { type StoresWorld, storesWorld, until } from '../../support/stores-world.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { TlsRedis } from '../../support/tls-redis.ts';

const STATE = '/v1.0/state/store';
const PATIENCE = { timeout: 30_000, interval: 100 };

function storesOn(connection: RedisConnectionOptions): readonly AnyComponentDefinition[] {
  return [redisStateStore('store', connection), redisLocks('locks', connection), redisConfiguration('cfg', connection)];
}

async function save(world: StoresWorld, key: string, value: unknown, consistency?: string): Promise<void> {
  const { status, text } = await world.post(STATE, [{ key, value, options: { consistency } }]);
  expect([status, text]).toEqual([204, '']);
}

function untilHealth(world: StoresWorld, status: number): Promise<void> {
  return until(
    async () => (await world.get('/v1.0/healthz')).status === status,
    () => `health ${status}`,
    30_000,
  );
}

async function lock(world: StoresWorld, lockOwner: string): Promise<unknown> {
  return (await world.post('/v1.0-alpha1/lock/locks', { resourceId: 'r', lockOwner, expiryInSeconds: 600 })).json;
}

async function unlock(world: StoresWorld, lockOwner: string): Promise<unknown> {
  return (await world.post('/v1.0-alpha1/unlock/locks', { resourceId: 'r', lockOwner })).json;
}

describe.skipIf(!hasRedis())('a Redis with a replica', () => {
  /** How much later the replica gets its changes. */
  const LATE_MS = 400;

  test('a strong save resolves once the replica has it; another one does not wait', async () => {
    await using primary = await startRedis();
    await using replication = await TcpProxy.start(primary.port);
    await using replica = await startReplica(replication.port);
    await using world = await storesWorld({ components: storesOn({ url: `redis://127.0.0.1:${primary.port}` }) });
    const client = await createClient({ url: `redis://127.0.0.1:${replica.port}` }).connect();
    const atReplica = (key: string): Promise<string | null> => client.hGet(`shop||${key}`, 'data');
    await save(world, 'strong', 0, 'strong');
    replication.delayMs = LATE_MS;
    const strong = save(world, 'strong', 1, 'strong').then(() => atReplica('strong'));
    const plain = save(world, 'plain', 1).then(() => 'plain');
    expect(await Promise.race([strong, plain])).toBe('plain');
    expect(await strong).toBe('1');
    const operations = [
      { operation: 'upsert', request: { key: 'part', value: 2, options: { consistency: 'strong' } } },
    ];
    expect((await world.post(`${STATE}/transaction`, { operations })).status).toBe(204);
    expect(await atReplica('part')).toBe('2');
    expect(world.logger.at('warn')).toEqual([]);
    client.destroy();
  });

  test('a replica that does not keep up delays a strong save by a second, and is told of once', async () => {
    await using primary = await startRedis();
    await using replication = await TcpProxy.start(primary.port);
    await using _replica = await startReplica(replication.port);
    await using world = await storesWorld({ components: storesOn({ url: `redis://127.0.0.1:${primary.port}` }) });
    replication.isBlackHole = true;
    const startedAt = performance.now();
    await save(world, 'a', 1, 'strong');
    expect(performance.now() - startedAt).toBeGreaterThan(900);
    // Others do not wait with it.
    const strong = save(world, 'b', 1, 'strong').then(() => 'strong');
    const plain = save(world, 'c', 1).then(() => 'plain');
    expect(await Promise.race([strong, plain])).toBe('plain');
    await strong;
    const lagging = { replicas: 1, reached: 0, server: `Redis at 127.0.0.1:${primary.port}` };
    expect(world.logger.at('warn')).toEqual([
      { level: 'warn', message: 'writes are not on all replicas within a second', details: lagging },
    ]);
    expect((await world.get(`${STATE}/b`)).json).toBe(1);
  });
});

describe.skipIf(!hasRedis())('a Redis behind sentinels', () => {
  test('when a replica takes over, values, locks and subscriptions go on there', async () => {
    await using group = await SentinelGroup.start();
    await using world = await storesWorld({ components: storesOn(await group.connection()) });
    await untilHealth(world, 204);
    await subscribe(world, '?key=level');
    expect(await lock(world, 'me')).toEqual({ success: true });
    await save(world, 'a', 1, 'strong');
    const etag = String((await world.get(`${STATE}/a`)).headers['etag']);
    await redisCommand(group.primary.port, ['SET', 'level', '1']);
    expect(itemsOf(await world.told(1))).toEqual([{ level: { value: '1' } }]);
    await vi.waitFor(async () => expect(await redisCommand(group.replica.port, ['GET', 'level'])).toBe('1'), PATIENCE);

    await group.primary.kill();
    const failed = await world.post(STATE, [{ key: 'a', value: 2, etag }]);
    expect(failed.error).toEqual([500, 'ERR_STATE_SAVE']);
    expect(failed.text).toContain('main of the sentinels at');
    await untilHealth(world, 500);
    await group.failedOver();
    await redisCommand(group.replica.port, ['SET', 'level', '2']);
    await untilHealth(world, 204);

    expect((await world.post(STATE, [{ key: 'a', value: 3, etag }])).status).toBe(204);
    expect((await world.post(STATE, [{ key: 'a', value: 4, etag }])).error).toEqual([409, 'ERR_STATE_SAVE']);
    expect(await lock(world, 'you')).toEqual({ success: false });
    expect([await unlock(world, 'you'), await unlock(world, 'me')]).toEqual([{ status: 2 }, { status: 0 }]);
    expect(itemsOf(await world.told(2)).at(-1)).toEqual({ level: { value: '2' } });
    await redisCommand(group.replica.port, ['SET', 'level', '3']);
    expect(itemsOf(await world.told(3)).at(-1)).toEqual({ level: { value: '3' } });

    // The former primary comes back, and nothing is written there.
    await group.primary.restart();
    await save(world, 'b', 1);
    expect(await redisCommand(group.replica.port, ['HGET', 'shop||b', 'data'])).toBe('1');
  }, 90_000);
});

describe.skipIf(!hasRedis())('a Redis with TLS', () => {
  test.each([
    { rights: 'all rights', rules: ['~*', '&*', '+@all'], polls: false },
    // As on a server that somebody else operates: no CONFIG, INFO and ROLE.
    { rights: 'no dangerous commands', rules: ['~*', '&*', '+@all', '-@dangerous'], polls: true },
  ])('state, locks and configuration as a user with $rights', async ({ rules, polls }) => {
    await using server = await TlsRedis.start('state-servers.md', /ACL SETUSER app on >secret (.*)/);
    await server.setUser('user', rules);
    const url = `rediss://user:secret@127.0.0.1:${server.tlsPort}`;
    await using world = await storesWorld({ components: storesOn({ url, tls: server.certificates.trust }) });
    await save(world, 'a', 1);
    await save(world, 'a', 2, 'strong');
    expect((await world.get(`${STATE}/a`)).json).toBe(2);
    expect([await lock(world, 'me'), await lock(world, 'you')]).toEqual([{ success: true }, { success: false }]);
    expect(await unlock(world, 'me')).toEqual({ status: 0 });
    await subscribe(world, '?key=level');
    await redisCommand(server.server.port, ['SET', 'level', '1']);
    expect(itemsOf(await world.told(1))).toEqual([{ level: { value: '1' } }]);
    expect((await world.get('/v1.0/configuration/cfg')).json).toEqual({ level: { value: '1' } });
    const warnings = world.logger.at('warn').map(({ message }) => message);
    expect(warnings.some((message) => message.includes('configuration is read every second'))).toBe(polls);
    expect(JSON.stringify(world.logger.lines)).not.toContain('secret');
  });

  test('an authority that this process does not trust: the start fails, or calls do, and both say so', async () => {
    await using server = await TlsRedis.start('state-servers.md', /ACL SETUSER app on >secret (.*)/);
    const [state, ...others] = storesOn({ url: server.url });
    if (state === undefined) throw new Error('there are three');
    const untrusted = 'certificate that this process does not trust';
    await expect(storesWorld({ components: [state] })).rejects.toThrow(untrusted);
    await using world = await storesWorld({ components: others });
    const answers = [
      await world.post('/v1.0-alpha1/lock/locks', { resourceId: 'r', lockOwner: 'me', expiryInSeconds: 5 }),
      await world.get('/v1.0/configuration/cfg?key=a'),
    ];
    for (const { status, text } of answers) {
      expect([status, text]).toEqual([500, expect.stringContaining(untrusted)]);
      expect(text).not.toContain('secret');
    }
    expect((await world.get('/v1.0/healthz')).status).toBe(500);
  });
});

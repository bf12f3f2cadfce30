import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { postgresqlState } from '../../../src/components/postgresql/index.ts';
import { loadRedis } from '../../../src/components/redis/driver.ts';
import { type RedisOptions, redisState } from '../../../src/components/redis/index.ts';
import type { StateDefinition, StateStore } from '../../../src/state/store.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { hasPostgresql, hasRedis, type OwnServer, startPostgresql, startRedis } from '../../support/servers.ts';

const PATIENCE = { timeout: 20_000, interval: 50 };

/** A store, and the lines of its log about durability. */
async function opened(
  definition: StateDefinition,
): Promise<{ store: StateStore; said: readonly (readonly unknown[])[] }> {
  const logger = new RecordingLogger();
  const store = await definition.open({ clock: systemClock, logger });
  const said = logger.lines.map(({ level, details }) => [level, details['durability'], details['reason']]);
  return { store, said };
}

describe.runIf(hasPostgresql())('PostgreSQL', () => {
  const at = ({ port }: OwnServer): string => `postgresql://postgres@127.0.0.1:${port}/postgres`;

  test('with its defaults syncs each commit, and says so once', async () => {
    await using server = await startPostgresql(['synchronous_commit=off']);
    const { store, said } = await opened(postgresqlState({ url: at(server) }));
    await using _store = store;
    expect([store.durability, said]).toEqual(['synced', [['info', 'synced', 'fsync is on']]]);
  }, 60_000);

  test('without fsync is refused, unless its settings are accepted', async () => {
    await using server = await startPostgresql(['fsync=off']);
    await expect(opened(postgresqlState({ url: at(server) }))).rejects.toMatchObject({
      kind: 'failed',
      message: `A commit on PostgreSQL at 127.0.0.1:${server.port}/postgres may not be on disk when it resolves (fsync is off), and durability "synced" requires it. Change the server's settings, or accept them with durability: "server".`,
    });
    const { store, said } = await opened(postgresqlState({ url: at(server), durability: 'server' }));
    await using _store = store;
    expect([store.durability, said]).toEqual(['none', [['warn', 'none', 'fsync is off']]]);
  }, 60_000);
});

async function commandAt({ port }: OwnServer, ...args: string[]): Promise<void> {
  const { createClient } = await loadRedis();
  const client = createClient({ url: `redis://127.0.0.1:${port}` });
  await client.connect();
  await client.sendCommand(args);
  client.destroy();
}

describe.runIf(hasRedis())('Redis', () => {
  let server: OwnServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const at = (options: RedisOptions = {}): StateDefinition =>
    redisState({ url: `redis://127.0.0.1:${server.port}`, ...options });

  const command = (...args: string[]): Promise<void> => commandAt(server, ...args);

  test.each([
    ['yes', 'always', 'synced', 'info', 'appendfsync is always'],
    ['yes', 'everysec', 'second', 'warn', 'appendfsync is everysec'],
    ['yes', 'no', 'none', 'warn', 'appendfsync is no'],
    ['no', 'always', 'none', 'warn', 'appendonly is no'],
  ])('with appendonly %s and appendfsync %s is %s', async (appendOnly, sync, durability, level, reason) => {
    await command('CONFIG', 'SET', 'appendonly', appendOnly);
    await command('CONFIG', 'SET', 'appendfsync', sync);
    const { store, said } = await opened(at());
    await using _store = store;
    expect([store.durability, said]).toEqual([durability, [[level, durability, reason]]]);
    const required = opened(at({ durability: 'synced' }));
    if (durability === 'synced') await (await required).store.close();
    else await expect(required).rejects.toMatchObject({ kind: 'failed', message: expect.stringContaining(reason) });
  });

  test('that does not let its settings be read is unknown', async () => {
    await command('CONFIG', 'SET', 'appendonly', 'yes');
    await command('ACL', 'SETUSER', 'app', 'on', '>x', '~*', '&*', '+@all', '-config');
    const asApp = { username: 'app', password: 'x' };
    const { store, said } = await opened(at(asApp));
    await using _store = store;
    const reason = 'CONFIG GET appendfsync is not allowed';
    expect([store.durability, said]).toEqual(['unknown', [['warn', 'unknown', reason]]]);
    await expect(opened(at({ ...asApp, durability: 'synced' }))).rejects.toThrow(reason);
  });

  test('that does not sync while it rewrites its log counts as none', async () => {
    const reason = 'no-appendfsync-on-rewrite is yes';
    await command('CONFIG', 'SET', 'appendonly', 'yes');
    await command('CONFIG', 'SET', 'appendfsync', 'always');
    await command('CONFIG', 'SET', 'no-appendfsync-on-rewrite', 'yes');
    try {
      const { store, said } = await opened(at());
      await using _store = store;
      expect([store.durability, said]).toEqual(['none', [['warn', 'none', reason]]]);
      await expect(opened(at({ durability: 'synced' }))).rejects.toThrow(reason);
    } finally {
      await command('CONFIG', 'SET', 'no-appendfsync-on-rewrite', 'no');
    }
  });

  test('that comes up after the start and is too weak keeps the store from working until it is changed', async () => {
    await using late = await startRedis(['--appendfsync', 'everysec']);
    const url = `redis://127.0.0.1:${late.port}`;
    await late.kill();
    const { store } = await opened(redisState({ url, durability: 'synced' }));
    await using _store = store;
    expect([store.durability, store.failure]).toEqual(['unknown', expect.anything()]);
    await late.restart();
    const read = async (): Promise<string> =>
      store.get('key').then(
        () => 'read',
        (error: Error) => error.message,
      );
    await expect.poll(read, PATIENCE).toContain('appendfsync is everysec');
    expect(store.failure?.message).toContain('appendfsync is everysec');
    await commandAt(late, 'CONFIG', 'SET', 'appendfsync', 'always');
    await expect.poll(read, PATIENCE).toBe('read');
    await store.commit({ put: [{ key: 'key', value: Buffer.from('x') }] });
    expect([store.durability, store.failure]).toEqual(['synced', undefined]);
  }, 60_000);
});

test.each([
  () => postgresqlState({ url: 'postgresql://db', durability: 'none' as 'server' }),
  () => redisState({ url: 'redis://db', durability: 'none' as 'server' }),
])('durability is "synced" or "server"', (make) => {
  expect(make).toThrow(
    /^durability in options of (postgresqlState|redisState) is "none": expected one of synced, server$/,
  );
});

/** Keys of a store on Redis over the management API. The server cannot list them in their order. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RedisArgument } from '../../src/components/redis/driver.ts';
import { redisStateStore } from '../../src/components/redis/index.ts';
import type { StateKeysReply, StateValueReply } from '../../src/inspector/api/stores.ts';
import type { KeyValueDefinition } from '../../src/kit/index.ts';
import { redisCommand } from '../support/redis-groups.ts';
import { hasRedis, type OwnServer, startRedis } from '../support/servers.ts';
import { type Inspected, inspected } from './inspected.ts';

describe.runIf(hasRedis())('keys in Redis', () => {
  let server: OwnServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server[Symbol.asyncDispose]());
  beforeEach(async () => {
    await redisCommand(server.port, ['FLUSHALL']);
  });

  const command = (...args: readonly RedisArgument[]): Promise<unknown> => redisCommand(server.port, args);
  const store = (name: string, keyPrefix: string, more: object = {}): KeyValueDefinition =>
    redisStateStore(name, { url: `redis://127.0.0.1:${server.port}`, keyPrefix, ...more });
  const newPrefix = (): string => `p-${randomUUID().slice(0, 8)}`;

  async function pageOf(it: Inspected, parameters: Readonly<Record<string, string>>): Promise<StateKeysReply> {
    const { status, json, text } = await it.get(`stores/keys?${new URLSearchParams({ store: 'kv', ...parameters })}`);
    if (status !== 200) throw new Error(text);
    return json as unknown as StateKeysReply;
  }

  async function pagesOf(
    it: Inspected,
    parameters: Readonly<Record<string, string>> = {},
  ): Promise<readonly (readonly string[])[]> {
    const pages: (readonly string[])[] = [];
    for (let cursor: string | undefined; ; ) {
      const page: StateKeysReply = await pageOf(it, { ...parameters, ...(cursor === undefined ? {} : { cursor }) });
      pages.push(page.keys.map(({ key }) => key));
      if (page.cursor === undefined) return pages;
      cursor = page.cursor;
    }
  }

  test('all of them are found among very many of others, in bounded pages, and never by KEYS', async () => {
    const prefix = newPrefix();
    const it = await inspected({ components: [store('kv', prefix), store('others', newPrefix())] });
    const names = Array.from({ length: 3_000 }, (_, at) => `key-${at}`);
    const saved = (key: string) => ({ operation: 'upsert', key, value: 1 }) as const;
    await it.sidecar.state.transact('kv', names.map(saved));
    for (const part of ['a', 'b', 'c', 'd'])
      await it.sidecar.state.transact(
        'others',
        Array.from({ length: 10_000 }, (_, at) => saved(`${part}${at}`)),
      );
    expect((await it.get('stores')).json).toMatchObject({ stores: [{ name: 'kv', isListed: true }, {}] });
    const pages = await pagesOf(it);
    // A page looks at 10,000 keys at most.
    expect(pages.length).toBeGreaterThan(4);
    expect(Math.max(...pages.map(({ length }) => length))).toBeLessThan(500);
    expect([...new Set(pages.flat())].sort()).toEqual([...names].sort());
    expect((await pagesOf(it, { prefix: 'key-299' })).flat().sort()).toEqual(
      names.filter((name) => name.startsWith('key-299')).sort(),
    );
    expect(await command('INFO', 'commandstats')).not.toContain('cmdstat_keys:');
  }, 60_000);

  test('any key that a request can have is found, and a prefix is no pattern', async () => {
    const it = await inspected({ components: [store('kv', `${newPrefix()}-*[a]?`)] });
    const odd = ['__proto__', 'constructor', 'a*', 'a[b]', 'a?', 'a\\', 'a^-', 'a/b', '../x', ' ', '%2F', 'ü€𝄞', 'a|'];
    for (const key of odd) await it.sidecar.state.set('kv', key, { key });
    expect((await pagesOf(it)).flat()).toEqual([...odd].sort());
    for (const key of odd) {
      expect((await pagesOf(it, { prefix: key })).flat()).toEqual([key]);
      const { json } = await it.get(`stores/keys/one?${new URLSearchParams({ store: 'kv', key })}`);
      expect((json as unknown as StateValueReply).value.value).toBe(JSON.stringify({ key }));
    }
  });

  test('each has its size, its ETag and its expiry, and its value is not in the list', async () => {
    const it = await inspected({ components: [store('kv', newPrefix())] });
    const { etag } = await it.sidecar.state.set('kv', 'a', 'seen nowhere');
    await it.sidecar.state.set('kv', 'b', 1, { ttl: '1h' });
    const { text } = await it.get('stores/keys?store=kv');
    expect(text).not.toContain('seen nowhere');
    const { keys } = await pageOf(it, {});
    expect(keys[0]).toEqual({ key: 'a', bytes: 14, etag });
    const read = await it.sidecar.state.get('kv', 'b');
    expect(keys[1]).toMatchObject({ key: 'b', bytes: 1, etag: read?.etag });
    expect(Math.abs((keys[1]?.expiresAt ?? 0) - (read?.expiresAt ?? 0))).toBeLessThan(50);
  });

  test('what no request can name, and what no state store has written, is left out', async () => {
    const it = await inspected({ components: [store('kv', 'none')] });
    await command('SET', 'text', 'not JSON');
    await command('HSET', 'dapr', 'data', '1', 'version', '1');
    await command('HSET', 'app||other', 'data', '1', 'version', '1');
    await command('HSET', 'x'.repeat(513), 'data', '1', 'version', '1');
    await command('HSET', '', 'data', '1', 'version', '1');
    await command('HSET', Buffer.from([0xff, 0x61]), 'data', '1', 'version', '1');
    await command('HSET', 'hash', 'other', '1');
    await command('HSET', 'half', 'version', '1');
    await command('RPUSH', 'list', '1');
    await command('XADD', 'stream', '*', 'a', 'b');
    expect(await pageOf(it, {})).toEqual({
      keys: [
        { key: 'dapr', bytes: 1, etag: '1' },
        { key: 'text', bytes: 8 },
      ],
    });
  });

  test.each(['x', '0', '0:', '-1:0', '0:123456789012345678901', '__proto__', "0:0'"])(
    'a cursor that it has not given is refused: %s',
    async (cursor) => {
      const it = await inspected({ components: [store('kv', newPrefix())] });
      const answer = await it.get(`stores/keys?${new URLSearchParams({ store: 'kv', cursor })}`);
      expect(answer.error).toEqual([400, 'ERR_BAD_REQUEST']);
      expect(answer.text).toContain(`cursor is ${JSON.stringify(JSON.stringify(cursor)).slice(1, -1)}`);
    },
  );

  test('a user who may not scan is told so, and can still look at a key', async () => {
    await command('ACL', 'SETUSER', 'noscan', 'on', '>pw', '~*', '&*', '+@all', '-scan');
    const it = await inspected({ components: [store('kv', newPrefix(), { username: 'noscan', password: 'pw' })] });
    await it.sidecar.state.set('kv', 'a', 1);
    const answer = await it.get('stores/keys?store=kv');
    expect(answer.error).toEqual([500, 'ERR_STATE_GET']);
    expect((await it.get('stores/keys/one?store=kv&key=a')).status).toBe(200);
  });
});

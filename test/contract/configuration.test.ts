import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { postgresqlConfiguration } from '../../src/components/postgresql/index.ts';
import { redisConfiguration } from '../../src/components/redis/index.ts';
import { type ConfigurationItem, fileConfiguration, memoryConfiguration, Sidecar } from '../../src/index.ts';
import type { AnyComponentDefinition, ConfigurationStoreDefinition } from '../../src/kit/index.ts';
import { itemsOf, subscribe, TABLE } from '../support/configuration-table.ts';
import { connectPg, type TestPg } from '../support/pg-client.ts';
import { hasPostgresql, hasRedis, type OwnServer, startPostgresql, startRedis } from '../support/servers.ts';
import { type StoresWorld, storesWorld, until, WIRES } from '../support/stores-world.ts';

/** Sets and removes keys as another program does. */
interface Writer extends AsyncDisposable {
  readonly definition: ConfigurationStoreDefinition;
  set(key: string, item: ConfigurationItem): Promise<void>;
  remove(key: string): Promise<void>;
}

let postgresql: OwnServer | undefined;
let redis: OwnServer | undefined;

beforeAll(async () => {
  [postgresql, redis] = await Promise.all([
    hasPostgresql() ? startPostgresql() : undefined,
    hasRedis() ? startRedis() : undefined,
  ]);
}, 60_000);

afterAll(async () => {
  await postgresql?.[Symbol.asyncDispose]();
  await redis?.[Symbol.asyncDispose]();
});

const redisUrl = (): string => `redis://127.0.0.1:${redis?.port ?? 0}`;
const pgUrl = (): string => `postgresql://postgres@127.0.0.1:${postgresql?.port ?? 0}/postgres`;

let tables = 0;

const WRITERS: Readonly<Record<string, () => Promise<Writer | undefined>>> = {
  memory: async () => {
    const definition = memoryConfiguration('cfg');
    return {
      definition,
      set: async (key, item) => definition.set(key, item),
      remove: async (key) => void definition.delete(key),
      [Symbol.asyncDispose]: async () => undefined,
    };
  },
  file: async () => {
    const directory = await mkdtemp(join(tmpdir(), 'insidecar-cfg-'));
    const path = join(directory, 'cfg.json');
    const items = new Map<string, ConfigurationItem>();
    const write = async (): Promise<void> => {
      await writeFile(`${path}.new`, JSON.stringify(Object.fromEntries(items)));
      await rename(`${path}.new`, path);
    };
    await write();
    return {
      definition: fileConfiguration('cfg', { path }),
      set: (key, item) => write.call(items.set(key, item)),
      remove: (key) => write.call(items.delete(key)),
      [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
    };
  },
  redis: async () => {
    if (redis === undefined) return undefined;
    const client = await createClient({ url: `${redisUrl()}/3` }).connect();
    await client.flushDb();
    return {
      definition: redisConfiguration('cfg', { url: redisUrl(), database: 3 }),
      set: async (key, { value, version }) =>
        void (await client.set(key, version === undefined ? value : `${value}||${version}`)),
      remove: async (key) => void (await client.del(key)),
      [Symbol.asyncDispose]: async () => client.destroy(),
    };
  },
  postgresql: async () => {
    if (postgresql === undefined) return undefined;
    const client = await connectPg(pgUrl());
    const table = `cfg_${++tables}`;
    await client.query(TABLE(table));
    return {
      definition: postgresqlConfiguration('cfg', { url: pgUrl(), table, notifyChannel: table }),
      set: async (key, { value, version = '1', metadata }) => {
        await client.query('BEGIN');
        await client.query(`DELETE FROM ${table} WHERE key = $1`, [key]);
        await client.query(`INSERT INTO ${table} VALUES ($1, $2, $3, $4)`, [key, value, version, metadata ?? null]);
        await client.query('COMMIT');
      },
      remove: async (key) => void (await client.query(`DELETE FROM ${table} WHERE key = $1`, [key])),
      [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
    };
  },
};

describe.each(Object.entries(WRITERS))('configuration: %s', (kind, makeWriter) => {
  test('get: those that exist, with version', async ({ skip }) => {
    const made = await makeWriter();
    if (made === undefined) return skip();
    await using writer = made;
    await writer.set('a', { value: 'x', version: '3' });
    await writer.set('b/c d', { value: 'y', version: '1' });
    await using world = await storesWorld({ components: [writer.definition] });
    const a = { value: 'x', version: '3' };
    const b = { value: 'y', version: '1' };
    expect((await world.get('/v1.0/configuration/cfg?key=a')).json).toEqual({ a });
    expect((await world.get('/v1.0/configuration/cfg?key=a&key=none&key=b%2Fc%20d&key=a')).json).toEqual({
      a,
      'b/c d': b,
    });
    expect((await world.get('/v1.0/configuration/cfg')).json).toEqual({ a, 'b/c d': b });
    for (const query of ['key=none&key=constructor', 'key=', 'key=%00']) {
      const none = await world.get(`/v1.0/configuration/cfg?${query}`);
      expect([none.status, none.text]).toEqual([204, '']);
    }
    expect(await world.sidecar.configuration.get('cfg', ['a', 'none'])).toEqual({ a });
  });

  test('changes of keys are told, and removals', async ({ skip }) => {
    const made = await makeWriter();
    if (made === undefined) return skip();
    await using writer = made;
    await writer.set('a', { value: '1', version: '1' });
    await writer.set('other', { value: '1', version: '1' });
    await using world = await storesWorld({ components: [writer.definition] });
    const id = await subscribe(world, '?key=a&key=b%2F..%2F%3Fc');
    await writer.set('other', { value: '2', version: '2' });
    await writer.set('a', { value: '2', version: '2' });
    await world.told(1);
    await writer.set('b/../?c', { value: 'new', version: '1' });
    await world.told(2);
    await writer.remove('a');
    const changes = await world.told(3);
    expect(changes).toEqual([
      {
        path: '/configuration/cfg/a',
        contentType: 'application/json',
        body: { id, items: { a: { value: '2', version: '2' } } },
      },
      {
        path: '/configuration/cfg/b%2F..%2F%3Fc',
        contentType: 'application/json',
        body: { id, items: { 'b/../?c': { value: 'new', version: '1' } } },
      },
      { path: '/configuration/cfg/a', contentType: 'application/json', body: { id, items: { a: {} } } },
    ]);
  });

  test('a subscription without keys is told of all; each subscription separately; none after its end', async ({
    skip,
  }) => {
    const made = await makeWriter();
    if (made === undefined) return skip();
    await using writer = made;
    await using world = await storesWorld({ components: [writer.definition] });
    const [all, one] = [await subscribe(world), await subscribe(world, '?key=a')];
    await writer.set('a', { value: '1', version: '1' });
    const changes = await world.told(2);
    expect(changes.map(({ body }) => body.id).sort()).toEqual([all, one].sort());
    const ended = await world.get(`/v1.0/configuration/cfg/${one}/unsubscribe`);
    expect([ended.status, ended.json]).toEqual([200, { ok: true }]);
    const again = await world.get(`/v1.0/configuration/cfg/${one}/unsubscribe`);
    expect([again.status, again.json]).toEqual([500, { ok: false, message: expect.stringContaining(one) }]);
    await writer.set('a', { value: '2', version: '2' });
    await writer.set('b', { value: '3', version: '1' });
    await until(
      () => world.changes.some(({ path }) => path.endsWith('/b')),
      () => 'b',
    );
    expect(world.changes.slice(2).every(({ body }) => body.id === all)).toBe(true);
  });

  test('while the application is busy with a key, its changes become one, and other keys go on', async ({ skip }) => {
    const made = await makeWriter();
    if (made === undefined) return skip();
    await using writer = made;
    await using world = await storesWorld({ components: [writer.definition] });
    await subscribe(world);
    let release = (): void => undefined;
    const busy = new Promise<void>((resolve) => {
      release = resolve;
    });
    world.app.answer = async ({ path }) => {
      if (path.endsWith('/a')) await busy;
      return 200;
    };
    await writer.set('a', { value: '1', version: '1' });
    await world.told(1);
    for (const value of ['2', '3', '4']) await writer.set('a', { value, version: value });
    await writer.set('b', { value: '1', version: '1' });
    await world.told(2);
    expect(world.changes.at(-1)?.path).toBe('/configuration/cfg/b');
    // The file is looked at from time to time.
    if (kind === 'file')
      await until(
        async () => (await world.sidecar.configuration.get('cfg', ['a']))['a']?.value === '4',
        () => '4',
      );
    release();
    await until(
      () => JSON.stringify(itemsOf(world.changes)).includes('"4"'),
      () => 'the last value',
    );
    const values = world.changes
      .filter(({ path }) => path.endsWith('/a'))
      .map(({ body }) => (body.items['a'] as ConfigurationItem).value);
    expect(values[0]).toBe('1');
    expect(values.at(-1)).toBe('4');
    expect(values.length).toBeLessThan(4);
    expect([...values].sort()).toEqual(values);
  });
});

describe.each(WIRES)('the API of configuration on the wire %s', (wire) => {
  const settings = (): ReturnType<typeof memoryConfiguration> =>
    memoryConfiguration('cfg', {
      items: { a: '1', b: { value: '2', version: 'v', metadata: { m: 'n' } }, ['__proto__']: 'p' },
    });
  const worldOf = (components: readonly AnyComponentDefinition[], hasApp = true): Promise<StoresWorld> =>
    storesWorld({ components, wire, hasApp });

  test.each(['v1.0', 'v1.0-alpha1'])('%s: get, subscribe, unsubscribe', async (version) => {
    const store = settings();
    await using world = await worldOf([store]);
    expect((await world.get(`/${version}/configuration/cfg?key=a&key=b`)).json).toEqual({
      a: { value: '1' },
      b: { value: '2', version: 'v', metadata: { m: 'n' } },
    });
    const { json } = await world.get(`/${version}/configuration/cfg/subscribe?key=a`);
    store.set('a', '5');
    await world.told(1);
    expect((await world.get(`/${version}/configuration/cfg/${String(json['id'])}/unsubscribe`)).json).toEqual({
      ok: true,
    });
  });

  test('a key __proto__ is a key', async () => {
    const store = settings();
    await using world = await worldOf([store]);
    expect((await world.get('/v1.0/configuration/cfg?key=__proto__')).text).toBe('{"__proto__":{"value":"p"}}');
    await subscribe(world, '?key=__proto__');
    store.delete('__proto__');
    expect(JSON.stringify((await world.told(1))[0]?.body.items)).toBe('{"__proto__":{}}');
  });

  test('errors', async () => {
    const fails = (): Promise<never> => Promise.reject(new Error('down'));
    const broken: ConfigurationStoreDefinition = {
      ...settings(),
      name: 'broken',
      open: async () => ({ get: fails, watch: fails, close: async () => undefined }),
    };
    await using none = await worldOf([]);
    await using without = await worldOf([settings()], false);
    await using world = await worldOf([settings(), broken, { ...settings(), name: 'theirs', scopes: ['other'] }]);
    for (const path of ['x', 'x/subscribe', 'x/1/unsubscribe'])
      expect((await none.get(`/v1.0/configuration/${path}`)).error).toEqual([
        500,
        'ERR_CONFIGURATION_STORE_NOT_CONFIGURED',
      ]);
    for (const path of ['x', 'theirs', 'x/subscribe', 'x/1/unsubscribe'])
      expect((await world.get(`/v1.0/configuration/${path}`)).error).toEqual([
        400,
        'ERR_CONFIGURATION_STORE_NOT_FOUND',
      ]);
    expect((await world.get('/v1.0/configuration/broken')).error).toEqual([500, 'ERR_CONFIGURATION_GET']);
    expect((await world.get('/v1.0/configuration/broken/subscribe')).error).toEqual([
      500,
      'ERR_CONFIGURATION_SUBSCRIBE',
    ]);
    expect((await without.get('/v1.0/configuration/cfg/subscribe')).error).toEqual([500, 'ERR_APP_CHANNEL_NIL']);
    expect((await without.get('/v1.0/configuration/cfg?key=a')).status).toBe(200);
    expect((await world.post('/v1.0/configuration/cfg', {})).status).toBe(405);
  });

  test('1,000 subscriptions', async () => {
    await using world = await worldOf([settings()]);
    for (let count = 0; count < 1_000; count++) await subscribe(world, '?key=a');
    expect((await world.get('/v1.0/configuration/cfg/subscribe')).error).toEqual([500, 'ERR_CONFIGURATION_SUBSCRIBE']);
  }, 60_000);

  test('what the application refuses is logged without its value, and the subscription goes on', async () => {
    const store = settings();
    await using world = await worldOf([store]);
    await subscribe(world, '?key=a');
    world.app.answer = () => 500;
    store.set('a', 'hunter2');
    await world.told(1);
    await until(
      () => world.logger.at('warn').length > 0,
      () => 'a warning',
    );
    expect(world.logger.at('warn')).toEqual([
      expect.objectContaining({ details: { store: 'cfg', key: 'a', subscription: expect.any(String), status: 500 } }),
    ]);
    world.app.answer = () => 204;
    store.set('a', '6');
    await world.told(2);
    expect(JSON.stringify(world.logger.lines)).not.toContain('hunter2');
  });
});

describe('policies', () => {
  test('inbound: a change that is refused is told again', async () => {
    const store = memoryConfiguration('cfg');
    await using world = await storesWorld({
      components: [store],
      resiliency: {
        policies: { retries: { often: { policy: 'constant', duration: '1s', maxRetries: 5 } } },
        targets: { components: { cfg: { inbound: { retry: 'often' } } } },
      },
    });
    let calls = 0;
    world.app.answer = () => (++calls < 3 ? 503 : 200);
    await subscribe(world, '?key=a');
    store.set('a', '1');
    await world.told(1);
    await world.pass('5s');
    expect(itemsOf(world.changes)).toEqual(Array.from({ length: 3 }, () => ({ a: { value: '1' } })));
  });
});

describe('watch', () => {
  test('yields changes, with the present values first if wanted, until the signal fires', async () => {
    const store = memoryConfiguration('cfg', { items: { a: '1' } });
    await using world = await storesWorld({ components: [store], hasApp: false });
    const stop = new AbortController();
    const seen: unknown[] = [];
    const watching = (async () => {
      for await (const change of world.sidecar.configuration.watch('cfg', ['a', 'b'], {
        initial: true,
        signal: stop.signal,
      }))
        seen.push(change);
    })();
    await until(
      () => seen.length === 1,
      () => 'the present value',
    );
    store.set('b', { value: '2', version: '7' });
    await until(
      () => seen.length === 2,
      () => 'b',
    );
    store.delete('a');
    store.set('c', 'not asked for');
    await until(
      () => seen.length === 3,
      () => 'the removal',
    );
    stop.abort(new Error('enough'));
    await expect(watching).rejects.toThrow('enough');
    expect(seen).toEqual([
      { key: 'a', value: '1' },
      { key: 'b', value: '2', version: '7' },
      { key: 'a', value: undefined },
    ]);
  });

  test('ends with the loop, and with the sidecar', async () => {
    const store = memoryConfiguration('cfg');
    await using world = await storesWorld({ components: [store], hasApp: false });
    const { configuration } = world.sidecar;
    setTimeout(() => store.set('a', '1'), 20);
    for await (const change of configuration.watch('cfg')) {
      expect(change).toEqual({ key: 'a', value: '1' });
      break;
    }
    const endless = (async () => {
      for await (const _change of configuration.watch('cfg')) throw new Error('nothing changes');
    })();
    await new Promise((resolve) => setImmediate(resolve));
    await world.stop();
    await endless;
  });

  test('ends when it is told to return, also while it waits for a change', async () => {
    await using world = await storesWorld({ components: [memoryConfiguration('cfg')], hasApp: false });
    const changes = world.sidecar.configuration.watch('cfg');
    const waiting = changes.next();
    await new Promise((resolve) => setImmediate(resolve));
    expect(await changes.return()).toEqual({ done: true, value: undefined });
    expect(await waiting).toEqual({ done: true, value: undefined });
  });

  test('ends by a signal that fires while the store is asked', async () => {
    const slow = memoryConfiguration('cfg');
    const stop = new AbortController();
    const open: typeof slow.open = async (context) => {
      const store = await slow.open(context);
      const watch: typeof store.watch = (...asked) => {
        stop.abort(new Error('enough'));
        return store.watch(...asked);
      };
      return { get: (...asked) => store.get(...asked), watch, close: () => store.close() };
    };
    await using world = await storesWorld({ components: [{ ...slow, open }], hasApp: false });
    const changes = world.sidecar.configuration.watch('cfg', [], { signal: stop.signal });
    await expect(changes.next()).rejects.toThrow('enough');
  });

  test('changes become one while the loop is busy', async () => {
    const store = memoryConfiguration('cfg');
    await using world = await storesWorld({ components: [store], hasApp: false });
    const values: unknown[] = [];
    setTimeout(() => store.set('a', '1'), 20);
    for await (const { value } of world.sidecar.configuration.watch('cfg', ['a'])) {
      values.push(value);
      if (value === '4') break;
      for (const next of ['2', '3', '4']) store.set('a', next);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(values).toEqual(['1', '4']);
  });
});

describe('a file', () => {
  test('that cannot be used is logged, and the last good content stays', async () => {
    const path = join(await mkdtemp(join(tmpdir(), 'insidecar-cfg-')), 'cfg.json');
    await writeFile(path, '{"a":"1"}');
    await using world = await storesWorld({ components: [fileConfiguration('cfg', { path })] });
    await subscribe(world);
    await writeFile(path, '{"a":"hunter2"');
    await until(
      () => world.logger.at('error').length === 1,
      () => 'an error',
    );
    await rm(path);
    await until(
      () => world.logger.at('error').length === 2,
      () => 'another error',
    );
    expect(await world.sidecar.configuration.get('cfg')).toEqual({ a: { value: '1' } });
    await writeFile(path, '{"a":{"value":"2","version":"9"}}');
    expect(itemsOf(await world.told(1))).toEqual([{ a: { value: '2', version: '9' } }]);
    expect(JSON.stringify(world.logger.lines)).not.toContain('hunter2');
  });

  test.each([
    ['[]', 'its content is an array'],
    ['{"a":1}', '"a" in its content is a number'],
    ['{"a":{"value":1}}', 'value of "a" in its content is a number'],
    ['{"a":{"valeu":"1"}}', 'unknown field "valeu"'],
    ['{"a":{"value":"1","metadata":{"b":2}}}', 'is a number: expected a text'],
    ['{', 'it is not JSON'],
  ])('%s stops the start', async (content, problem) => {
    const path = join(await mkdtemp(join(tmpdir(), 'insidecar-cfg-')), 'cfg.json');
    await writeFile(path, content);
    await expect(new Sidecar({ appId: 'a', components: [fileConfiguration('c', { path })] }).start()).rejects.toThrow(
      problem,
    );
  });
});

describe('Redis', () => {
  test('keys of other types and empty values are left out; a value may have no version', async ({ skip }) => {
    if (redis === undefined) return skip();
    const client = await createClient({ url: `${redisUrl()}/4` }).connect();
    await client.flushDb();
    await client.set('a', 'x');
    await client.set('empty', '');
    await client.lPush('list', 'x');
    await client.hSet('hash', 'x', 'y');
    await using world = await storesWorld({ components: [redisConfiguration('cfg', { url: `${redisUrl()}/4` })] });
    for (const query of ['', '?key=a&key=empty&key=list&key=hash'])
      expect((await world.get(`/v1.0/configuration/cfg${query}`)).json).toEqual({ a: { value: 'x' } });
    client.destroy();
  });

  test('flags of events that others have set stay', async ({ skip }) => {
    if (redis === undefined) return skip();
    const client = await createClient({ url: redisUrl() }).connect();
    await client.configSet('notify-keyspace-events', 'El');
    await using world = await storesWorld({ components: [redisConfiguration('cfg', { url: redisUrl() })] });
    await subscribe(world, '?key=a');
    const { 'notify-keyspace-events': flags = '' } = await client.configGet('notify-keyspace-events');
    expect([...flags].sort().join('')).toBe([...'Kg$xeEl'].sort().join(''));
    client.destroy();
  });

  test('a cluster is refused', () => {
    expect(() => redisConfiguration('c', { nodes: ['a:1'], cluster: true })).toThrow('cannot use a cluster');
  });
});

describe('PostgreSQL', () => {
  const inTable = async (rows: string): Promise<{ readonly table: string; readonly client: TestPg }> => {
    const client = await connectPg(pgUrl());
    const table = `own_${++tables}`;
    await client.query(TABLE(table));
    await client.query(`INSERT INTO ${table} VALUES ${rows}`);
    return { table, client };
  };

  test('of several rows of a key, the greatest numeric version counts', async ({ skip }) => {
    if (postgresql === undefined) return skip();
    const { table, client } = await inTable(
      `('k','nine','9',NULL), ('k','ten','10','{"a":"b","n":1}'), ('k','none','x',NULL), ('it''s','q','1','[1]')`,
    );
    const connection = { host: '127.0.0.1', port: postgresql.port, user: 'postgres', database: 'postgres' };
    await using world = await storesWorld({
      components: [postgresqlConfiguration('cfg', { url: connection, table: `PUBLIC.${table}` })],
    });
    expect((await world.get(`/v1.0/configuration/cfg?key=k&key=it's`)).json).toEqual({
      k: { value: 'ten', version: '10', metadata: { a: 'b', n: '1' } },
      "it's": { value: 'q', version: '1' },
    });
    await client[Symbol.asyncDispose]();
  });

  test('the channel is that of the request, else that of the component; without one: 500', async ({ skip }) => {
    if (postgresql === undefined) return skip();
    const { table, client } = await inTable(`('k','1','1',NULL)`);
    await using world = await storesWorld({
      components: [postgresqlConfiguration('cfg', { url: pgUrl(), table })],
    });
    expect((await world.get('/v1.0/configuration/cfg/subscribe')).error).toEqual([500, 'ERR_CONFIGURATION_SUBSCRIBE']);
    const long = 'x'.repeat(64);
    expect((await world.get(`/v1.0/configuration/cfg/subscribe?metadata.pgNotifyChannel=${long}`)).status).toBe(500);
    await subscribe(world, `?key=k&metadata.pgNotifyChannel=${table}`);
    for (const payload of ['', 'x', 'null', '[]', '{"data":{"key":5}}', `{"table":"other","data":{"key":"k"}}`])
      await client.query('SELECT pg_notify($1, $2)', [table, payload]);
    await client.query(`UPDATE ${table} SET value = '2'`);
    expect(itemsOf(await world.told(1))).toEqual([{ k: { value: '2', version: '1' } }]);
    await client[Symbol.asyncDispose]();
  });

  test.each(['', 'a b', 'a;b', 'a.b.c', '"a"', 'a".b', `${'x'.repeat(64)}`])('the table %j is refused', (table) => {
    expect(() => postgresqlConfiguration('c', { url: 'postgresql://a/b', table })).toThrow('table');
  });
});

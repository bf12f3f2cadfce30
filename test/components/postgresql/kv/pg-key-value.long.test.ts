import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KeyValueStore } from '../../../../src/components/key-value.ts';
import { loadPg, type PgRow } from '../../../../src/components/postgresql/driver.ts';
import { type PostgresqlStateStoreOptions, postgresqlStateStore } from '../../../../src/components/postgresql/index.ts';
import { keyValueConformance } from '../../../../src/kit/key-value-conformance.ts';
import { freePort } from '../../../support/http.ts';
import { bytesOf, etagOf, keyValueCases, put, putOne, textOf, writeOne } from '../../../support/key-value-cases.ts';
import { relayCases } from '../../../support/relay-cases.ts';
import { storeContext } from '../../../support/store-context.ts';
import { hasSharedPostgresql, sharedPostgresql } from '../given-postgresql.ts';

test('the error of a write that was never sent does not say that it may have been made', async () => {
  const url = { host: '127.0.0.1', port: await freePort(), user: 'postgres', database: 'nowhere' };
  const definition = postgresqlStateStore('store', { url, version: 'v2', callTimeout: '300ms' });
  const store = await definition.open(storeContext('orders'));
  const writes = Array.from({ length: 8 }, (_, index) => putOne(store, `k${index}`, '1').catch(String));
  for (const error of await Promise.all(writes))
    expect(error).toMatch(/^StateError: PostgreSQL at 127\.0\.0\.1:\d+\/nowhere cannot be reached: [^;]*$/);
  await store.close();
});

describe.runIf(hasSharedPostgresql())("values in PostgreSQL in Dapr's format", () => {
  let server: Awaited<ReturnType<typeof sharedPostgresql>>;
  /** Of all tests of this file. */
  let schema: string;
  const app = 'orders';
  const key = (name: string): string => `${app}||${name}-${randomUUID().slice(0, 8)}`;
  const sql = (text: string): Promise<readonly PgRow[]> => server.sql(text);

  beforeAll(async () => {
    server = await sharedPostgresql();
    schema = server.newPlace().replaceAll('-', '_');
    await sql(`CREATE SCHEMA ${schema}`);
  }, 60_000);
  afterAll(async () => {
    await sql(`DROP SCHEMA ${schema} CASCADE`);
    await server[Symbol.asyncDispose]();
  }, 60_000);

  const open = (version: 'v1' | 'v2', more: Partial<PostgresqlStateStoreOptions> = {}): Promise<KeyValueStore> => {
    const place = version === 'v1' ? { tableName: `${schema}.state_one` } : { tablePrefix: `${schema}.two_` };
    const options = { url: server.connection, version, metadataTableName: `${schema}.meta`, ...place, ...more };
    return postgresqlStateStore('store', options).open(storeContext(app));
  };
  const list = async (store: KeyValueStore, prefix: string, after?: string): Promise<readonly string[]> =>
    ((await store.list?.(prefix, { limit: 3, ...(after === undefined ? {} : { after }) })) ?? []).map((one) => one.key);

  describe.each(['v1', 'v2'] as const)('%s', (version) => {
    keyValueCases({ open: () => open(version), key });
    relayCases(async () => {
      const place = `${schema}.relay_${randomUUID().replaceAll('-', '')}_`;
      const tables = version === 'v1' ? { tableName: `${place}state` } : { tablePrefix: place };
      const more = { ...tables, metadataTableName: `${place}meta` };
      return [await open(version, more), await open(version, more)];
    });

    for (const { name, run } of keyValueConformance)
      test(name, () => {
        const place = `${schema}.case_${randomUUID().replaceAll('-', '')}_`;
        const more = version === 'v1' ? { tableName: `${place}state` } : { tablePrefix: place };
        return run({ open: () => open(version, { ...more, metadataTableName: `${place}meta` }), pass: pause });
      });

    test('lists keys that begin with a text, page by page, without expired ones', async () => {
      const store = await open(version);
      const prefix = `${key('list')}||`;
      for (const name of ['b', 'B', 'a%', 'ä', '_', 'a']) await putOne(store, `${prefix}${name}`, '1');
      await putOne(store, `${prefix}gone`, '1', 1);
      await putOne(store, `${prefix.slice(0, -1)}`, '1');
      const first = await list(store, prefix);
      expect(first).toEqual(['B', '_', 'a'].map((name) => `${prefix}${name}`));
      expect(await list(store, prefix, first.at(-1))).toEqual(['a%', 'b', 'ä'].map((name) => `${prefix}${name}`));
      expect(await list(store, prefix, `${prefix}ä`)).toEqual([]);
      expect((await list(store, '')).length).toBe(3);
      await store.close();
    });

    test('answers saves without conditions in their order, each with the ETag of its key', async () => {
      const store = await open(version);
      const names = ['z', 'a', 'm'].map(key);
      for (const atomic of [true, false]) {
        const [, others] = await Promise.all([
          putOne(store, key('lasting'), '1', 60_000),
          store.write(
            names.map((name) => put(name, '1')),
            { atomic },
          ),
        ]);
        const found = await store.read(names);
        expect(others).toEqual(found.map((one) => ({ status: 'done', etag: one?.etag })));
        expect(found.map((one) => one?.expiresAt)).toEqual([undefined, undefined, undefined]);
      }
      await store.close();
    });

    test('deletes expired rows once in an interval, whoever does it', async () => {
      const more = { cleanupInterval: 300, metadataTableName: `${schema}.meta_${randomUUID().slice(0, 8)}` };
      const idle = await open(version, { ...more, cleanupInterval: 0 });
      const name = key('expired');
      await putOne(idle, name, '1', 1);
      const table = version === 'v1' ? 'state_one' : 'two_state';
      const left = (): Promise<readonly PgRow[]> => sql(`SELECT key FROM ${schema}.${table} WHERE key = '${name}'`);
      expect(await left()).toHaveLength(1);
      const [one, other] = [await open(version, more), await open(version, more)];
      await expect.poll(left).toEqual([]);
      const mark = version === 'v1' ? 'last-cleanup' : `last-cleanup-state-v2-${schema}.two_`;
      expect(await sql(`SELECT key FROM ${more.metadataTableName} WHERE key LIKE 'last%'`)).toEqual([[mark]]);
      await Promise.all([idle, one, other].map((store) => store.close()));
    });
  });

  test("creates the tables at Dapr's level", async () => {
    await Promise.all([(await open('v1')).close(), (await open('v2')).close()]);
    const columns = (table: string): Promise<readonly PgRow[]> =>
      sql(`SELECT attname, format_type(atttypid, NULL), attnotnull FROM pg_attribute
        WHERE attrelid = '${schema}.${table}'::regclass AND attnum > 0 ORDER BY attnum`);
    const time = 'timestamp with time zone';
    expect(await columns('state_one')).toEqual([
      ...[
        ['key', 'text', true],
        ['value', 'jsonb', true],
        ['isbinary', 'boolean', true],
      ],
      ...[
        ['insertdate', time, true],
        ['updatedate', time, false],
        ['expiredate', time, false],
      ],
      ['row_id', 'bigint', true],
    ]);
    expect(await columns('two_state')).toEqual([
      ...[
        ['key', 'text', true],
        ['value', 'bytea', true],
        ['etag', 'uuid', true],
      ],
      ...[
        ['created_at', time, true],
        ['updated_at', time, false],
        ['expires_at', time, false],
      ],
      ['row_id', 'bigint', true],
    ]);
    expect(await sql(`SELECT key, value FROM ${schema}.meta WHERE key NOT LIKE 'last%' ORDER BY key`)).toEqual([
      ['lock', 'lock'],
      ['migrations', '3'],
      [`migrations-state-v2-${schema}.two_`, '2'],
    ]);
  });

  test('many that open at once create the tables once', async () => {
    const place = `${schema}.${`many_${randomUUID()}`.replaceAll('-', '')}`;
    const more = { tablePrefix: place, metadataTableName: `${place}_meta` };
    const stores = await Promise.all(Array.from({ length: 6 }, () => open('v2', more)));
    await Promise.all(stores.map((store, index) => putOne(store, `k${index}`, '1')));
    expect(await sql(`SELECT count(*)::text FROM ${place}state`)).toEqual([['6']]);
    await Promise.all(stores.map((store) => store.close()));
  });

  test('starts with a level that it does not know, and with a table without the columns that it does not use', async () => {
    await sql(`CREATE TABLE ${schema}.later_state (key text PRIMARY KEY, value bytea NOT NULL, etag uuid NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz, expires_at timestamptz, more text);
      CREATE TABLE ${schema}.later_meta (key text PRIMARY KEY, value text NOT NULL);
      INSERT INTO ${schema}.later_meta VALUES ('migrations-state-v2-${schema}.later_', '9')`);
    const more = { tablePrefix: `${schema}.later_`, metadataTableName: `${schema}.later_meta` };
    const store = await open('v2', more);
    await putOne(store, 'a', '1');
    expect(await sql(`SELECT key, value FROM ${schema}.later_meta`)).toEqual([
      [`migrations-state-v2-${schema}.later_`, '9'],
    ]);
    await store.close();
  });

  test('leaves tables of other programs as they are', async () => {
    await (await open('v2')).close();
    await expect(open('v1', { tableName: `${schema}.two_state` })).rejects.toThrow('"value" of type bytea, not jsonb');
    await sql(`CREATE TABLE ${schema}.accounts (id int)`);
    await expect(open('v1', { tableName: `${schema}.accounts` })).rejects.toThrow('no columns "key" and "value"');
    await sql(`CREATE TABLE ${schema}.partly (key text, value jsonb)`);
    const more = { tableName: `${schema}.partly`, metadataTableName: `${schema}.meta` };
    await expect(open('v1', more)).rejects.toThrow('lacks columns');
    expect(
      await sql(`SELECT count(*)::text FROM pg_attribute WHERE attnum > 0 AND attrelid IN
      ('${schema}.accounts'::regclass, '${schema}.partly'::regclass)`),
    ).toEqual([['3']]);
  });

  test('a schema that is not there, and wrong credentials, are errors of the start', async () => {
    await expect(open('v2', { tablePrefix: 'nowhere_at_all.' })).rejects.toThrow('nowhere_at_all');
    await expect(open('v2', { url: server.connection.replace(/\/[^/]*$/, '/none_such') })).rejects.toThrow('none_such');
  });

  test("reads and writes Dapr's rows of version 1, which reads ours", async () => {
    const store = await open('v1');
    const table = `${schema}.state_one`;
    const [name, binary] = [key('daprs'), key('binary')];
    await sql(`INSERT INTO ${table} (key, value, isbinary, expiredate) VALUES
      ('${name}', '{"b": 1, "a": 1.50}', false, now() + interval '60 seconds'), ('${binary}', '"AP8="', true, NULL)`);
    const [found, bytes] = await store.read([name, binary]);
    expect(Buffer.from(found?.bytes ?? []).toString()).toBe('{"a": 1.50, "b": 1}');
    expect(found?.expiresAt).toBeGreaterThan(Date.now() + 50_000);
    expect(Buffer.from(bytes?.bytes ?? [])).toEqual(Buffer.from([0, 255]));
    const etag = String((await sql(`SELECT xmin::text FROM ${table} WHERE key = '${name}'`))[0]?.[0]);
    expect(found?.etag).toBe(etag);
    const updated = await writeOne(store, put(name, '"next"', { etag }));
    expect(updated).toEqual({ status: 'done', etag: await etagOf(store, name) });
    await sql(`UPDATE ${table} SET value = '5', updatedate = now(), expiredate = NULL
      WHERE key = '${name}' AND xmin = '${updated.status === 'done' ? updated.etag : ''}'`);
    expect(await textOf(store, name)).toBe('5');
    expect((await writeOne(store, put(name, '6', { etag }))).status).toBe('refused');
    await store.write([{ kind: 'put', key: binary, value: bytesOf('a\0b'), isBinary: true }], { atomic: false });
    expect(
      await sql(`SELECT value::text, isbinary::text, updatedate IS NOT NULL FROM ${table} WHERE key = '${binary}'`),
    ).toEqual([['"YQBi"', 'true', true]]);
    await store.close();
  });

  test("reads and writes Dapr's rows of version 2, which reads ours", async () => {
    const store = await open('v2');
    const table = `${schema}.two_state`;
    const name = key('daprs');
    await sql(`INSERT INTO ${table} (key, value, expires_at) VALUES ('${name}', '{"b": 1, "a": 1.50}', 'infinity')`);
    const [found] = await store.read([name]);
    expect(Buffer.from(found?.bytes ?? []).toString()).toBe('{"b": 1, "a": 1.50}');
    expect(found).not.toHaveProperty('expiresAt');
    expect(found?.etag).toMatch(/^[\da-f-]{36}$/);
    expect((await writeOne(store, put(name, '1', { etag: 'no UUID' }))).status).toBe('refused');
    expect((await writeOne(store, put(name, '1', { etag: found?.etag ?? '' }))).status).toBe('done');
    await sql(
      `UPDATE ${table} SET value = '2', etag = gen_random_uuid(), expires_at = now() - interval '1 second' WHERE key = '${name}'`,
    );
    expect(await store.read([name])).toEqual([undefined]);
    expect((await writeOne(store, put(name, '3', 'absent'))).status).toBe('done');
    expect(await sql(`SELECT value, expires_at, updated_at IS NOT NULL FROM ${table} WHERE key = '${name}'`)).toEqual([
      [Buffer.from('3'), null, true],
    ]);
    await store.close();
  });

  test('says which value jsonb cannot hold; what is asked for at the same time is done', async () => {
    const store = await open('v1');
    const [wrong, right] = [key('nul'), key('right')];
    const calls = await Promise.allSettled([
      store.write([put(wrong, '"a\\u0000b"'), put(key('same'), '1')], { atomic: true }),
      putOne(store, right, '"a\\\\u0000b"'),
      writeOne(store, put(key('text'), 'no JSON')),
      writeOne(store, put(key('half'), '"\\ud800"')),
    ]);
    const reasonOf = (text: string): unknown => ({
      status: 'rejected',
      reason: expect.objectContaining({ message: expect.stringContaining(text) }),
    });
    expect(calls).toEqual([
      reasonOf(`The value of ${JSON.stringify(wrong)} is no JSON`),
      { status: 'fulfilled', value: expect.any(String) },
      reasonOf('is no JSON that state.postgresql v1 can hold'),
      reasonOf('is no JSON that state.postgresql v1 can hold'),
    ]);
    expect(await textOf(store, right)).toBe('"a\\\\u0000b"');
    await store.close();
  });

  test('a key with U+0000 does not exist, and cannot be written', async () => {
    const store = await open('v2');
    expect(await store.read(['a\0b'])).toEqual([undefined]);
    await expect(store.write([put('a\0b', '1')], { atomic: true })).rejects.toThrow('contains U+0000');
    const remove = { kind: 'remove', key: 'a\0b' } as const;
    const there = key('there');
    const both = [{ ...remove, condition: 'absent' } as const, { ...remove, key: 'c\0d' }, put(there, '1')];
    expect(await store.write(both, { atomic: true })).toMatchObject([
      { status: 'done' },
      { status: 'done' },
      { status: 'done' },
    ]);
    const refused = [{ ...remove, condition: { etag: 'a' } }, put(there, '2')];
    expect(await store.write(refused, { atomic: true })).toEqual([{ status: 'refused' }, { status: 'skipped' }]);
    expect(await textOf(store, there)).toBe('1');
    await store.close();
  });

  test('a row that another transaction holds delays only what wants it', async () => {
    const store = await open('v2', { callTimeout: 1_500 });
    const [held, free] = [key('held'), key('free')];
    await putOne(store, held, '1');
    const { Client } = await loadPg();
    const holder = new Client({ connectionString: server.connection });
    await holder.connect();
    const text = `BEGIN; SELECT FROM ${schema}.two_state WHERE key = '${held}' FOR UPDATE`;
    await holder.query({ text, rowMode: 'array' });
    const timeOfOthers = async (): Promise<number> => {
      const writing = writeOne(store, put(held, '2')).catch((error: unknown) => error);
      const startedAt = performance.now();
      for (let round = 0; round < 5; round++) await putOne(store, free, `${round}`);
      const tookMs = performance.now() - startedAt;
      expect(String(await writing)).toContain('lock timeout');
      return tookMs;
    };
    // A busy machine takes longer now and then, not each time.
    let tries = 0;
    while (tries < 5 && (await timeOfOthers()) >= 1_400) tries++;
    expect(tries).toBeLessThan(5);
    await holder.end();
    expect(await textOf(store, held)).toBe('1');
    await store.close();
  });
});

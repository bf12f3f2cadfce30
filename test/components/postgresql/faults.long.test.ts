import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { hostsOf, parseConnectionString } from '../../../src/components/postgresql/connection-string.ts';
import {
  type PostgresqlConnection,
  type PostgresqlOptions,
  postgresqlState,
} from '../../../src/components/postgresql/index.ts';
import { ddlOf } from '../../../src/components/postgresql/schema.ts';
import { isStateError } from '../../../src/state/errors.ts';
import { put } from '../../support/embedded-store.ts';
import { hasPostgresql } from '../../support/servers.ts';
import { remoteFaults } from '../remote/remote-faults.ts';
import { PgTestServer } from './pg-test-server.ts';

remoteFaults('state in PostgreSQL', hasPostgresql(), () => PgTestServer.start());

describe.runIf(hasPostgresql())('opening state in PostgreSQL', () => {
  let server: PgTestServer;
  let schema: string;
  beforeAll(async () => {
    server = await PgTestServer.start();
  }, 60_000);
  afterAll(() => server[Symbol.asyncDispose]());
  beforeEach(() => {
    schema = server.newPlace();
  });

  test.each<[what: string, connection: PostgresqlConnection, message: RegExp]>([
    ['no such database', { host: '127.0.0.1', database: 'nope', user: 'postgres' }, /database "nope" does not exist/],
    [
      'no such user',
      { host: '127.0.0.1', database: 'postgres', user: 'nobody-knows' },
      /role "nobody-knows" does not exist/,
    ],
  ])('opening rejects: %s', async (_what, connection, message) => {
    const opening = server.open({ url: { ...connection, port: server.server.port } });
    await expect(opening).rejects.toMatchObject({ kind: 'failed', message: expect.stringMatching(message) });
  });

  test('without the right to create, opening says what to run; afterwards it works', async () => {
    await server.sql('CREATE ROLE plain LOGIN');
    const connection = { host: '127.0.0.1', port: server.server.port, user: 'plain', database: 'postgres' };
    await expect(server.open({ url: connection, schema })).rejects.toMatchObject({
      kind: 'failed',
      message: /permission denied/,
    });
    await expect(server.open({ url: connection, schema, migrate: false })).rejects.toThrow('postgresqlDdl()');
    await server.sql(ddlOf(schema));
    await server.sql(
      `GRANT USAGE ON SCHEMA "${schema}" TO plain; GRANT ALL ON ALL TABLES IN SCHEMA "${schema}" TO plain`,
    );
    await using store = await server.open({ url: connection, schema });
    expect(await store.commit({ put: [put('a')] })).toBeGreaterThan(0);
  });

  test('a store of a newer format is refused', async () => {
    await (await server.open({ schema })).close();
    await server.sql(`UPDATE "${schema}".meta SET min_reader = 99`);
    const error = await server.open({ schema }).catch((reason: unknown) => reason);
    expect(isStateError(error) && [error.kind, error.message]).toEqual([
      'newer-format',
      expect.stringContaining('format 99'),
    ]);
  });

  test('two processes that create the same schema at the same time both succeed', async () => {
    const stores = await Promise.all(Array.from({ length: 6 }, () => server.open({ schema })));
    const versions = await Promise.all(stores.map((store) => store.commit({ put: [put('a')] })));
    expect(new Set(versions).size).toBe(6);
    await Promise.all(stores.map((store) => store.close()));
  });
});

test.each<[what: string, options: unknown, message: RegExp]>([
  ['an unknown option', { url: 'postgresql://h/d', shema: 'x' }, /shema.*schema/],
  ['no connection string', { url: 'db.internal', schema: 'x' }, /must be a URL .* or pairs/],
  ['a password in a broken URL', { url: 'postgresql://app:secret@[/d' }, /must be a URL/],
  ['a schema that is too long', { url: 'postgresql://h/d', schema: 'x'.repeat(54) }, /1 to 53 bytes/],
  [
    'a time limit of nothing',
    { url: 'postgresql://h/d', callTimeout: 0 },
    /^callTimeout in options of postgresqlState is 0: expected/,
  ],
  [
    'a time limit that no timer can have',
    { url: 'postgresql://h/d', operationTimeout: 2 ** 31 },
    /^operationTimeout in options of postgresqlState is 2147483648: expected a duration: .* of 1 ms or more and 2147483647 ms at most$/,
  ],
  ['no URL', {}, /^url in options of postgresqlState: expected a URL, pairs, or an object$/],
  ['a URL of another kind', { url: 7 }, /^url in options of postgresqlState: expected a URL/],
  ['a port as text', { url: { port: '5432' } }, /^port in url of postgresqlState is "5432": expected a whole/],
  ['a password that is none', { url: { password: 5 } }, /^password in url of postgresqlState: expected a text or/],
  ['an answer as text', { url: 'postgresql://h/d', migrate: 'no' }, /^migrate in .* is "no": expected true or false$/],
  ['ports that do not fit the hosts', { url: 'host=a,b,c port=1,2 password=secret' }, /must be a URL/],
])('postgresqlState() refuses %s', (_what, options, message) => {
  const make = (): unknown => postgresqlState(options as PostgresqlOptions);
  expect(make).toThrow(message);
  expect(make).not.toThrow(/secret/);
});

test.each<[text: string, urls: readonly string[], name: string]>([
  [
    'postgresql://app:s@db:6543/shop?sslmode=require',
    ['postgresql://app:s@db:6543/shop?sslmode=require'],
    'db:6543/shop',
  ],
  ["host=db user=app password='a b' dbname=shop", ['postgresql://app:a%20b@db/shop'], 'db:5432/shop'],
  [
    'host=db port=6543 user=app database=shop connect_timeout=10',
    ['postgresql://app@db:6543/shop?connect_timeout=10'],
    'db:6543/shop',
  ],
  ['host=/run/pg user=app dbname=shop', ['postgresql://app@localhost/shop?host=%2Frun%2Fpg'], '/run/pg:5432/shop'],
  [
    'postgresql://app:s,t@a,b:6543/shop?application_name=x',
    ['postgresql://app:s,t@a/shop?application_name=x', 'postgresql://app:s,t@b:6543/shop?application_name=x'],
    'a:5432,b:6543/shop',
  ],
  ['host=a,b port=6543 dbname=shop', ['postgresql://a:6543/shop', 'postgresql://b:6543/shop'], 'a:6543,b:6543/shop'],
  ['host=a,b port=1,2 dbname=shop', ['postgresql://a:1/shop', 'postgresql://b:2/shop'], 'a:1,b:2/shop'],
])('reads the connection string %s', (text, urls, name) => {
  const target = parseConnectionString(text);
  expect(target.hosts.map(({ config }) => config)).toEqual(urls.map((connectionString) => ({ connectionString })));
  expect(target.name).toBe(`PostgreSQL at ${name}`);
});

test('reads several hosts from the parts of a connection', () => {
  expect(hostsOf({ host: 'a,b:6543,[::1]:7', port: 5433, user: 'app' })).toEqual([
    { name: 'a:5433', config: { host: 'a', port: 5433, user: 'app' } },
    { name: 'b:6543', config: { host: 'b', port: 6543, user: 'app' } },
    { name: '[::1]:7', config: { host: '::1', port: 7, user: 'app' } },
  ]);
  expect(hostsOf({ host: '/run/pg' })[0]?.config).toEqual({ host: '/run/pg', port: 5432 });
  expect(hostsOf({ host: 'fe80::1' })[0]?.config).toEqual({ host: 'fe80::1', port: 5432 });
});

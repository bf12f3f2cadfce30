import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { postgresqlBinding } from '../../src/components/postgresql/index.ts';
import { bindingConforms, conformingBinding } from '../support/binding-conformance.ts';
import { type BindingsWorld, bindingsWorld } from '../support/bindings-world.ts';
import { freePort } from '../support/http.ts';
import { hasPostgresql, type OwnServer, startPostgresql } from '../support/servers.ts';
import { WIRES } from '../support/stores-world.ts';

let server: OwnServer | undefined;

beforeAll(async () => {
  server = hasPostgresql() ? await startPostgresql() : undefined;
}, 60_000);

afterAll(() => server?.[Symbol.asyncDispose]());

const url = (): string => `postgresql://postgres@127.0.0.1:${server?.port ?? 0}/postgres`;

async function world(wire: 'sidecar' | 'dapr' = 'sidecar'): Promise<BindingsWorld> {
  return bindingsWorld({ wire, components: [postgresqlBinding('db', { url: url() })], hasApp: false });
}

const call = (to: BindingsWorld, operation: string, sql?: string, params?: unknown) =>
  to.invoke('db', {
    operation,
    metadata: {
      ...(sql === undefined ? {} : { sql }),
      ...(params === undefined ? {} : { params: JSON.stringify(params) }),
    },
  });

const messageOf = (text: string): string => (JSON.parse(text) as { readonly message: string }).message;

describe.each(WIRES)('bindings.postgresql, wire %s', (wire) => {
  test('exec and query with parameters, metadata as headers', async ({ skip }) => {
    if (server === undefined) return skip();
    await using own = await world(wire);
    const table = `orders_${wire}`;
    expect((await call(own, 'exec', `create table ${table} (id int, name text, price numeric)`)).status).toBe(200);
    const hostile = "x'); drop table orders; --";
    const inserted = await call(own, 'exec', `insert into ${table} values ($1, $2, $3), (2, null, 0.5)`, [
      1,
      hostile,
      1,
    ]);
    expect([inserted.status, inserted.text, inserted.headers['metadata.rows-affected']]).toEqual([200, '', '2']);
    expect(inserted.headers).toMatchObject({ 'metadata.operation': 'exec' });
    for (const name of ['sql', 'start-time', 'end-time', 'duration'])
      expect(inserted.headers[`metadata.${name}`]).toBeDefined();
    const rows = await call(own, 'query', `select id, name, price from ${table} order by id`);
    expect([rows.status, rows.text]).toEqual([200, `[[1,${JSON.stringify(hostile)},1],[2,null,0.5]]`]);
    expect((await call(own, 'query', `select id from ${table} where name = $1`, ['nobody'])).text).toBe('[]');
  });
});

describe.runIf(hasPostgresql())('conformance', () => {
  bindingConforms(
    () =>
      conformingBinding({
        definition: postgresqlBinding('db', { url: url() }),
        call: { operation: 'query', metadata: { sql: 'select 1' } },
        refused: { operation: 'query', metadata: { sql: 'selekt hidden' } },
        secrets: ['hidden', '127.0.0.1'],
      }),
    'input',
  );
});

test('values of every kind are JSON, with every digit', async ({ skip }) => {
  if (server === undefined) return skip();
  await using own = await world();
  const jsonOf = async (expression: string): Promise<string> =>
    (await call(own, 'query', `select ${expression}`)).text.slice(2, -2);
  expect(await jsonOf('9007199254740993::bigint')).toBe('9007199254740993');
  expect(await jsonOf('1.50::numeric')).toBe('1.50');
  expect(await jsonOf("'NaN'::numeric")).toBe('"NaN"');
  expect(await jsonOf("'Infinity'::float8")).toBe('"Infinity"');
  expect(await jsonOf('true')).toBe('true');
  expect(await jsonOf(`'{"a": 1.0}'::json`)).toBe('{"a": 1.0}');
  expect(await jsonOf(`'\\x00ff'::bytea`)).toBe('"AP8="');
  expect(await jsonOf("'2026-02-03'::date")).toBe('"2026-02-03T00:00:00Z"');
  expect(await jsonOf("'2026-02-03 04:05:06.789123+02'::timestamptz")).toBe('"2026-02-03T02:05:06.789123Z"');
  expect(await jsonOf("'infinity'::timestamptz")).toBe('"infinity"');
  expect(await jsonOf("'7d444840-9dc0-11d1-b245-5ffdce74fad2'::uuid")).toBe('"7d444840-9dc0-11d1-b245-5ffdce74fad2"');
  expect(await jsonOf('array[[1,null],[3,4]]')).toBe('[[1,null],[3,4]]');
  expect(await jsonOf(`array['a "b"', 'NULL', '', 'c,{d}', e'\\\\']`)).toBe('["a \\"b\\"","NULL","","c,{d}","\\\\"]');
  const given = await own.invoke('db', {
    operation: 'query',
    metadata: { sql: 'select $1::numeric, $2::text[], $3::jsonb, $4::bool', params: '[1.10, ["a"], {"b":1}, null]' },
  });
  expect(given.text).toBe('[[1.10,["a"],{"b": 1},null]]');
});

test('errors have the SQLSTATE, and nothing of statement, data or address', async ({ skip }) => {
  if (server === undefined) return skip();
  await using own = await world();
  const broken = await call(own, 'query', 'selekt hidden');
  expect([broken.status, messageOf(broken.text)]).toEqual([
    500,
    'error invoking output binding db: PostgreSQL has refused the statement (SQLSTATE 42601)',
  ]);
  for (const params of ['{', '{"a":1}', '1'])
    expect((await own.invoke('db', { operation: 'query', metadata: { sql: 'select 1', params } })).status).toBe(500);
  expect(messageOf((await call(own, 'exec')).text)).toContain('metadata sql is missing');
  // One statement: a second one would not be the operator's.
  expect((await call(own, 'query', 'select 1; select 2')).status).toBe(500);
  expect((await call(own, 'exec', 'select 1; select 2')).status).toBe(200);
});

test('close ends the binding for all', async ({ skip }) => {
  if (server === undefined) return skip();
  await using own = await world();
  expect((await call(own, 'query', 'select 1')).status).toBe(200);
  expect((await call(own, 'close')).status).toBe(204);
  expect(messageOf((await call(own, 'query', 'select 1')).text)).toContain('the binding is closed');
});

test('statements run side by side', async ({ skip }) => {
  if (server === undefined) return skip();
  await using own = await world();
  const slow = call(own, 'query', 'select pg_sleep(2)');
  let isSlowDone = false;
  void slow.then(() => {
    isSlowDone = true;
  });
  expect((await call(own, 'query', 'select 1')).text).toBe('[[1]]');
  expect(isSlowDone).toBe(false);
  await slow;
});

test('a server that is down: an error without its address, and health shows it', async () => {
  const port = await freePort();
  const connection = `postgresql://app:hidden@127.0.0.1:${port}/shop`;
  await using own = await bindingsWorld({
    components: [postgresqlBinding('db', { url: connection, timeout: '2s' })],
    hasApp: false,
  });
  const { status, text } = await call(own, 'query', 'select 1');
  expect([status, messageOf(text)]).toEqual([
    500,
    'error invoking output binding db: PostgreSQL cannot be reached, or did not answer in time',
  ]);
  expect((await own.send('GET', '/v1.0/healthz/outbound')).status).toBe(500);
});

/** An application changes the global settings of `pg` for its own queries: the state does not notice. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { loadPg, type PgClient, type PgConfig } from '../../../src/components/postgresql/driver.ts';
import { resultTypes } from '../../../src/components/postgresql/result-types.ts';
import { stateStoreConformance } from '../../../src/kit/store-conformance.ts';
import { hasPostgresql } from '../../support/servers.ts';
import { PgTestServer } from './pg-test-server.ts';

type Parser = (text: string) => unknown;

/** The package as an application sees it; it has no types of its own. */
interface Pg {
  readonly Client: new (config: PgConfig) => PgClient;
  readonly defaults: Record<string, unknown>;
  readonly types: {
    getTypeParser(oid: number, format: 'text'): Parser;
    setTypeParser(oid: number, format: 'text', parser: Parser): void;
  };
}

const pg = (await loadPg()) as unknown as Pg;
const OIDS = [16, 17, 20, 21, 23, 25, 114, 1001, 1007, 1009, 1016, 1043, 1184, 3802];
const DEFAULTS = { ...pg.defaults };
const PARSERS = OIDS.map((oid) => pg.types.getTypeParser(oid, 'text'));

describe.runIf(hasPostgresql())('state in PostgreSQL beside an application with settings of its own', () => {
  let server: PgTestServer;
  beforeAll(async () => {
    server = await PgTestServer.start();
  }, 60_000);
  afterAll(() => server[Symbol.asyncDispose]());
  afterEach(() => {
    for (const [nth, oid] of OIDS.entries()) pg.types.setTypeParser(oid, 'text', PARSERS[nth] ?? String);
    const { parseInt8: _setter, ...defaults }: Record<string, unknown> = DEFAULTS;
    Object.assign(pg.defaults, defaults);
  });

  const settings: readonly [what: string, set: () => void][] = [
    [
      'parsers for every type',
      () => {
        for (const oid of OIDS) pg.types.setTypeParser(oid, 'text', (value) => ({ value }));
      },
    ],
    ['results in binary', () => Object.assign(pg.defaults, { binary: true })],
    ['time-outs', () => Object.assign(pg.defaults, { query_timeout: 1, statement_timeout: 1, lock_timeout: 1 })],
    [
      'TLS and options',
      () => Object.assign(pg.defaults, { ssl: true, options: '-c search_path=nowhere -c nonsense=1' }),
    ],
  ];
  for (const [what, set] of settings)
    for (const { name, run } of stateStoreConformance.filter((_case, nth) => nth % 6 === 0))
      test(`${what}: ${name}`, () => {
        set();
        const schema = server.newPlace();
        return run(() => server.open({ schema }));
      });

  test('keeps the settings of the application', async () => {
    Object.assign(pg.defaults, { binary: true, user: 'somebody' });
    await (await server.open()).close();
    expect(pg.defaults).toMatchObject({ binary: true, user: 'somebody' });
  });

  test.each(['hex', 'escape'])('reads bytes as the server writes them with bytea_output %s', async (form) => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_none, byte) => byte));
    const client = new pg.Client({
      connectionString: server.url(),
      types: resultTypes,
      options: `-c bytea_output=${form}`,
    });
    await client.connect();
    const text =
      "SELECT $1::bytea, ARRAY[$1::bytea, $2::bytea, ''::bytea], '{}'::bytea[], ARRAY[1, -2], '{}'::int[], 7::bigint, true";
    const { rows } = await client.query({ text, values: [bytes, Buffer.from('a,"b\\{}')], rowMode: 'array' });
    await client.end();
    expect(rows).toEqual([[bytes, [bytes, Buffer.from('a,"b\\{}'), Buffer.alloc(0)], [], [1, -2], [], 7, true]]);
  });
});

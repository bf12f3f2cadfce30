import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type PostgresqlConnection,
  type PostgresqlOptions,
  postgresqlDdl,
  postgresqlState,
} from '../../../src/components/postgresql/index.ts';
import { stateStoreConformance } from '../../../src/kit/store-conformance.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { Certificates } from '../../support/certificates.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { hasPostgresql } from '../../support/servers.ts';
import { PgTestServer } from './pg-test-server.ts';

/** The tests themselves come without TLS; `app` needs TLS and a password. */
const ACCESS = `local all all trust
host all postgres 127.0.0.1/32 trust
hostssl all app 127.0.0.1/32 scram-sha-256
`;

describe.runIf(hasPostgresql())('state in PostgreSQL with TLS, a password and a role that may not create', () => {
  let certificates: Certificates;
  let server: PgTestServer;
  beforeAll(async () => {
    certificates = new Certificates();
    const access = join(certificates.directory, 'pg_hba.conf');
    writeFileSync(access, ACCESS);
    const { cert, key } = certificates;
    const settings = ['ssl=on', `ssl_cert_file=${cert}`, `ssl_key_file=${key}`, `hba_file=${access}`];
    server = await PgTestServer.start(settings);
    await server.sql(`CREATE ROLE app LOGIN PASSWORD 'right'`);
  }, 60_000);
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    certificates[Symbol.dispose]();
  });

  const open = (connection: PostgresqlConnection | string, options: Partial<PostgresqlOptions> = {}) =>
    postgresqlState({ url: connection, migrate: false, ...options }).open({
      clock: systemClock,
      logger: new RecordingLogger(),
    });
  const asApp = (): PostgresqlConnection => ({
    host: '127.0.0.1',
    port: server.server.port,
    user: 'app',
    password: 'right',
    database: 'postgres',
    ssl: certificates.trust,
  });

  /** Makes the tables as another role, as docs/state-servers.md says. */
  async function newSchema(): Promise<string> {
    const schema = server.newPlace();
    await server.sql(
      `${postgresqlDdl(schema)}; GRANT USAGE ON SCHEMA "${schema}" TO app; GRANT ALL ON ALL TABLES IN SCHEMA "${schema}" TO app`,
    );
    return schema;
  }

  for (const { name, run } of stateStoreConformance.filter((_case, index) => index % 4 === 0))
    test(name, async () => {
      const schema = await newSchema();
      await run((): Promise<StateStore> => open(asApp(), { schema }));
    });

  test('opens with a URL that names the authority and the password', async () => {
    const query = `sslmode=verify-full&sslrootcert=${certificates.ca}`;
    const url = `postgresql://app:right@localhost:${server.server.port}/postgres?${query}`;
    await using store = await open(url, { schema: await newSchema() });
    expect(await store.get('a')).toBeUndefined();
  });

  test.each<[what: string, connection: (port: number) => Partial<PostgresqlConnection>, message: RegExp]>([
    ['an unknown authority', () => ({ ssl: true }), /certificate that this process does not trust.*"ca"/],
    ['no TLS', () => ({ ssl: false }), /refuses the connection: no pg_hba.conf entry.*no encryption/],
    ['a wrong password', () => ({ password: 'guess' }), /refuses the connection: password authentication failed/],
  ])('opening rejects: %s', async (_what, connection, message) => {
    const schema = await newSchema();
    const error = await open({ ...asApp(), ...connection(server.server.port) }, { schema }).catch((e: unknown) => e);
    expect(error).toMatchObject({ kind: 'failed', message: expect.stringMatching(message) });
    expect(String(error) + JSON.stringify(error)).not.toMatch(/guess|right/);
  });

  test('opening rejects: a server without TLS', async () => {
    await server.sql('ALTER SYSTEM SET ssl = off');
    await server.sql('SELECT pg_reload_conf()');
    await expect
      .poll(async () => (await server.sql('SHOW ssl'))[0]?.[0])
      .toBe('off')
      .catch(() => undefined);
    await expect(open(asApp())).rejects.toMatchObject({ kind: 'failed', message: /does not speak TLS/ });
  });
});

import { randomUUID } from 'node:crypto';
import type { PgRow } from '../../../src/components/postgresql/driver.ts';
import { postgresqlState } from '../../../src/components/postgresql/index.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { hasPostgresql } from '../../support/servers.ts';
import { PgTestServer, runSqlAt } from './pg-test-server.ts';

/** The URL of a database that tests may use which harm nobody: they make schemas of their own, and drop them. */
const GIVEN = process.env['INSIDECAR_TEST_POSTGRESQL'];

/** Whether there is a PostgreSQL, or one can be started. */
export function hasSharedPostgresql(): boolean {
  return GIVEN !== undefined || hasPostgresql();
}

/** A PostgreSQL for tests that harm nobody: that of INSIDECAR_TEST_POSTGRESQL, else one of their own. */
export async function sharedPostgresql(): Promise<GivenPostgresql | PgTestServer> {
  return GIVEN === undefined ? PgTestServer.start() : new GivenPostgresql(GIVEN);
}

class GivenPostgresql implements AsyncDisposable {
  readonly #url: string;
  readonly #schemas: string[] = [];

  constructor(url: string) {
    this.#url = url;
  }

  get connection(): string {
    return this.#url;
  }

  newPlace(): string {
    const schema = `insidecar-test-${randomUUID()}`;
    this.#schemas.push(schema);
    return schema;
  }

  open({ schema = this.newPlace() }: { readonly schema?: string } = {}): Promise<StateStore> {
    const context = { clock: systemClock, logger: new RecordingLogger() };
    return postgresqlState({ url: this.#url, schema }).open(context);
  }

  /** Runs statements beside the store. */
  sql(text: string): Promise<readonly PgRow[]> {
    return runSqlAt({ connectionString: this.#url }, text);
  }

  /** Drops what the tests have made, and nothing else. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const schema of this.#schemas) await this.sql(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
  }
}

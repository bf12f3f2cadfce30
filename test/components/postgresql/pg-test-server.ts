import { randomUUID } from 'node:crypto';
import { loadPg, type PgConfig, type PgRow } from '../../../src/components/postgresql/driver.ts';
import { type PostgresqlOptions, postgresqlState } from '../../../src/components/postgresql/index.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { type OwnServer, startPostgresql } from '../../support/servers.ts';
import type { RemoteTestServer, Timeouts } from '../remote/remote-faults.ts';

/** A PostgreSQL server of a test file; each test takes a schema of its own. */
export class PgTestServer implements RemoteTestServer {
  readonly server: OwnServer;
  readonly logger = new RecordingLogger();

  private constructor(server: OwnServer) {
    this.server = server;
  }

  static async start(settings: readonly string[] = []): Promise<PgTestServer> {
    return new PgTestServer(await startPostgresql(settings));
  }

  newPlace(): string {
    return `test-${randomUUID().slice(0, 8)}`;
  }

  get connection(): string {
    return this.url();
  }

  url(port: number = this.server.port): string {
    return `postgresql://postgres@127.0.0.1:${port}/postgres`;
  }

  open(options: Partial<PostgresqlOptions> = {}): Promise<StateStore> {
    const { logger } = this;
    return postgresqlState({ url: this.url(), schema: this.newPlace(), ...options }).open({
      clock: systemClock,
      logger,
    });
  }

  openAt(place: string, port: number, timeouts: Timeouts = {}): Promise<StateStore> {
    return this.open({ url: this.url(port), schema: place, ...timeouts });
  }

  /** Runs statements beside the store. */
  sql(text: string): Promise<readonly PgRow[]> {
    return runSql(this.server.port, text);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.server[Symbol.asyncDispose]();
  }
}

/** Runs statements on a server of the tests. */
export function runSql(port: number, text: string, database = 'postgres'): Promise<readonly PgRow[]> {
  return runSqlAt({ host: '127.0.0.1', port, user: 'postgres', database }, text);
}

/** Runs statements on any server. */
export async function runSqlAt(place: PgConfig, text: string): Promise<readonly PgRow[]> {
  const { Client } = await loadPg();
  const client = new Client(place);
  await client.connect();
  try {
    return (await client.query({ text, rowMode: 'array' })).rows;
  } finally {
    await client.end();
  }
}

import { StateError } from '../../state/errors.ts';
import type { ConnectionListener, RemoteConnection, RemoteServer } from '../remote/connection.ts';
import { checkDurability, type FoundDurability, type RequiredDurability } from '../remote/durability.ts';
import { firstOf, type OpenAt } from '../remote/first-of.ts';
import type { PgHost } from './connection-string.ts';
import type { PgClient } from './driver.ts';
import { errorOf } from './failures.ts';
import { PgConnection } from './pg-connection.ts';
import { discard, openPrimary, type Primary } from './primary.ts';
import { ddlOf, FORMAT, FUNCTIONS, quoteName } from './schema.ts';

/** An arbitrary lock number: processes that create the tables at the same time wait for each other. */
const MIGRATION_LOCK = '7021937581';
/** An attempt that was given up goes on waiting for its lock for so long at most: others wait behind it. */
const MIGRATION_LOCK_TIMEOUT_MS = 3_000;

/** The dependencies of a {@link PgServer}. */
export interface PgServerDeps {
  /** The first one that is a primary is used. */
  readonly hosts: readonly PgHost[];
  /** For messages, without credentials. */
  readonly name: string;
  readonly schema: string;
  /** Whether to create missing tables and functions. */
  readonly migrates: boolean;
  readonly prepares: boolean;
  /** The durability that is required of the server. */
  readonly durability: RequiredDurability;
  /** How long an attempt to connect may take. */
  readonly callTimeoutMs: number;
}

/** A PostgreSQL server as the server of a store. */
export class PgServer implements RemoteServer {
  readonly #deps: PgServerDeps;
  /** Messages come between two statements. Beside commits, they would wait for the sync of each. */
  readonly listensOn = 'reads';

  constructor(deps: PgServerDeps) {
    this.#deps = deps;
  }

  get name(): string {
    return this.#deps.name;
  }

  get place(): string {
    return `schema ${this.#deps.schema}`;
  }

  async connect(listener: ConnectionListener, listens: boolean, signal: AbortSignal): Promise<RemoteConnection> {
    const { hosts, name, schema, prepares, callTimeoutMs } = this.#deps;
    const open: OpenAt<PgHost, Primary> = ({ config }, given) => openPrimary(config, given, name);
    const { client, serverId, fsync } = await firstOf(hosts, open, signal, callTimeoutMs);
    try {
      // The functions set synchronous_commit.
      const durability: FoundDurability = {
        durability: fsync === 'off' ? 'none' : 'synced',
        reason: `fsync is ${fsync}`,
      };
      checkDurability(durability, this.#deps.durability, name);
      // With each connection: a standby that took over may lack them.
      await this.#migrate(client);
      const connection = new PgConnection({ client, serverId, durability, server: name, schema, prepares });
      await connection.listen(listener, listens);
      return connection;
    } catch (error) {
      discard(client);
      throw errorOf(error, name);
    }
  }

  async #migrate(client: PgClient): Promise<void> {
    const { schema, migrates } = this.#deps;
    if (await this.#isComplete(client)) return;
    if (!migrates)
      throw new StateError(
        'failed',
        `The schema ${schema} of ${this.name} lacks tables or functions of this release: a user who may create them has to run what postgresqlDdl() of insidecar/postgresql answers.`,
      );
    // One at a time: concurrent statements that create the same object fail.
    const statements = [
      // Above this level, the second one would not see what the first one has made.
      'BEGIN ISOLATION LEVEL READ COMMITTED',
      `SET LOCAL lock_timeout = ${MIGRATION_LOCK_TIMEOUT_MS}`,
      `SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`,
      ddlOf(schema),
      'COMMIT',
    ];
    for (const text of statements) await client.query({ text, rowMode: 'array' });
  }

  /**
   * Whether the tables and the functions of this release exist.
   *
   * @throws StateError `newer-format`
   */
  async #isComplete(client: PgClient): Promise<boolean> {
    const { schema } = this.#deps;
    const text = `SELECT to_regclass($1) IS NOT NULL,
      (SELECT count(DISTINCT proname) FROM pg_proc WHERE pronamespace = to_regnamespace($2) AND proname = ANY ($3))`;
    const values = [`${quoteName(schema)}.meta`, quoteName(schema), FUNCTIONS];
    const { rows } = await client.query({ text, values, rowMode: 'array' });
    const [hasTables, functions] = rows[0] ?? [];
    if (hasTables !== true) return false;
    await this.#checkFormat(client);
    return Number(functions) === FUNCTIONS.length;
  }

  async #checkFormat(client: PgClient): Promise<void> {
    const text = `SELECT min_reader FROM ${quoteName(this.#deps.schema)}.meta`;
    const { rows } = await client.query({ text, rowMode: 'array' });
    const needed = Number(rows[0]?.[0]);
    if (needed > FORMAT)
      throw new StateError(
        'newer-format',
        `The state in ${this.name} is of format ${needed}; this release reads ${FORMAT}. A newer release wrote it.`,
      );
  }
}

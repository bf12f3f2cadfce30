import { type Duration, msOf } from '../../util/duration.ts';
import { duration } from '../../util/duration-option.ts';
import { checkOptions, type OptionFields, TEXTS } from '../../util/option-fields.ts';
import { clearInterval, setInterval } from '../../util/timers.ts';
import { LOCK_FIELDS } from '../lock-options.ts';
import type { LockStore, LockStoreDefinition, LockStoreOptions, UnlockOutcome } from '../lock-store.ts';
import { type PostgresqlConnection, targetOf, URL_FIELD, withUrl } from './connection-options.ts';
import { loadPg } from './driver.ts';
import { PgLine, type PgLineDeps } from './pg-line.ts';
import { TABLE_NAME, tableInSql } from './table-name.ts';

/** Options of {@link postgresqlLocks}. @public */
export interface PostgresqlLocksOptions extends LockStoreOptions {
  /** A URL (`postgresql://user:password@host:5432/database`), pairs (`host=… user=…`), or its parts. */
  readonly url: string | PostgresqlConnection;
  /**
   * The table, created if it is missing: letters, digits and underscores, with a schema and a dot before them if need be.
   * Default `insidecar_lock`.
   */
  readonly table?: string | undefined;
  /** App IDs that may use the store. Default: all. */
  readonly scopes?: readonly string[] | undefined;
  /** The time limit of an attempt to connect and of a call. Default `5s`. */
  readonly callTimeout?: Duration | undefined;
}

const FIELDS: OptionFields<PostgresqlLocksOptions> = {
  ...LOCK_FIELDS,
  url: URL_FIELD,
  table: TABLE_NAME,
  scopes: TEXTS,
  callTimeout: duration(1),
};

const DEFAULT_TABLE = 'insidecar_lock';
const DEFAULT_CALL_TIMEOUT_MS = 5_000;
/** How often locks that have expired are removed. */
const CLEANUP_MS = 3_600_000;
/** An arbitrary lock number: processes that create the table at the same time wait for each other. */
const MIGRATION_LOCK = '7021937582';

/**
 * Locks in a table of PostgreSQL 13 or later. Needs the package `pg` 8. They expire by the server's clock.
 *
 * @param name - the name of the store in requests
 * @param given - the URL or pairs, or the options
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options.
 * @example
 * ```ts
 * const components = [postgresqlLocks('locks', 'postgresql://app:secret@db.internal/shop')];
 * ```
 * @public
 */
export function postgresqlLocks(name: string, given: string | PostgresqlLocksOptions): LockStoreDefinition {
  const options: PostgresqlLocksOptions = withUrl(given);
  const what = `postgresqlLocks ${JSON.stringify(name)}`;
  checkOptions(`options of ${what}`, options, FIELDS);
  const { url, table = DEFAULT_TABLE, keyPrefix, scopes, callTimeout = DEFAULT_CALL_TIMEOUT_MS } = options;
  const target = targetOf(url, what);
  const load = (): ReturnType<typeof loadPg> => loadPg('pg', 'The component of type lock.postgresql');
  return {
    block: 'lock',
    name,
    type: 'lock.postgresql',
    version: 'v1',
    ...(scopes === undefined ? {} : { scopes }),
    options: keyPrefix === undefined ? {} : { keyPrefix },
    open: async ({ logger }) => {
      // A package that is not installed is an error of the start: it would look like a server that is down for ever.
      await load();
      return new PgLocks(
        { target, load, callTimeoutMs: msOf(callTimeout), logger, random: Math.random },
        tableInSql(table),
      );
    },
  };
}

/** A lock is a row. Resource and owner are bytes: texts of PostgreSQL hold no U+0000. */
class PgLocks implements LockStore {
  readonly #line: PgLine;
  readonly #table: string;
  readonly #cleanup: NodeJS.Timeout;
  /** Whether the table is there, as far as this connection knows. */
  #isThere: Promise<void> | undefined;

  constructor(deps: Omit<PgLineDeps, 'onConnected' | 'onNotification'>, table: string) {
    this.#table = table;
    const onConnected = (): void => {
      // A standby that took over may lack it.
      this.#isThere = undefined;
    };
    this.#line = new PgLine({ ...deps, onConnected });
    this.#cleanup = setInterval(() => void this.#removeExpired(), CLEANUP_MS);
  }

  get failure(): Error | undefined {
    return this.#line.failure;
  }

  async tryLock(resource: string, owner: string, expiryMs: number): Promise<boolean> {
    await this.#ready();
    const rows = await this.#line.query(
      `INSERT INTO ${this.#table} AS held (resource, owner, expires_at)
        VALUES ($1, $2, clock_timestamp() + $3::bigint * interval '1 millisecond')
        ON CONFLICT (resource) DO UPDATE SET owner = EXCLUDED.owner, expires_at = EXCLUDED.expires_at
        WHERE held.expires_at <= clock_timestamp() RETURNING true`,
      [Buffer.from(resource), Buffer.from(owner), String(expiryMs)],
    );
    return rows.length > 0;
  }

  async unlock(resource: string, owner: string): Promise<UnlockOutcome> {
    await this.#ready();
    const which = `WHERE resource = $1 AND expires_at > clock_timestamp()`;
    const values = [Buffer.from(resource), Buffer.from(owner)];
    const gone = await this.#line.query(`DELETE FROM ${this.#table} ${which} AND owner = $2 RETURNING true`, values);
    if (gone.length > 0) return 'released';
    const held = await this.#line.query(`SELECT true FROM ${this.#table} ${which}`, values.slice(0, 1));
    return held.length > 0 ? 'foreign' : 'missing';
  }

  #ready(): Promise<void> {
    this.#isThere ??= this.#create().catch((error: unknown) => {
      this.#isThere = undefined;
      throw error;
    });
    return this.#isThere;
  }

  /** Creates the table unless it is there: the user may have no right to create tables. */
  async #create(): Promise<void> {
    const [row] = await this.#line.query('SELECT to_regclass($1)::text', [this.#table]);
    if (row?.[0] !== null && row?.[0] !== undefined) return;
    // Together: concurrent statements that create the same table fail.
    await this.#line.query(`BEGIN;
      SELECT pg_advisory_xact_lock(${MIGRATION_LOCK});
      CREATE TABLE IF NOT EXISTS ${this.#table}
        (resource bytea PRIMARY KEY, owner bytea NOT NULL, expires_at timestamptz NOT NULL);
      COMMIT`);
  }

  /** Expired locks are free, but their rows stay until the next lock of the resource. */
  async #removeExpired(): Promise<void> {
    const expired = `DELETE FROM ${this.#table} WHERE expires_at < clock_timestamp() - interval '1 hour'`;
    // The next time, then.
    await this.#line.query(expired).catch(() => undefined);
  }

  close(): Promise<void> {
    clearInterval(this.#cleanup);
    return this.#line.close();
  }
}

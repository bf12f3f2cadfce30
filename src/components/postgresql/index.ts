/**
 * State in PostgreSQL.
 *
 * @packageDocumentation
 */

import type { StateDefinition } from '../../state/store.ts';
import type { Duration } from '../../util/duration.ts';
import {
  BOOLEAN,
  checkOptions,
  field,
  invalidArgument,
  type OptionField,
  type OptionFields,
} from '../../util/option-fields.ts';
import type { StateCall } from '../remote/observed-server.ts';
import { openRemoteStore, placeOf } from '../remote/remote-store.ts';
import { REMOTE_STORE_FIELDS, timeoutsOf } from '../remote/store-options.ts';
import { type PostgresqlConnection, targetOf, URL_FIELD, withUrl } from './connection-options.ts';
import { PgServer } from './pg-server.ts';
import { ddlOf, isSchemaName, SCHEMA_FORM } from './schema.ts';

/** Options of {@link postgresqlState}. @public */
export interface PostgresqlOptions {
  /**
   * A URL (`postgresql://user:password@host:5432/database?sslmode=verify-full`), pairs (`host=… user=…`), or its parts.
   * Of several hosts (`postgresql://user@a,b:5433/database`) the first one that is a primary is used.
   */
  readonly url: string | PostgresqlConnection;
  /** The schema that holds the state; sidecars that share it share state. Default `insidecar`. */
  readonly schema?: string | undefined;
  /** Whether missing tables and functions are created. Default: `true`. */
  readonly migrate?: boolean | undefined;
  /** Whether statements are prepared; `false` behind PgBouncer before 1.21 in transaction mode. Default: `true`. */
  readonly preparedStatements?: boolean | undefined;
  /**
   * `'synced'` refuses a server that does not sync commits (`fsync = off`); `'server'` accepts its settings. Default:
   * `'synced'`.
   */
  readonly durability?: 'synced' | 'server' | undefined;
  /** The time limit of one call to the server. Default `5s`. */
  readonly callTimeout?: Duration | undefined;
  /** The time limit of a read or a commit, with reconnections. Default `10s`. */
  readonly operationTimeout?: Duration | undefined;
  /**
   * Called after each call of the server, for metrics. It must not take long; what it throws is logged once. Default:
   * none.
   */
  readonly onCall?: ((call: StateCall) => void) | undefined;
}

export { type PostgresqlBindingOptions, postgresqlBinding } from './binding/postgresql-binding.ts';
export {
  type PostgresqlConfigurationOptions,
  postgresqlConfiguration,
} from './configuration/postgresql-configuration.ts';
export { type PostgresqlStateStoreOptions, postgresqlStateStore } from './kv/postgresql-state-store.ts';
export { type PostgresqlLocksOptions, postgresqlLocks } from './postgresql-locks.ts';
export type { PostgresqlConnection };

/**
 * The statements that create the tables and functions of this release, for a user with the right to create them; the
 * user of the sidecars needs `USAGE` on the schema and all rights on its tables.
 *
 * @param schema - default `insidecar`
 * @throws SidecarError `ERR_INVALID_ARGUMENT` for a name that is no schema's.
 * @public
 */
export function postgresqlDdl(schema: string = DEFAULT_SCHEMA): string {
  checkOptions('postgresqlDdl', { schema }, { schema: SCHEMA }, (message) => invalidArgument(message, 'schema'));
  return ddlOf(schema);
}

const SCHEMA: OptionField = field(isSchemaName, SCHEMA_FORM);
const FIELDS: OptionFields<PostgresqlOptions> = {
  ...REMOTE_STORE_FIELDS,
  url: URL_FIELD,
  schema: SCHEMA,
  migrate: BOOLEAN,
  preparedStatements: BOOLEAN,
};
const DEFAULT_SCHEMA = 'insidecar';

/**
 * State in PostgreSQL 13 or later, for sidecars on several machines. Needs the package `pg` 8. A commit resolves when
 * the server has synced it, even if its `synchronous_commit` is `off`.
 *
 * If the server does not respond at the start, the store connects as soon as it does; until then the sidecar is not
 * healthy. Opening rejects with a `StateError`: `driver-missing`, `newer-format`, or `failed` for errors that retries
 * cannot fix, such as wrong credentials or a server that does not sync.
 *
 * @param given - the URL or pairs, or the options
 * @example
 * ```ts
 * const state = postgresqlState('postgresql://app:secret@db.internal:5432/shop');
 * const sidecar = new Sidecar({ appId: 'orders', state });
 * ```
 * @public
 */
export function postgresqlState(given: string | PostgresqlOptions): StateDefinition {
  const options: PostgresqlOptions = withUrl(given);
  checkOptions('options of postgresqlState', options, FIELDS);
  const { url, schema = DEFAULT_SCHEMA, migrate = true, preparedStatements = true } = options;
  const { durability = 'synced', onCall } = options;
  const timeouts = timeoutsOf(options);
  const names = { ...targetOf(url, 'postgresqlState'), schema };
  const { callTimeoutMs } = timeouts;
  const behaviour = { migrates: migrate, prepares: preparedStatements, durability, callTimeoutMs };
  const makeServer = (): PgServer => new PgServer({ ...names, ...behaviour });
  return {
    type: 'postgresql',
    place: placeOf(makeServer()),
    open: (context) => openRemoteStore(makeServer(), context, { ...timeouts, onCall, random: Math.random }),
  };
}

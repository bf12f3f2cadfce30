import { type Duration, msOf } from '../../../util/duration.ts';
import { duration } from '../../../util/duration-option.ts';
import { checkOptions, type OptionFields, required, TEXT, TEXTS } from '../../../util/option-fields.ts';
import type { ConfigurationStoreDefinition } from '../../configuration-store.ts';
import { type PostgresqlConnection, targetOf, URL_FIELD } from '../connection-options.ts';
import { loadPg } from '../driver.ts';
import { TABLE_NAME } from '../table-name.ts';
import { PgConfiguration } from './pg-configuration.ts';

/** Options of {@link postgresqlConfiguration}. @public */
export interface PostgresqlConfigurationOptions {
  /** A URL (`postgresql://user:password@host:5432/database`), pairs (`host=… user=…`), or its parts. */
  readonly url: string | PostgresqlConnection;
  /**
   * The table, with the columns `key`, `value`, `version` and `metadata`: letters, digits and underscores, with a schema
   * and a dot before them if need be. Upper case is lower case, as in SQL.
   */
  readonly table: string;
  /** The channel on which the table's trigger notifies of changes, unless a request names another one. Default: none. */
  readonly notifyChannel?: string | undefined;
  /** App IDs that may use the store. Default: all. */
  readonly scopes?: readonly string[] | undefined;
  /** The time limit of an attempt to connect and of a query. Default `5s`. */
  readonly callTimeout?: Duration | undefined;
}

const DEFAULT_CALL_TIMEOUT_MS = 5_000;

const FIELDS: OptionFields<PostgresqlConfigurationOptions> = {
  url: URL_FIELD,
  table: required(TABLE_NAME),
  notifyChannel: TEXT,
  scopes: TEXTS,
  callTimeout: duration(1),
};

/**
 * Configuration in a table of PostgreSQL, in the form of Dapr's `configuration.postgresql`: the table and its trigger are
 * the user's. Needs the package `pg` 8. Of several rows of a key, the one with the greatest numeric version counts.
 *
 * Changes are seen by `NOTIFY` on a channel, with the payload `{"table", "action", "data": <row>}`.
 *
 * @param name - the name of the store in requests
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options.
 * @example
 * ```ts
 * const url = 'postgresql://app:secret@db.internal/shop';
 * const components = [
 *   postgresqlConfiguration('settings', { url, table: 'settings', notifyChannel: 'settings' }),
 * ];
 * ```
 * @public
 */
export function postgresqlConfiguration(
  name: string,
  options: PostgresqlConfigurationOptions,
): ConfigurationStoreDefinition {
  const what = `postgresqlConfiguration ${JSON.stringify(name)}`;
  checkOptions(`options of ${what}`, options, FIELDS);
  const { url, table, notifyChannel, scopes, callTimeout = DEFAULT_CALL_TIMEOUT_MS } = options;
  const target = targetOf(url, what);
  const load = (): ReturnType<typeof loadPg> => loadPg('pg', 'The component of type configuration.postgresql');
  return {
    block: 'configuration',
    name,
    type: 'configuration.postgresql',
    version: 'v1',
    ...(scopes === undefined ? {} : { scopes }),
    open: async ({ logger }) => {
      // A package that is not installed is an error of the start: it would look like a server that is down for ever.
      await load();
      return new PgConfiguration({
        target,
        load,
        callTimeoutMs: msOf(callTimeout),
        logger,
        random: Math.random,
        table,
        notifyChannel,
      });
    },
  };
}

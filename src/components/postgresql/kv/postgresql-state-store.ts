import { SidecarError } from '../../../errors.ts';
import { MAX_TIMEOUT_MS } from '../../../util/clock.ts';
import { type Complete, definedOnly } from '../../../util/defined-only.ts';
import { type Duration, msOf } from '../../../util/duration.ts';
import { duration } from '../../../util/duration-option.ts';
import { BOOLEAN, choice, field, type OptionFields, text, whole } from '../../../util/option-fields.ts';
import type { KeyValueDefinition, StateStoreOptions } from '../../key-value.ts';
import { checkStoreOptions } from '../../key-value-options.ts';
import { openAtOnce } from '../../remote/open-at-once.ts';
import { FORMAT_STORE_FIELDS, stateDefinition, TIMEOUT } from '../../state-definition.ts';
import { type PostgresqlConnection, targetOf, URL_FIELD, withUrl } from '../connection-options.ts';
import { loadPg } from '../driver.ts';
import { FORMATS, type FormatVersion } from './formats.ts';
import { KvServer } from './kv-server.ts';
import { PgKeyValue } from './pg-key-value.ts';
import { parseTableName, TABLE_FORM, type TableName, tableBeside } from './table-names.ts';

/** Options of {@link postgresqlStateStore}. @public */
export interface PostgresqlStateStoreOptions extends StateStoreOptions {
  /** As in {@link PostgresqlOptions}. */
  readonly url: string | PostgresqlConnection;
  /** The form of the values: `v1` of Dapr's component type has `jsonb`, `v2` bytes. Default `v2`. */
  readonly version?: 'v1' | 'v2' | undefined;
  /** `v1`: the table, with a schema and a dot if it is not found without. Default `state`. */
  readonly tableName?: string | undefined;
  /** `v2`: what stands before `state` in the table's name, with a schema and a dot if need be. Default: nothing. */
  readonly tablePrefix?: string | undefined;
  /** The table with the level of the state table. Default `dapr_metadata`. */
  readonly metadataTableName?: string | undefined;
  /** How often expired values are deleted; 0 for never. Default `1h`. */
  readonly cleanupInterval?: Duration | undefined;
  /** The most connections: one reads, the others write. At least 2. Default 4. */
  readonly maxConnections?: number | undefined;
  /** Whether statements are prepared; `false` behind PgBouncer before 1.21 in transaction mode. Default: `true`. */
  readonly preparedStatements?: boolean | undefined;
  /** App IDs that may use the store. Default: all. */
  readonly scopes?: readonly string[] | undefined;
  /** The time limit of an attempt to connect and of a statement. Default `5s`. */
  readonly callTimeout?: Duration | undefined;
}

const TABLE = text(TABLE_FORM);
const FIELDS: OptionFields<PostgresqlStateStoreOptions> = {
  ...FORMAT_STORE_FIELDS,
  url: URL_FIELD,
  version: choice('v1', 'v2'),
  tableName: TABLE,
  tablePrefix: field((value) => typeof value === 'string', TABLE_FORM),
  metadataTableName: TABLE,
  cleanupInterval: duration(0, MAX_TIMEOUT_MS),
  maxConnections: whole(2, 100),
  preparedStatements: BOOLEAN,
  callTimeout: TIMEOUT,
};
const DEFAULTS = {
  version: 'v2',
  tableName: 'state',
  tablePrefix: '',
  metadataTableName: 'dapr_metadata',
  cleanupInterval: 3_600_000,
  maxConnections: 4,
  preparedStatements: true,
  callTimeout: 5_000,
} as const;

/**
 * A state store in PostgreSQL 13 or later, in the tables of Dapr's `state.postgresql`: both can read and write the same
 * rows. Needs the package `pg` 8. Missing tables are created. A write resolves once it is committed, and synced if the
 * server syncs.
 *
 * `v1` keeps JSON as `jsonb`, which drops the order of members and refuses U+0000.
 *
 * @param name - the name of the store in requests
 * @param options - the URL or pairs, or the options
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options.
 * @example
 * ```ts
 * const store = postgresqlStateStore('orders', 'postgresql://app:secret@db.internal:5432/shop');
 * const sidecar = new Sidecar({ appId: 'orders', components: [store] });
 * ```
 * @public
 */
export function postgresqlStateStore(name: string, options: string | PostgresqlStateStoreOptions): KeyValueDefinition {
  const stated: PostgresqlStateStoreOptions = withUrl(options);
  const component = `postgresqlStateStore ${JSON.stringify(name)}`;
  const what = `options of ${component}`;
  checkStoreOptions(what, stated, FIELDS);
  const given = { ...DEFAULTS, ...definedOnly(stated) };
  const { version, maxConnections, tablePrefix } = given;
  const [callTimeoutMs, cleanupIntervalMs] = [msOf(given.callTimeout), msOf(given.cleanupInterval)];
  const tables = tablesOf(given, what);
  const keys = keysOf(version, tablePrefix);
  const { hosts, name: serverName } = targetOf(given.url, component);
  const makeServer = (): KvServer =>
    new KvServer({
      hosts,
      name: serverName,
      format: FORMATS[version],
      tables,
      levelKey: keys.level,
      prepares: given.preparedStatements,
      callTimeoutMs,
    });
  return stateDefinition({ name, type: 'state.postgresql', version }, stated, async (context) => {
    // A package that is not installed is an error of the start: it would look like a server that is down for ever.
    await loadPg();
    const settings = { name, version, server: makeServer(), callTimeoutMs, cleanupKey: keys.cleanup };
    return openAtOnce(new PgKeyValue({ ...settings, writers: maxConnections - 1, cleanupIntervalMs }, context));
  });
}

/** The keys in the metadata table, as Dapr writes them. */
function keysOf(version: FormatVersion, prefix: string): { readonly level: string; readonly cleanup: string } {
  if (version === 'v1') return { level: 'migrations', cleanup: 'last-cleanup' };
  return { level: `migrations-state-v2-${prefix}`, cleanup: `last-cleanup-state-v2-${prefix}` };
}

function tablesOf(
  {
    version,
    tableName,
    tablePrefix,
    metadataTableName,
  }: Complete<Pick<PostgresqlStateStoreOptions, 'version' | 'tableName' | 'tablePrefix' | 'metadataTableName'>>,
  what: string,
): { readonly state: TableName; readonly metadata: TableName; readonly outbox: TableName } {
  const read = (option: string, written: string, table = written): TableName => {
    const parsed = parseTableName(table);
    if (parsed !== undefined) return parsed;
    const message = `${option} ${JSON.stringify(written)} in ${what}: expected ${TABLE_FORM}`;
    throw new SidecarError('ERR_CONFIGURATION', message);
  };
  const state =
    version === 'v1' ? read('tableName', tableName) : read('tablePrefix', tablePrefix, `${tablePrefix}state`);
  const metadata = read('metadataTableName', metadataTableName);
  return { state, metadata, outbox: tableBeside(state, `${state.name}_insidecar_outbox`) };
}

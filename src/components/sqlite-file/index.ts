import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SidecarError } from '../../errors.ts';
import { MAX_TIMEOUT_MS } from '../../util/clock.ts';
import { type Duration, msOf } from '../../util/duration.ts';
import { duration } from '../../util/duration-option.ts';
import { field, type OptionFields, required, text } from '../../util/option-fields.ts';
import type { KeyValueDefinition, StateStoreOptions } from '../key-value.ts';
import { checkStoreOptions } from '../key-value-options.ts';
import { FORMAT_STORE_FIELDS, stateDefinition } from '../state-definition.ts';
import { openSqliteKeyValue } from './sqlite-key-value.ts';

/** Options of {@link sqliteStateStore}. @public */
export interface SqliteStateStoreOptions extends StateStoreOptions {
  /** The database file: a path, relative to the working directory, or a `file:` URL. Created if it is missing. */
  readonly file: string;
  /** The table: letters, digits and underscores. Default `state`. */
  readonly tableName?: string | undefined;
  /** The table with the level of the other one. Default `metadata`. */
  readonly metadataTableName?: string | undefined;
  /** How long a call waits while another process writes to the file. Default `5s`. */
  readonly busyTimeout?: Duration | undefined;
  /** How often expired values are deleted; 0 for never. Default `1h`. */
  readonly cleanupInterval?: Duration | undefined;
  /** App IDs that may use the store. Default: all. */
  readonly scopes?: readonly string[] | undefined;
}

const TABLE = field(
  (value) => typeof value === 'string' && /^\w{1,100}$/.test(value),
  'a name of letters, digits and underscores',
);
const FIELDS: OptionFields<SqliteStateStoreOptions> = {
  ...FORMAT_STORE_FIELDS,
  file: required(text('a path or a file: URL')),
  tableName: TABLE,
  metadataTableName: TABLE,
  busyTimeout: duration(0, MAX_TIMEOUT_MS),
  cleanupInterval: duration(0, MAX_TIMEOUT_MS),
};

/**
 * A state store in a file of SQLite, in the table of Dapr's `state.sqlite`: other processes can read and write it at the
 * same time. Every write is synced to the disk, on a separate thread. On Node 22.13 and later there is nothing to
 * install; on Node 20, install the package `@photostructure/sqlite`.
 *
 * SQLite before 3.51.3 can damage a file that several processes write to at the same moment; the log says so. State that
 * only this process needs is better kept in its own state ({@link embeddedState}).
 *
 * @param name - the name of the store in requests
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options.
 * @example
 * ```ts
 * const sidecar = new Sidecar({ appId: 'orders', components: [sqliteStateStore('orders', { file: './orders.db' })] });
 * ```
 * @public
 */
export function sqliteStateStore(name: string, options: SqliteStateStoreOptions): KeyValueDefinition {
  const what = `options of sqliteStateStore ${JSON.stringify(name)}`;
  checkStoreOptions(what, options, FIELDS);
  const { tableName = 'state', metadataTableName = 'metadata' } = options;
  const { busyTimeout = 5_000, cleanupInterval = 3_600_000 } = options;
  const wrong = (expected: string): SidecarError =>
    new SidecarError('ERR_CONFIGURATION', `file ${JSON.stringify(options.file)} in ${what}: expected ${expected}`);
  const path = pathOf(options.file, wrong);
  const times = { busyTimeoutMs: msOf(busyTimeout), cleanupIntervalMs: msOf(cleanupInterval) };
  const settings = { name, path, tableName, metadataTableName, ...times };
  return stateDefinition({ name, type: 'state.sqlite', version: 'v1' }, options, (context) =>
    openSqliteKeyValue(settings, context),
  );
}

/** The path in a connection string of SQLite: parameters say how to open the file, which is decided here. */
function pathOf(text: string, wrong: (expected: string) => Error): string {
  const [place = '', query = ''] = text.startsWith('file:') ? text.split('?', 2) : [text];
  const parameters = new URLSearchParams(query);
  if (/^(?:file:)?(?:\/\/)?:memory:/i.test(place) || parameters.get('mode') === 'memory')
    throw wrong('a file; state.in-memory keeps values in memory');
  if (parameters.get('mode') === 'ro' || parameters.get('immutable') === '1')
    throw wrong('a file that may be written to');
  if (!place.startsWith('file:')) return resolve(place);
  try {
    if (place.startsWith('file:/')) return fileURLToPath(place);
    return resolve(decodeURIComponent(place.slice('file:'.length)));
  } catch {
    throw wrong('a path or a URL like file:data.db or file:///var/lib/data.db');
  }
}

import { quote, StateError } from '../../state/errors.ts';
import type { SqliteConnection } from '../embedded/driver.ts';
import type { EngineSettings } from './file-engine.ts';

/** The level of Dapr's migrations at which the table is as below. */
const LEVEL = 1;
const COLUMNS = ['key', 'value', 'is_binary', 'etag', 'expiration_time', 'update_time'];

/** Settings of the connection. Other processes may use the file at the same time, with settings of their own. */
export function prepare(connection: SqliteConnection, busyTimeoutMs: number): void {
  connection.execute(`PRAGMA busy_timeout=${busyTimeoutMs}`);
  connection.valueOf('PRAGMA journal_mode=WAL');
  // FULL: a sync per transaction, not the default of every driver. macOS syncs to the platter only with fullfsync.
  connection.execute(`PRAGMA synchronous=FULL; PRAGMA fullfsync=1; PRAGMA checkpoint_fullfsync=1;
    PRAGMA trusted_schema=OFF`);
}

/**
 * Creates what is missing of the tables, as Dapr does, at its level. A table that has the columns stays as it is, whatever
 * its level. Within a transaction.
 *
 * @throws StateError if the table of that name is another one
 */
export function migrate(
  connection: SqliteConnection,
  { path, tableName: table, metadataTableName }: EngineSettings,
): void {
  connection.execute(`CREATE TABLE IF NOT EXISTS "${metadataTableName}" (key text NOT NULL PRIMARY KEY, value text NOT NULL);
    CREATE TABLE IF NOT EXISTS "${table}" (
      key TEXT NOT NULL PRIMARY KEY,
      value TEXT NOT NULL,
      is_binary BOOLEAN NOT NULL,
      etag TEXT NOT NULL,
      expiration_time TIMESTAMP DEFAULT NULL,
      update_time TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP
    );
    INSERT INTO "${metadataTableName}" (key, value) VALUES ('migrations', '${LEVEL}') ON CONFLICT (key) DO NOTHING`);
  const rows = connection.statement(`SELECT name FROM pragma_table_info('${table}')`).all();
  const names = new Set(rows.map((row) => (row as { readonly name: string }).name));
  const missing = COLUMNS.filter((name) => !names.has(name));
  if (missing.length === 0) return;
  const message = `The table ${table} of the database file ${quote(path)} lacks the columns ${missing.join(', ')}`;
  throw new StateError('corrupt', `${message}: it is not one of state.sqlite.`);
}

import { quote, StateError } from '../../state/errors.ts';
import {
  checkDatabaseIsThere,
  databaseFileOf,
  ensureDatabaseFile,
  ensureDirectory,
  inUseError,
  networkWarning,
  recordClosing,
  recordOpening,
  syncDirectory,
} from './directory.ts';
import { SqliteConnection, type SqliteModule } from './driver.ts';
import { corruptError, stateErrorOf } from './failures.ts';
import { checkLog } from './log-check.ts';
import { MIGRATIONS, SCHEMA_VERSION } from './migrations.ts';

/** Marks the file as ours ("insc"), so that another program's database is not mistaken for an empty one. */
const APPLICATION_ID = 0x696e7363;

/** Covers the moment in which another process is just ending and still holds the lock. */
const BUSY_TIMEOUT_MS = 1000;

/** How a database is opened. */
export interface OpenOptions {
  /** How long to wait for the lock. Default: one second. */
  readonly busyTimeoutMs?: number | undefined;
  /** Whether other processes will be able to join. Default: false. */
  readonly isShareable?: boolean | undefined;
  /** Whether nothing is to survive a crash of the machine. Default: false. */
  readonly isTransient?: boolean | undefined;
  /** Called about commits that may be lost. */
  readonly onWarning?: (text: string) => void;
}

/** The size to which the log is truncated after a burst, in bytes. */
const MAX_LOG_KEPT_BYTES = 64 * 1024 * 1024;
/** The largest file whose pages are checked at every start: 20 ms of CPU time with rows of 300 bytes. */
const MAX_CHECKED_BYTES = 8 * 1024 * 1024;
/** Negative: KiB instead of pages. */
const CACHE_SIZE = -16 * 1024;

/**
 * Opens the database of a directory; creates or migrates it if necessary.
 *
 * The lock is SQLite's exclusive one, held until the connection is closed or the process has ended in any way. It also
 * keeps the index of the write-ahead log in private memory. There is exactly one connection: SQLite versions before
 * 3.51.3 are safe only with one (sqlite.org/wal.html#walresetbug).
 */
export function openDatabase(sqlite: SqliteModule, path: string, options: OpenOptions = {}): SqliteConnection {
  const connection = connect(sqlite, path, options);
  try {
    prepare(connection, path, options);
    return connection;
  } catch (error) {
    const translated = stateErrorOf(error, path);
    if (translated.kind !== 'in-use') {
      closeDatabase(connection, path);
      throw translated;
    }
    connection.close();
    throw inUseError(path, error);
  }
}

/** Closes a database of which this process has the lock. SQLite then removes the log: the next start expects none. */
export function closeDatabase(connection: SqliteConnection, path: string): void {
  recordClosing(path);
  connection.close();
}

function connect(sqlite: SqliteModule, path: string, { onWarning, isTransient }: OpenOptions): SqliteConnection {
  try {
    ensureDirectory(path, isTransient);
    checkDatabaseIsThere(path);
    const warning = checkLog(path);
    const warnings = [networkWarning(path), warning].filter((text) => text !== undefined);
    if (warnings.length > 0) onWarning?.(warnings.join(' '));
    ensureDatabaseFile(path);
    return new SqliteConnection(sqlite, databaseFileOf(path));
  } catch (error) {
    throw stateErrorOf(error, path);
  }
}

function prepare(connection: SqliteConnection, path: string, options: OpenOptions): void {
  const { busyTimeoutMs = BUSY_TIMEOUT_MS, isShareable = false, isTransient = false } = options;
  connection.execute(`PRAGMA busy_timeout=${busyTimeoutMs}; PRAGMA locking_mode=EXCLUSIVE`);
  // The first statement that touches the file: fails if the file is locked or is not a database.
  const schemaVersion = checkOwner(connection, path);
  checkPages(connection);
  // FULL: a sync per transaction, not the default of every driver. macOS syncs to the platter only with fullfsync.
  connection.execute(
    `PRAGMA synchronous=${isTransient ? 'OFF' : 'FULL'}; PRAGMA fullfsync=1; PRAGMA checkpoint_fullfsync=1`,
  );
  const journalMode = connection.valueOf('PRAGMA journal_mode=WAL');
  if (journalMode !== 'wal') {
    throw new StateError(
      'failed',
      `The state directory ${quote(path)} does not allow a write-ahead log (${String(journalMode)}).`,
    );
  }
  connection.execute(`PRAGMA wal_autocheckpoint=0; PRAGMA journal_size_limit=${MAX_LOG_KEPT_BYTES};
    PRAGMA cache_size=${CACHE_SIZE}; PRAGMA temp_store=MEMORY; PRAGMA trusted_schema=OFF`);
  migrate(connection, schemaVersion);
  if (!isTransient) syncDirectory(path);
  // Last: now there is a log.
  recordOpening(path, isShareable ? 'opening' : undefined);
}

/** Returns the schema version; throws before any change if the file is not ours or from a later release. */
function checkOwner(connection: SqliteConnection, path: string): number {
  const schemaVersion = Number(connection.valueOf('PRAGMA user_version'));
  const applicationId = connection.valueOf('PRAGMA application_id');
  const tables = Number(connection.valueOf('SELECT count(*) FROM sqlite_schema'));
  if (applicationId !== APPLICATION_ID && (tables > 0 || schemaVersion > 0)) {
    throw new StateError('corrupt', `The file ${quote(databaseFileOf(path))} is a database of another program.`);
  }
  if (schemaVersion > SCHEMA_VERSION) {
    throw new StateError(
      'newer-format',
      `The state directory ${quote(path)} has schema version ${schemaVersion}; this release knows up to ` +
        `${SCHEMA_VERSION}. A newer release of insidecar wrote it: use that one.`,
    );
  }
  return schemaVersion;
}

/** Finds damage that hides rows, such as a page that is not in the tree. The contents of rows have checksums. */
function checkPages(connection: SqliteConnection): void {
  const bytes = Number(connection.valueOf('PRAGMA page_count')) * Number(connection.valueOf('PRAGMA page_size'));
  if (bytes === 0 || bytes > MAX_CHECKED_BYTES) return;
  const found = connection.valueOf('PRAGMA quick_check(1)');
  if (found !== 'ok') throw corruptError(String(found));
}

/** In one transaction: a crash leaves the old schema or the new one. It also proves that the file is writable. */
function migrate(connection: SqliteConnection, from: number): void {
  connection.execute('BEGIN IMMEDIATE');
  for (const migration of MIGRATIONS.slice(from)) connection.execute(migration);
  connection.execute(`PRAGMA application_id=${APPLICATION_ID}; PRAGMA user_version=${SCHEMA_VERSION}; COMMIT`);
}

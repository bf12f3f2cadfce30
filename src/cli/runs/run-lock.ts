import { join } from 'node:path';
import { loadSqlite, type SqliteModule } from '../../components/embedded/driver.ts';

const LOCK_FILE = 'lock.db';
/** What is done under the lock takes milliseconds; who stands still there cannot be waited for. */
const PATIENCE_MS = 10_000;

/** The lock of the directory for the files of runs. It is the kernel's, by way of SQLite: it ends with its process. */
export class RunLock {
  readonly #sqlite: SqliteModule;
  readonly #file: string;

  private constructor(sqlite: SqliteModule, directory: string) {
    this.#sqlite = sqlite;
    this.#file = join(directory, LOCK_FILE);
  }

  /** @throws StateError `driver-missing` on a Node without SQLite. */
  static async of(directory: string): Promise<RunLock> {
    return new RunLock(await loadQuietly(), directory);
  }

  /** Does work that no other command does meanwhile. @throws the error of SQLite, if the lock cannot be had. */
  hold(work: () => void): void {
    const database = new this.#sqlite.DatabaseSync(this.#file);
    try {
      database.exec(`PRAGMA busy_timeout=${PATIENCE_MS}; BEGIN EXCLUSIVE`);
      work();
      // Said aloud: the driver of old versions keeps the file open until the process ends.
      database.exec('ROLLBACK');
    } finally {
      database.close();
    }
  }
}

/** Node warns that its SQLite is experimental, which is of no use to who runs a command. */
async function loadQuietly(): Promise<SqliteModule> {
  const { emitWarning } = process;
  process.emitWarning = (warning: string | Error, ...more: [options?: unknown]): void => {
    if (more[0] !== 'ExperimentalWarning') Reflect.apply(emitWarning, process, [warning, ...more]);
  };
  try {
    return await loadSqlite();
  } finally {
    process.emitWarning = emitWarning;
  }
}

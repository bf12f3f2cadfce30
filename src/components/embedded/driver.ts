import { StateError } from '../../state/errors.ts';
import { loadPackage } from '../../util/load-package.ts';

/** The SQLite values used here. Bytes must be blobs: the fallback driver cuts text at a NUL. */
export type SqlValue = number | string | Uint8Array | null;

/** A prepared statement, with the interface of `node:sqlite`. */
export interface StatementLike {
  run(...parameters: readonly SqlValue[]): unknown;
  get(...parameters: readonly SqlValue[]): unknown;
  all(...parameters: readonly SqlValue[]): unknown[];
}

/** A connection, with the interface of `node:sqlite`. */
export interface DatabaseLike {
  exec(sql: string): void;
  prepare(sql: string): StatementLike;
  close(): void;
}

/** The part of the `node:sqlite` module that is used. */
export interface SqliteModule {
  readonly DatabaseSync: new (file: string) => DatabaseLike;
}

/** Typed as any text, so that TypeScript does not resolve it: it may be missing. */
export const BUILT_IN: string = 'node:sqlite';

/** The runtime's own SQLite (Node 22.13 and later), else the optional package with the same interface. */
export async function loadSqlite(): Promise<SqliteModule> {
  return (await tryImport(BUILT_IN)) ?? (await importFallback());
}

async function tryImport(name: string): Promise<SqliteModule | undefined> {
  try {
    return (await import(name)) as SqliteModule;
  } catch {
    return undefined;
  }
}

function importFallback(): Promise<SqliteModule> {
  const neededBy = `Embedded state on Node ${process.versions.node}, which has no SQLite,`;
  const wanted = { name: '@photostructure/sqlite', version: '1.2.1', neededBy };
  return loadPackage(
    wanted,
    (message, cause) => new StateError('driver-missing', `${message} Node 22.13 and later have SQLite.`, cause),
  );
}

/**
 * A connection that keeps all its statements. The fallback driver crashes if statements or connections in use are
 * garbage-collected, so nothing is released before the process or thread ends, and each SQL text is prepared once.
 */
export class SqliteConnection {
  readonly #database: DatabaseLike;
  readonly #statements = new Map<string, StatementLike>();

  constructor(sqlite: SqliteModule, file: string) {
    this.#database = new sqlite.DatabaseSync(file);
  }

  /** The prepared statement of an SQL text, which must be one of a fixed few. */
  statement(sql: string): StatementLike {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  /** Runs SQL without a result. */
  execute(sql: string): void {
    this.#database.exec(sql);
  }

  /** The first column of the first row, such as the value of a pragma. */
  valueOf(sql: string): unknown {
    const row = this.statement(sql).get();
    return Object.values((row ?? {}) as Record<string, unknown>)[0];
  }

  /**
   * Closes the file. The fallback driver cannot finalize statements, and SQLite keeps the file and its lock until they
   * are finalized: with that driver, both are released when the thread ends.
   */
  close(): void {
    this.#database.close();
  }
}

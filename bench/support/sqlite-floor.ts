import { databaseFileOf } from '../../src/components/embedded/directory.ts';
import { loadSqlite, SqliteConnection } from '../../src/components/embedded/driver.ts';
import type { Batch, StateDefinition } from '../../src/state/store.ts';

/** A store that notes what is committed to it. */
export interface Recorded {
  readonly definition: StateDefinition;
  /** In the order of the calls. */
  readonly commits: readonly Batch[];
}

/** Notes the commits to a store. */
export function recorded(inner: StateDefinition): Recorded {
  const commits: Batch[] = [];
  const open: StateDefinition['open'] = async (context) => {
    const store = await inner.open(context);
    return new Proxy(store, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        if (name !== 'commit') return member.bind(target) as unknown;
        return (batch: Batch) => {
          commits.push(batch);
          return target.commit(batch);
        };
      },
    });
  };
  return { definition: { ...inner, open }, commits };
}

/** The table of the embedded store with its settings; the checkpoint is SQLite's own, every 1000 pages. */
export function createTable(connection: SqliteConnection): void {
  connection.execute(`PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
    CREATE TABLE entry (key BLOB PRIMARY KEY, version INTEGER NOT NULL, value BLOB NOT NULL) WITHOUT ROWID`);
}

/**
 * Writes the same rows with SQLite and nothing else, on this thread, a synced transaction for each commit: what no store
 * on SQLite can be faster than. Returns how many milliseconds it took.
 */
export async function writtenDirectlyMs(directory: string, commits: readonly Batch[]): Promise<number> {
  const connection = new SqliteConnection(await loadSqlite(), databaseFileOf(directory));
  createTable(connection);
  const insert = connection.statement('INSERT OR REPLACE INTO entry (key, version, value) VALUES (?, ?, ?)');
  const remove = connection.statement('DELETE FROM entry WHERE key = ?');
  const startedAt = performance.now();
  for (const [version, { put = [], delete: deleted = [] }] of commits.entries()) {
    connection.statement('BEGIN').run();
    for (const { key, value } of put) insert.run(Buffer.from(key), version, value);
    for (const key of deleted) remove.run(Buffer.from(key));
    connection.statement('COMMIT').run();
  }
  const took = performance.now() - startedAt;
  connection.close();
  return took;
}

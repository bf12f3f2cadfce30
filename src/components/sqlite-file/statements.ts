import type { FileSettings } from '../embedded/protocol.ts';

/** The statements of a store. Keys and values are bound as bytes: drivers may cut a text at a NUL. */
export interface SqliteStatements {
  readonly get: string;
  readonly list: string;
  readonly etag: string;
  readonly put: string;
  readonly remove: string;
  readonly createOutbox: string;
  readonly addEvent: string;
  readonly readEvents: string;
  readonly removeEvent: string;
  readonly markCleanup: string;
  readonly deleteExpired: string;
}

/** Rows that one transaction of a cleanup deletes: other processes wait for it. */
export const ROWS_PER_CLEANUP = 1_000;

const EVENTS_PER_PAGE = 100;

/** Now as a text like `CURRENT_TIMESTAMP`, which Dapr compares with, and milliseconds: it is greater than the text alone. */
const NOW = `strftime('%Y-%m-%d %H:%M:%f', 'now')`;
/** Empty bytes may be bound as null. */
const TEXT = `CAST(coalesce(?, x'') AS TEXT)`;

export function statementsOf({ tableName: table, metadataTableName: metadata }: FileSettings): SqliteStatements {
  const alive = `(expiration_time IS NULL OR expiration_time > ${NOW})`;
  const columns = 'CAST(key AS BLOB) AS key, CAST(value AS BLOB) AS value, is_binary, etag, expiration_time';
  const outbox = `${table}_insidecar_outbox`;
  return {
    get: `SELECT ${columns} FROM "${table}" WHERE key = ${TEXT} AND ${alive}`,
    list: `SELECT ${columns} FROM "${table}" WHERE key >= ${TEXT} AND key > ${TEXT} AND key < ${TEXT} AND ${alive}
      ORDER BY key LIMIT ?`,
    etag: `SELECT etag FROM "${table}" WHERE key = ${TEXT} AND ${alive}`,
    put: `INSERT INTO "${table}" (key, value, is_binary, etag, expiration_time, update_time)
      VALUES (${TEXT}, ${TEXT}, ?, ?, strftime('%Y-%m-%d %H:%M:%f', 'now', ?), CURRENT_TIMESTAMP)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value, is_binary = excluded.is_binary, etag = excluded.etag,
        expiration_time = excluded.expiration_time, update_time = excluded.update_time`,
    remove: `DELETE FROM "${table}" WHERE key = ${TEXT}`,
    createOutbox: `CREATE TABLE IF NOT EXISTS "${outbox}" (
      number INTEGER PRIMARY KEY AUTOINCREMENT, store TEXT NOT NULL, id TEXT NOT NULL, event BLOB NOT NULL,
      UNIQUE (store, id)
    )`,
    addEvent: `INSERT INTO "${outbox}" (store, id, event) VALUES (?, ?, coalesce(?, x''))`,
    readEvents: `SELECT number, id, event FROM "${outbox}" WHERE store = ? AND number > CAST(? AS INTEGER)
      ORDER BY number LIMIT ${EVENTS_PER_PAGE}`,
    removeEvent: `DELETE FROM "${outbox}" WHERE store = ? AND id = ?`,
    markCleanup: `INSERT INTO "${metadata}" (key, value) VALUES ('last-cleanup', CURRENT_TIMESTAMP)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value
      WHERE (julianday('now') - julianday(value)) * 86400000 > ? RETURNING key`,
    deleteExpired: `DELETE FROM "${table}" WHERE rowid IN (
      SELECT rowid FROM "${table}" WHERE expiration_time < CURRENT_TIMESTAMP LIMIT ${ROWS_PER_CLEANUP}
    ) RETURNING 1`,
  };
}

/**
 * The migrations from each schema version to the next; the first creates a new file. Released ones never change; new
 * ones are appended, and `user_version` is the number applied to a file.
 *
 * Without rowid, the value is stored with its key: one tree to write instead of two (measured 10-20 % faster with
 * 300-byte values). Keys are blobs, so they are ordered by bytes.
 */
export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE entry (key BLOB PRIMARY KEY, version INTEGER NOT NULL, value BLOB NOT NULL) WITHOUT ROWID;
   CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
   INSERT INTO counter (name, value) VALUES ('reserved-version', 0);`,
  // Only the schema changes: rows that are there have no checksum until they are written again.
  'ALTER TABLE entry ADD COLUMN checksum INTEGER',
];

/** What the tables of this release are like, and which releases can read them. */
export const SCHEMA_VERSION: number = MIGRATIONS.length;

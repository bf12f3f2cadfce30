import type { StateError } from '../../state/errors.ts';
import { DatabaseFile } from './database-file.ts';
import type { SqliteConnection, SqlValue } from './driver.ts';
import { canRecover, corruptError, stateErrorOf } from './failures.ts';
import type {
  AnsweredRow,
  CommitOutcome,
  GroupOutcome,
  PackedBatch,
  PackedGroup,
  PackedRange,
  PackedRead,
  PackedScan,
  ThreadFailure,
} from './protocol.ts';
import { checkedRow, checkOrder, checksumOf, type ScannedRow, type StoredRow } from './rows.ts';
import { closeDatabase } from './schema.ts';
import { type ClosedSessionRow, SessionTable, VERSIONS_PER_SESSION } from './session-table.ts';

/** Versions reserved by one write; a crash loses up to this many, of 2^53. */
const VERSIONS_RESERVED = 1_000_000;
/**
 * Approximate size of the log at a checkpoint, in pages of 4 KiB: a longer log means a longer pause. With 64 callers
 * the p99 of commits is 5.8 ms at 1,000 pages (SQLite's default) and 3.5 ms at 250, at the same throughput.
 */
const PAGES_PER_CHECKPOINT = 250;
const PAGE_BYTES = 4096;
/** Bounds of the log pages per changed row, for the estimate below. */
const FEWEST_PAGES_PER_UNIT = 1 / 64;
const MAX_PAGES_PER_UNIT = 8;

const GET = 'SELECT version, value, checksum FROM entry WHERE key = ?';
const VERSION = 'SELECT version FROM entry WHERE key = ?';
// Drivers may bind empty bytes as NULL, hence coalesce wherever they can be empty.
const ROW = `(?, ?, coalesce(?, x''), ?)`;
/** Rows written by one statement, if there are as many: halves the time per row (3.5 to 1.8 µs). */
const ROWS_PER_PUT = [16, 4, 1] as const;
const PUT = new Map<number, string>(ROWS_PER_PUT.map((rows) => [rows, putSql(rows)]));
/** Likewise for rows that are deleted. */
const ROWS_PER_DELETE = [16, 4, 1] as const;
const DELETE = new Map<number, string>(ROWS_PER_DELETE.map((rows) => [rows, deleteSql(rows)]));
const RESERVED = `SELECT value FROM counter WHERE name = 'reserved-version'`;
const RESERVE = `UPDATE counter SET value = ? WHERE name = 'reserved-version'`;

function putSql(rows: number): string {
  return `INSERT INTO entry (key, version, value, checksum) VALUES ${Array.from({ length: rows }, () => ROW).join()}
    ON CONFLICT (key)
    DO UPDATE SET version = excluded.version, value = excluded.value, checksum = excluded.checksum`;
}

function deleteSql(rows: number): string {
  return `DELETE FROM entry WHERE key IN (${Array.from({ length: rows }, () => '?').join()})`;
}

export interface EngineOptions {
  /** The directory, for messages. */
  readonly path: string;
  /** Called within each transaction before its commit; for tests and benchmarks. */
  readonly beforeCommit?: () => void;
}

/**
 * The synchronous state store on one SQLite connection. A group of commits is written in one transaction, so it costs
 * one sync, whatever its size.
 */
export class SqliteEngine {
  readonly #connection: SqliteConnection;
  readonly #options: EngineOptions;
  readonly #file: DatabaseFile;
  /** The last version assigned. */
  #version = 0;
  /** The last version reserved for this engine. */
  #reserved = 0;
  /** The last version reserved for anybody, as in the file. */
  #counter: number;
  readonly #sessions: SessionTable;
  #failure: StateError | undefined;
  /** Rows put by batches of the current group but not yet passed to SQLite: no batch has read them. */
  readonly #rows: (readonly SqlValue[])[] = [];
  /** Rows changed and pages of values put since the last checkpoint: the basis for estimating the log's size. */
  #units = 0;
  #unitsPerCheckpoint = PAGES_PER_CHECKPOINT;

  constructor(connection: SqliteConnection, options: EngineOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#file = new DatabaseFile(options.path);
    this.#counter = reservedOf(connection);
    this.#sessions = new SessionTable(connection);
    this.#reserve();
  }

  get failure(): StateError | undefined {
    return this.#failure;
  }

  /** Whether a checkpoint has anything to do. */
  get hasLog(): boolean {
    return this.#units > 0;
  }

  /** Whether the log is so long that the next checkpoint should not wait for an idle moment. */
  get logIsLong(): boolean {
    return this.#units >= this.#unitsPerCheckpoint;
  }

  /** The rows of a read, at most one for a `get`; the number of a count. */
  read(read: PackedRead): readonly AnsweredRow[] | number | ThreadFailure {
    if (this.#failure !== undefined && !this.#canRead(this.#failure)) return failureOf(this.#failure);
    try {
      if ('count' in read) return this.#count(read.count);
      return 'get' in read ? this.#get(read.get) : this.#scan(read.scan);
    } catch (error) {
      return failureOf(this.#fail(error));
    }
  }

  /** A file that is not in its place any more is intact. */
  #canRead({ kind }: StateError): boolean {
    return canRecover(kind) || !this.#file.isInPlace;
  }

  #get(key: Uint8Array): readonly AnsweredRow[] {
    const row = this.#connection.statement(GET).get(key);
    return row === undefined ? [] : [checkedRow(row as StoredRow, key, this.#file.path)];
  }

  #count({ limit, ...range }: PackedRange & { readonly limit: number }): number {
    const sql = `SELECT count(*) AS count FROM (SELECT 1 FROM ${rowsOf(range)} LIMIT ?)`;
    return (this.#connection.statement(sql).get(...boundsOf(range), limit) as { count: number }).count;
  }

  #scan(scan: PackedScan): readonly AnsweredRow[] {
    const tail = `FROM ${rowsOf(scan)} ORDER BY key ${scan.reverse ? 'DESC' : 'ASC'} LIMIT ?`;
    const bounds = boundsOf(scan);
    const limit = scan.maxBytes < 0 ? scan.limit : this.#limitByBytes(tail, bounds, scan);
    const sql = `SELECT key, version, value, checksum ${tail}`;
    const rows = this.#connection.statement(sql).all(...bounds, limit) as ScannedRow[];
    checkOrder(rows, scan);
    return rows.map((row) => checkedRow(row, row.key, this.#file.path));
  }

  /** The number of entries until their values reach `maxBytes`: their lengths are known without reading them. */
  #limitByBytes(tail: string, bounds: readonly Uint8Array[], { limit, maxBytes }: PackedScan): number {
    const lengths = this.#connection.statement(`SELECT length(value) AS bytes ${tail}`).all(...bounds, limit);
    let bytes = 0;
    for (const [index, row] of lengths.entries()) {
      bytes += (row as { bytes: number }).bytes;
      if (bytes >= maxBytes) return index + 1;
    }
    return lengths.length;
  }

  /** Writes a group; each batch has its own outcome. Successful commits are durable when this returns. */
  commit(batches: readonly PackedBatch[]): readonly CommitOutcome[] {
    return this.#commitEach(batches, (batch) => this.#applyBatch(batch));
  }

  /** Like {@link commit}, with batches of this process and groups of others; each has its own outcome. */
  commitTogether(changes: readonly (PackedBatch | PackedGroup)[]): readonly (CommitOutcome | GroupOutcome)[] {
    return this.#commitEach(changes, (change) =>
      'session' in change ? this.#applyGroup(change) : this.#applyBatch(change),
    );
  }

  #commitEach<C, O>(changes: readonly C[], apply: (change: C) => O): readonly (O | { failure: ThreadFailure })[] {
    if (this.#failure !== undefined && !canRecover(this.#failure.kind)) {
      const failure = failureOf(this.#failure);
      return changes.map(() => ({ failure }));
    }
    try {
      const outcomes = this.#write(changes, apply);
      this.#failure = undefined;
      return outcomes;
    } catch (error) {
      const failure = this.#fail(error);
      // One change may be the cause, such as one larger than the free disk space: it must not fail the others.
      if (changes.length > 1 && canRecover(failure.kind))
        return changes.flatMap((change) => this.#commitEach([change], apply));
      return changes.map(() => ({ failure: failureOf(failure) }));
    }
  }

  #write<C, O>(changes: readonly C[], apply: (change: C) => O): readonly O[] {
    if (this.#version + changes.length > this.#reserved) this.#reserve();
    const outcomes = this.#inTransaction(() => {
      this.#rows.length = 0;
      const applied = changes.map(apply);
      this.#putRows();
      return applied;
    });
    this.#file.checkInPlace();
    return outcomes;
  }

  #inTransaction<T>(change: () => T): T {
    this.#connection.statement('BEGIN IMMEDIATE').run();
    try {
      const result = change();
      this.#options.beforeCommit?.();
      this.#connection.statement('COMMIT').run();
      return result;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  /** Some errors have already rolled back; the rollback then fails, and nothing is left to do. */
  #rollBack(): void {
    try {
      this.#connection.execute('ROLLBACK');
    } catch {
      // No transaction is active.
    }
  }

  #applyBatch(batch: PackedBatch): CommitOutcome {
    if (batch.require.length > 0) this.#putRows();
    const conflict = batch.require.findIndex(({ key, version }) => this.#versionOf(key) !== version);
    if (conflict >= 0) return { conflict };
    const version = ++this.#version;
    this.#change(batch, version);
    return { version };
  }

  /** Writes what is left of a group of another process, or nothing. Its batches do not depend on each other. */
  #applyGroup({ session, number, refused, batches }: PackedGroup): GroupOutcome {
    if (!this.#sessions.isNext(session, number)) return { isClosed: true };
    this.#putRows();
    const failed = batches.flatMap(({ batch }) =>
      batch.require.filter(({ key, version }) => this.#versionOf(key) !== version).map(({ key }) => key),
    );
    if (failed.length > 0) return { failed };
    this.#sessions.record(session, number, refused);
    for (const { batch, version } of batches) this.#change(batch, version);
    return { failed };
  }

  #change(batch: PackedBatch, version: number): void {
    for (const { key, value } of batch.put) {
      this.#rows.push([key, version, value, checksumOf(key, version, value)]);
      this.#units += 1 + Math.floor(value.byteLength / PAGE_BYTES);
    }
    if (batch.delete.length > 0) this.#putRows();
    this.#deleteRows(batch.delete);
    this.#units += batch.delete.length;
  }

  /** Writes the gathered rows in order; for repeated keys, the last one wins. */
  #putRows(): void {
    const rows = this.#rows;
    let done = 0;
    for (const size of ROWS_PER_PUT) {
      const statement = this.#connection.statement(PUT.get(size) ?? '');
      for (; rows.length - done >= size; done += size) statement.run(...rows.slice(done, done + size).flat());
    }
    rows.length = 0;
  }

  #deleteRows(keys: readonly Uint8Array[]): void {
    let done = 0;
    for (const size of ROWS_PER_DELETE) {
      const statement = this.#connection.statement(DELETE.get(size) ?? '');
      for (; keys.length - done >= size; done += size) statement.run(...keys.slice(done, done + size));
    }
  }

  #versionOf(key: Uint8Array): number | undefined {
    return (this.#connection.statement(VERSION).get(key) as { version: number } | undefined)?.version;
  }

  /** Reserves versions in the file, so that none is ever assigned twice. */
  #reserve(): void {
    const reserved = this.#counter + VERSIONS_RESERVED;
    this.#connection.statement(RESERVE).run(reserved);
    this.#version = this.#counter;
    this.#reserved = reserved;
    this.#counter = reserved;
  }

  /** Opens a session of another process: its number times {@link VERSIONS_PER_SESSION} is its first version. */
  openSession(): number | ThreadFailure {
    const opened = this.#inSessions(() => {
      const session = Math.floor(this.#counter / VERSIONS_PER_SESSION) + 1;
      this.#connection.statement(RESERVE).run(lastVersionOf(session));
      this.#sessions.open(session);
      return { session };
    });
    if ('kind' in opened) return opened;
    this.#counter = lastVersionOf(opened.session);
    return opened.session;
  }

  /** Closes a session: its groups are refused from now on. */
  closeSession(session: number): ClosedSessionRow | ThreadFailure {
    return this.#inSessions(() => this.#sessions.close(session));
  }

  #inSessions<T extends object>(change: () => T): T | ThreadFailure {
    try {
      this.#sessions.prepare();
    } catch (error) {
      return failureOf(this.#fail(error));
    }
    const [outcome] = this.#commitEach([undefined], () => ({ done: change() }));
    // The cast is safe: there is one outcome for the one change.
    const { done, failure } = outcome as { readonly done?: T; readonly failure: ThreadFailure };
    return done ?? failure;
  }

  /** Tries to write, so that recovery is noticed without a commit. */
  probe(): void {
    if (this.#failure === undefined || !canRecover(this.#failure.kind)) return;
    try {
      this.#inTransaction(() => this.#connection.statement(RESERVE).run(this.#counter));
      this.#failure = undefined;
    } catch (error) {
      this.#fail(error);
    }
  }

  /**
   * Moves the log into the database file. There are no other readers, so it always completes, and the next transaction
   * restarts the log from its beginning, which keeps it from growing.
   */
  checkpoint(): void {
    try {
      const answer = this.#connection.statement('PRAGMA wal_checkpoint(PASSIVE)').get() as { log: number };
      this.#calibrate(answer.log);
    } catch (error) {
      this.#fail(error);
    }
    this.#units = 0;
  }

  /**
   * SQLite reports the log's length only at a checkpoint. Neighbouring rows share pages, distant ones do not, so the
   * cost of a row is learned from the last checkpoint, within bounds.
   */
  #calibrate(pages: number): void {
    if (this.#units === 0) return;
    const perUnit = Math.min(MAX_PAGES_PER_UNIT, Math.max(FEWEST_PAGES_PER_UNIT, pages / this.#units));
    this.#unitsPerCheckpoint = PAGES_PER_CHECKPOINT / perUnit;
  }

  #fail(error: unknown): StateError {
    this.#failure = stateErrorOf(error, this.#options.path);
    return this.#failure;
  }

  /** Closes the engine. SQLite removes the log when nothing of the connection is left. */
  close(): void {
    if (this.hasLog && this.#failure === undefined) this.checkpoint();
    // Another process may have the directory now. SQLite leaves its files alone then, too.
    if (this.#file.isInPlace) closeDatabase(this.#connection, this.#options.path);
    else this.#connection.close();
  }
}

/** The counter is a table of its own: without it, the roots of the tables may have been swapped. */
function reservedOf(connection: SqliteConnection): number {
  const reserved = connection.valueOf(RESERVED);
  if (typeof reserved === 'number' && Number.isSafeInteger(reserved) && reserved >= 0) return reserved;
  throw corruptError('the counter of versions is missing or damaged');
}

function lastVersionOf(session: number): number {
  return (session + 1) * VERSIONS_PER_SESSION - 1;
}

function rowsOf({ to }: PackedRange): string {
  return `entry WHERE key >= coalesce(?, x'') ${to === undefined ? '' : `AND key < coalesce(?, x'')`}`;
}

function boundsOf({ from, to }: PackedRange): readonly Uint8Array[] {
  return to === undefined ? [from] : [from, to];
}

function failureOf({ kind, message }: StateError): ThreadFailure {
  return { kind, message };
}

import type { StateError } from '../../state/errors.ts';
import type { Connection, SqlValue } from './driver.ts';
import { canRecover, stateErrorOf } from './failures.ts';
import type { Failure, Outcome, PackedBatch, PackedRead, PackedScan, Row } from './protocol.ts';

/** How many versions are taken at once: one write for so many commits, and so many lost by a crash, of 2^53. */
const VERSIONS_RESERVED = 1_000_000;
/**
 * About how many pages of 4 KiB the log grows to before a checkpoint: the pause that it makes grows with it. With 64
 * callers the commits' p99 is 5.8 ms at 1,000 pages (SQLite's own choice) and 3.5 ms at 250, at the same throughput.
 */
const PAGES_PER_CHECKPOINT = 250;
const PAGE_BYTES = 4096;
/** Bounds of what one changed row can have cost in pages of log, for the estimate below. */
const FEWEST_PAGES_PER_UNIT = 1 / 64;
const MAX_PAGES_PER_UNIT = 8;

const GET = 'SELECT version, value FROM entry WHERE key = ?';
const VERSION = 'SELECT version FROM entry WHERE key = ?';
// Drivers may bind empty bytes as NULL, hence coalesce wherever they can be empty.
const ROW = `(?, ?, coalesce(?, x''))`;
/** How many rows are put by one statement, where there are as many: it halves the time of a row (3.5 to 1.8 µs). */
const ROWS_PER_PUT = [16, 4, 1] as const;
const PUT = new Map<number, string>(ROWS_PER_PUT.map((rows) => [rows, putSql(rows)]));
const DELETE = 'DELETE FROM entry WHERE key = ?';
const RESERVED = `SELECT value FROM counter WHERE name = 'reserved-version'`;
const RESERVE = `UPDATE counter SET value = ? WHERE name = 'reserved-version'`;

function putSql(rows: number): string {
  return `INSERT INTO entry (key, version, value) VALUES ${Array.from({ length: rows }, () => ROW).join()}
    ON CONFLICT (key) DO UPDATE SET version = excluded.version, value = excluded.value`;
}

/** What the engine is given beside its connection. */
export interface EngineOptions {
  /** The directory, for messages. */
  readonly path: string;
  /** Called within each transaction before it is committed; for tests and benchmarks. */
  readonly beforeCommit?: () => void;
}

/**
 * The state store on one SQLite connection, synchronous. Commits come in groups and go down in one transaction, so
 * that a group costs one sync, whatever its size.
 */
export class Engine {
  readonly #connection: Connection;
  readonly #options: EngineOptions;
  /** The last version given out. */
  #version: number;
  /** Versions up to it may be given out. */
  #reserved: number;
  #failure: StateError | undefined;
  /** Put by batches of the running group, and not yet given to SQLite: nobody has asked for them. */
  readonly #rows: (readonly SqlValue[])[] = [];
  /** Rows changed and pages of bytes put since the last checkpoint: what the log's growth is estimated from. */
  #units = 0;
  #unitsPerCheckpoint = PAGES_PER_CHECKPOINT;

  constructor(connection: Connection, options: EngineOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#version = Number(connection.valueOf(RESERVED));
    this.#reserved = this.#version;
    this.#reserve();
  }

  /** What does not work at present. */
  get failure(): StateError | undefined {
    return this.#failure;
  }

  /** Whether the log has something for a checkpoint. */
  get hasLog(): boolean {
    return this.#units > 0;
  }

  /** Whether the log has grown so much that the next checkpoint should not wait for a quiet moment. */
  get logIsLong(): boolean {
    return this.#units >= this.#unitsPerCheckpoint;
  }

  /** The rows of a read; at most one for a `get`. */
  read(read: PackedRead): readonly Row[] | Failure {
    if (this.#failure !== undefined && !canRecover(this.#failure.kind)) return failureOf(this.#failure);
    try {
      return 'get' in read ? this.#get(read.get) : this.#scan(read.scan);
    } catch (error) {
      return failureOf(this.#fail(error));
    }
  }

  #get(key: Uint8Array): readonly Row[] {
    const row = this.#connection.statement(GET).get(key);
    return row === undefined ? [] : [row as Row];
  }

  #scan(scan: PackedScan): readonly Row[] {
    const tail = `FROM entry WHERE key >= coalesce(?, x'') ${scan.to === undefined ? '' : `AND key < coalesce(?, x'')`}
      ORDER BY key ${scan.reverse ? 'DESC' : 'ASC'} LIMIT ?`;
    const bounds = scan.to === undefined ? [scan.from] : [scan.from, scan.to];
    const limit = scan.maxBytes < 0 ? scan.limit : this.#limitByBytes(tail, bounds, scan);
    return this.#connection.statement(`SELECT key, version, value ${tail}`).all(...bounds, limit) as Row[];
  }

  /** How many entries there are until the values reach the bytes: their lengths are known without reading them. */
  #limitByBytes(tail: string, bounds: readonly Uint8Array[], { limit, maxBytes }: PackedScan): number {
    const lengths = this.#connection.statement(`SELECT length(value) AS bytes ${tail}`).all(...bounds, limit);
    let bytes = 0;
    for (const [index, row] of lengths.entries()) {
      bytes += (row as { bytes: number }).bytes;
      if (bytes >= maxBytes) return index + 1;
    }
    return lengths.length;
  }

  /** Writes a group; each batch has its own outcome. When this returns, what succeeded is durable. */
  commit(batches: readonly PackedBatch[]): readonly Outcome[] {
    if (this.#failure !== undefined && !canRecover(this.#failure.kind)) {
      const failure = failureOf(this.#failure);
      return batches.map(() => ({ failure }));
    }
    try {
      const outcomes = this.#write(batches);
      this.#failure = undefined;
      return outcomes;
    } catch (error) {
      const failure = this.#fail(error);
      // What one batch has too much, such as more bytes than the disk has left, must not fail the others.
      if (batches.length > 1 && canRecover(failure.kind)) return batches.flatMap((batch) => this.commit([batch]));
      return batches.map(() => ({ failure: failureOf(failure) }));
    }
  }

  #write(batches: readonly PackedBatch[]): readonly Outcome[] {
    if (this.#version + batches.length > this.#reserved) this.#reserve();
    return this.#inTransaction(() => {
      this.#rows.length = 0;
      const outcomes = batches.map((batch) => this.#apply(batch));
      this.#putRows();
      return outcomes;
    });
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

  /** Some errors have rolled back already, then this one fails and nothing is left to do. */
  #rollBack(): void {
    try {
      this.#connection.execute('ROLLBACK');
    } catch {
      // No transaction is active.
    }
  }

  #apply(batch: PackedBatch): Outcome {
    if (batch.require.length > 0) this.#putRows();
    const conflict = batch.require.findIndex(({ key, version }) => this.#versionOf(key) !== version);
    if (conflict >= 0) return { conflict };
    const version = ++this.#version;
    for (const { key, value } of batch.put) {
      this.#rows.push([key, version, value]);
      this.#units += 1 + Math.floor(value.byteLength / PAGE_BYTES);
    }
    if (batch.delete.length > 0) this.#putRows();
    const remove = this.#connection.statement(DELETE);
    for (const key of batch.delete) remove.run(key);
    this.#units += batch.delete.length;
    return { version };
  }

  /** Writes the rows that have gathered, in their order; of several for one key, the last one remains. */
  #putRows(): void {
    const rows = this.#rows;
    let done = 0;
    for (const size of ROWS_PER_PUT) {
      const statement = this.#connection.statement(PUT.get(size) ?? '');
      for (; rows.length - done >= size; done += size) statement.run(...rows.slice(done, done + size).flat());
    }
    rows.length = 0;
  }

  #versionOf(key: Uint8Array): number | undefined {
    return (this.#connection.statement(VERSION).get(key) as { version: number } | undefined)?.version;
  }

  /** Takes versions out of the file, so that none is given out twice, whatever happens. */
  #reserve(): void {
    const reserved = this.#version + VERSIONS_RESERVED;
    this.#connection.statement(RESERVE).run(reserved);
    this.#reserved = reserved;
  }

  /** Tries to write, so that a failure that is over is noticed without anybody committing. */
  probe(): void {
    if (this.#failure === undefined || !canRecover(this.#failure.kind)) return;
    try {
      this.#inTransaction(() => this.#connection.statement(RESERVE).run(this.#reserved));
      this.#failure = undefined;
    } catch (error) {
      this.#fail(error);
    }
  }

  /**
   * Moves the log's content into the database file. As nothing else reads, it always gets to the end, and the next
   * transaction starts the log from its beginning: this is what keeps it from growing.
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
   * SQLite tells the log's length only at a checkpoint. Rows that lie close together share pages, rows far apart do
   * not, so what a row costs is learned from the last checkpoint, within bounds.
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

  /** Ends it. When nothing of the connection is left, SQLite removes the log. */
  close(): void {
    if (this.hasLog && this.#failure === undefined) this.checkpoint();
    this.#connection.close();
  }
}

function failureOf({ kind, message }: StateError): Failure {
  return { kind, message };
}

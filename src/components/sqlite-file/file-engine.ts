import { randomUUID } from 'node:crypto';
import { isStateError, quote, StateError, type StateErrorKind } from '../../state/errors.ts';
import { SqliteConnection, type SqliteModule } from '../embedded/driver.ts';
import { kindOf } from '../embedded/failures.ts';
import type { FileSettings } from '../embedded/protocol.ts';
import type { OutboxPage, WriteOutcome } from '../key-value.ts';
import type { FileOperation, FileRead, FileWrite, FoundValue } from './protocol.ts';
import { migrate, prepare } from './schema.ts';
import { ROWS_PER_CLEANUP, type SqliteStatements, statementsOf } from './statements.ts';

/** Dapr's: the intervals of two processes are not the same to the millisecond. */
const TOLERANCE_MS = 100;
const MEANING: Partial<Readonly<Record<StateErrorKind, string>>> = {
  'read-only': 'cannot be created or written to',
  'in-use': 'is held by another process, and was for longer than the busy time-out',
  corrupt: 'is no database, or a damaged one',
  full: 'is on a full disk; it works again once there is space',
};

/** Settings of a {@link FileEngine}. */
export interface EngineSettings extends FileSettings {
  readonly path: string;
}

/** The answer to a change. */
export type FileAnswer = readonly WriteOutcome[] | OutboxPage | StateError;

/** A row with a value, as SQLite returns it. */
interface ValueRow {
  readonly key: Uint8Array;
  readonly value: Uint8Array | null;
  readonly is_binary: number;
  readonly etag: string;
  readonly expiration_time: string | null;
}

/** A row with an event, as SQLite returns it. */
interface EventRow {
  readonly number: number;
  readonly id: string;
  readonly event: Uint8Array | null;
}

/** Values of applications in a database file that other processes may use, too: each call sees what they have written. */
export class FileEngine {
  readonly #connection: SqliteConnection;
  readonly #settings: EngineSettings;
  readonly #statements: SqliteStatements;
  #hasOutbox = false;
  #failure: StateError | undefined;

  constructor(sqlite: SqliteModule, settings: EngineSettings) {
    this.#settings = settings;
    this.#statements = statementsOf(settings);
    try {
      this.#connection = new SqliteConnection(sqlite, settings.path);
      prepare(this.#connection, settings.busyTimeoutMs);
      this.#inTransaction(() => migrate(this.#connection, settings));
    } catch (error) {
      throw this.#errorOf(error);
    }
  }

  /** Why the last call failed, unless the call itself was the reason. */
  get failure(): StateError | undefined {
    return this.#failure;
  }

  /** The version of SQLite, as numbers. */
  get sqliteVersion(): readonly number[] {
    return String(this.#connection.valueOf('SELECT sqlite_version()')).split('.').map(Number);
  }

  read(read: FileRead): readonly (FoundValue | undefined)[] | StateError {
    try {
      const found = read.kind === 'list' ? this.#list(read) : this.#get(read.keys);
      this.#failure = undefined;
      return found;
    } catch (error) {
      return this.#fail(error);
    }
  }

  #get(keys: readonly Uint8Array[]): readonly (FoundValue | undefined)[] {
    const statement = this.#connection.statement(this.#statements.get);
    const get = (key: Uint8Array): FoundValue | undefined => {
      const row = statement.get(key);
      return row === undefined ? undefined : foundOf(row as ValueRow);
    };
    if (keys.length === 1) return keys.map(get);
    // One state of the file for all.
    return this.#inTransaction(() => keys.map(get), 'BEGIN');
  }

  #list({ from, after, to, limit }: Extract<FileRead, { readonly kind: 'list' }>): readonly FoundValue[] {
    const rows = this.#connection.statement(this.#statements.list).all(from, after, to, limit);
    return rows.map((row) => foundOf(row as ValueRow));
  }

  /** Makes changes in one transaction: one sync. Each has its own answer. */
  write(writes: readonly FileWrite[]): readonly FileAnswer[] {
    try {
      const answers = this.#inTransaction(() => writes.map((write) => this.#apply(write)));
      this.#failure = undefined;
      return answers;
    } catch (error) {
      const failure = this.#fail(error);
      // One may be the cause, such as one larger than the free disk space: it must not fail the others.
      if (writes.length > 1 && failure.kind !== 'in-use') return writes.flatMap((write) => this.write([write]));
      return writes.map(() => failure);
    }
  }

  #inTransaction<T>(work: () => T, begin = 'BEGIN IMMEDIATE'): T {
    this.#connection.statement(begin).run();
    try {
      const result = work();
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
      // No transaction is active. If the table of events was made in it, it is gone.
    }
    this.#hasOutbox = false;
  }

  #apply(write: FileWrite): FileAnswer {
    switch (write.kind) {
      case 'readEvents':
        return this.#readEvents(write);
      case 'remove':
        this.#ensureOutbox();
        for (const id of write.ids) this.#connection.statement(this.#statements.removeEvent).run(write.store, id);
        return [];
      case 'write':
        return write.atomic ? this.#applyAtomic(write) : write.operations.map((one) => this.#applyOne(one));
    }
  }

  #applyAtomic({ operations, store, events }: Extract<FileWrite, { readonly kind: 'write' }>): readonly WriteOutcome[] {
    const holding = operations.map((one) => this.#holds(one));
    if (holding.includes(false)) return holding.map((holds) => ({ status: holds ? 'skipped' : 'refused' }));
    if (events.length > 0) this.#ensureOutbox();
    for (const { id, bytes } of events) this.#connection.statement(this.#statements.addEvent).run(store, id, bytes);
    return operations.map((one) => this.#change(one));
  }

  #applyOne(operation: FileOperation): WriteOutcome {
    return this.#holds(operation) ? this.#change(operation) : { status: 'refused' };
  }

  #holds({ key, condition }: FileOperation): boolean {
    if (condition === undefined) return true;
    const row = this.#connection.statement(this.#statements.etag).get(key) as { readonly etag: string } | undefined;
    return condition === 'absent' ? row === undefined : row?.etag === condition.etag;
  }

  #change({ key, value, isBinary, ttlMs, condition }: FileOperation): WriteOutcome {
    if (value === undefined) {
      if (condition !== 'absent') this.#connection.statement(this.#statements.remove).run(key);
      return { status: 'done' };
    }
    const etag = randomUUID();
    const stored = isBinary ? Buffer.from(bufferOf(value).toString('base64')) : value;
    const rest = ttlMs === undefined ? null : `+${(ttlMs / 1000).toFixed(3)} seconds`;
    this.#connection.statement(this.#statements.put).run(key, stored, isBinary ? 1 : 0, etag, rest);
    return { status: 'done', etag };
  }

  #readEvents({ store, cursor }: Extract<FileWrite, { readonly kind: 'readEvents' }>): OutboxPage {
    this.#ensureOutbox();
    const rows = this.#connection.statement(this.#statements.readEvents).all(store, cursor) as readonly EventRow[];
    const events = rows.map(({ id, event }) => ({ id, bytes: event ?? new Uint8Array() }));
    const last = rows.at(-1);
    return last === undefined ? { events } : { events, cursor: String(last.number) };
  }

  /** With the first use: databases whose transactions leave no events get no table. */
  #ensureOutbox(): void {
    if (this.#hasOutbox) return;
    this.#connection.execute(this.#statements.createOutbox);
    this.#hasOutbox = true;
  }

  /** Deletes expired rows, unless another process has done so within the interval. */
  clean(): void {
    const { cleanupIntervalMs } = this.#settings;
    const { statements, connection } = { statements: this.#statements, connection: this.#connection };
    try {
      const mark = connection.statement(statements.markCleanup);
      const marked = this.#inTransaction(() => mark.all(cleanupIntervalMs - TOLERANCE_MS).length);
      for (let deleted = marked === 0 ? 0 : ROWS_PER_CLEANUP; deleted === ROWS_PER_CLEANUP; )
        deleted = this.#inTransaction(() => connection.statement(statements.deleteExpired).all().length);
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): StateError {
    this.#failure = this.#errorOf(error);
    return this.#failure;
  }

  #errorOf(error: unknown): StateError {
    if (isStateError(error)) return error;
    const kind = kindOf(error);
    const { message } = error as { readonly message?: unknown };
    const text = `The database file ${quote(this.#settings.path)} ${MEANING[kind] ?? 'has failed'}`;
    return new StateError(kind, `${text} (${String(message ?? error)}).`, error);
  }

  close(): void {
    this.#connection.close();
  }
}

function foundOf({ key, value, is_binary: isBinary, etag, expiration_time: expiresAt }: ValueRow): FoundValue {
  const text = value ?? new Uint8Array();
  const bytes = isBinary === 1 ? Buffer.from(bufferOf(text).toString(), 'base64') : text;
  const at = expiresAt === null ? Number.NaN : Date.parse(`${expiresAt.replace(' ', 'T')}Z`);
  return { key, bytes, etag, expiresAt: Number.isNaN(at) ? undefined : at };
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

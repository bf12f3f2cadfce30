import { DamagedValue } from '../../state/damaged-value.ts';
import { StateError, type StateErrorKind } from '../../state/errors.ts';
import type { Batch, Entry, KeyedEntry, KeyRange, Scan } from '../../state/store.ts';
import { BinaryReader, type BinaryWriter } from './binary-codec.ts';

/** The worker data of the thread. */
export interface WorkerSettings {
  /** The directory, absolute; with `values`, the database file. */
  readonly path: string;
  /** Set for a file with values of applications. */
  readonly values?: FileSettings;
  /** Set to 1 when the database is closed, for an exit that cannot wait for a message. */
  readonly closed: Int32Array;
  /** For tests and benchmarks: extra delay of every commit in milliseconds, like a slow disk. */
  readonly syncDelayMs?: number;
  /** For tests: max pages of the file, like a full disk. */
  readonly maxPages?: number;
  /** Whether other processes will be able to join. Default: false. */
  readonly isShareable?: boolean;
  /**
   * Whether the state is only for the time in which processes have it open. Nothing of it is synced to the disk, so a
   * commit survives the end of any process, but no crash of the machine; and since no commit waits for the disk, SQLite
   * runs in the thread of its caller: one more costs 17 MB of memory and 80 ms of CPU time. Default: false.
   */
  readonly isTransient?: boolean;
  /** How long to wait for the lock of the directory. Default: one second. */
  readonly busyTimeoutMs?: number;
}

/** A call of the main thread on one of its connections to the store, as of a process that has joined. */
export interface LineRequest {
  /** Of the connection. */
  readonly number: number;
  /** Whether the connection receives messages. Default: false. */
  readonly listens?: boolean;
  /** Absent: the connection has ended. */
  readonly frame?: Uint8Array;
}

/** Settings of a database file with values of applications, which other programs may use, too. */
export interface FileSettings {
  /** The names of tables: letters, digits and underscores. */
  readonly tableName: string;
  readonly metadataTableName: string;
  /** How long to wait while another process writes. */
  readonly busyTimeoutMs: number;
  /** The time from one cleanup to the next, by any process. */
  readonly cleanupIntervalMs: number;
}

/** A request to the thread. Reads are answered first, without waiting for the commits sent with them. */
export interface WorkerRequest {
  readonly reads?: Uint8Array;
  readonly commits?: Uint8Array;
  /** `probe`: try to write, to see whether a failure is over. `clean`: delete what has expired. `close`: after all else. */
  readonly control?: 'probe' | 'clean' | 'close';
  /** Lets other processes join. `isTakeover`: this process had joined another one before. */
  readonly share?: { readonly isTakeover: boolean };
  /** The main thread knows that there are guests. */
  readonly admit?: true;
  /** Texts for the processes that have joined. */
  readonly messages?: readonly string[];
  readonly line?: LineRequest;
}

/** A {@link StateError} to send between threads. */
export interface ThreadFailure {
  readonly kind: StateErrorKind;
  readonly message: string;
}

/** What a thread tells of the processes that have joined. */
export interface ThreadNotice {
  /** `true`: one waits to be admitted. `false`: none has been there for a while, and the next one will have to wait. */
  readonly hasGuests?: boolean;
  /** Texts of other processes. */
  readonly messages?: readonly string[];
  /** An answer to a call on a connection of the main thread, or a message to it. */
  readonly line?: { readonly number: number; readonly frame: Uint8Array };
  /** A problem for the log. */
  readonly notice?: string;
}

/** A reply of the thread. Reads and commits are each answered in the order of their requests. */
export interface WorkerReply extends ThreadNotice {
  /** In the first message: the store is open. */
  readonly opened?: true;
  /** In the first message: what is to be in the log of the process. */
  readonly warning?: string;
  readonly reads?: Uint8Array;
  readonly commits?: Uint8Array;
  /** Set on change: the failure, or `null` once everything works again. */
  readonly failure?: ThreadFailure | null;
}

export function errorOf(failure: ThreadFailure): StateError {
  return new StateError(failure.kind, failure.message);
}

// --- commits

/** Represents `'absent'`: versions are positive. */
const ABSENT = -1;

/** A batch for the engine: keys as bytes, which are views of the packet. */
export interface PackedBatch {
  readonly require: readonly { readonly key: Uint8Array; readonly version: number | undefined }[];
  readonly put: readonly { readonly key: Uint8Array; readonly value: Uint8Array }[];
  readonly delete: readonly Uint8Array[];
}

export type CommitOutcome =
  | { readonly version: number }
  | { readonly conflict: number }
  | { readonly failure: ThreadFailure };

/** What is left of a group of another process: written as a whole, or not at all. */
export interface PackedGroup {
  readonly session: number;
  /** Of the group in its session. */
  readonly number: number;
  /** What is kept of the refused batches, for the end of the session. */
  readonly refused: string;
  readonly batches: readonly { readonly batch: PackedBatch; readonly version: number }[];
}

/** Nothing was written if a precondition does not hold, here with its key, or if the session has ended. */
export type GroupOutcome =
  | { readonly failed: readonly Uint8Array[] }
  | { readonly isClosed: true }
  | { readonly failure: ThreadFailure };

export function writeBatch(writer: BinaryWriter, batch: Batch): void {
  const { require = [], put = [], delete: deleted = [] } = batch;
  writer.u32(require.length);
  for (const { key, version } of require) {
    writer.text(key);
    writer.f64(version === 'absent' ? ABSENT : version);
  }
  writer.u32(put.length);
  for (const { key, value } of put) {
    writer.text(key);
    writer.bytes(value);
  }
  writer.u32(deleted.length);
  for (const key of deleted) writer.text(key);
}

export function readBatches(packet: Uint8Array): PackedBatch[] {
  const reader = new BinaryReader(packet);
  const batches: PackedBatch[] = [];
  while (!reader.atEnd) batches.push(readBatch(reader));
  return batches;
}

export function readBatch(reader: BinaryReader): PackedBatch {
  return {
    require: listOf(reader, () => ({ key: reader.view(), version: versionOf(reader.f64()) })),
    put: listOf(reader, () => ({ key: reader.view(), value: reader.view() })),
    delete: listOf(reader, () => reader.view()),
  };
}

function versionOf(packed: number): number | undefined {
  return packed === ABSENT ? undefined : packed;
}

export function listOf<T>(reader: BinaryReader, read: () => T): T[] {
  const items: T[] = [];
  for (let left = reader.u32(); left > 0; left--) items.push(read());
  return items;
}

const DONE = 0;
const CONFLICT = 1;
const FAILED = 2;

export function writeOutcome(writer: BinaryWriter, outcome: CommitOutcome): void {
  if ('version' in outcome) {
    writer.byte(DONE);
    writer.f64(outcome.version);
  } else if ('conflict' in outcome) {
    writer.byte(CONFLICT);
    writer.u32(outcome.conflict);
  } else {
    writeFailure(writer, outcome.failure);
  }
}

export function readOutcome(reader: BinaryReader): CommitOutcome {
  const status = reader.byte();
  if (status === DONE) return { version: reader.f64() };
  if (status === CONFLICT) return { conflict: reader.u32() };
  return { failure: readFailure(reader) };
}

/** Packs the failure of a read or commit. */
export function writeFailure(writer: BinaryWriter, { kind, message }: ThreadFailure): void {
  writer.byte(FAILED);
  writer.text(kind);
  writer.text(message);
}

function readFailure(reader: BinaryReader): ThreadFailure {
  return { kind: reader.text() as StateErrorKind, message: reader.text() };
}

// --- reads

const GET = 0;
const SCAN = 1;
const COUNT = 2;
/** For an absent limit; SQLite also takes a negative limit as none. */
const UNLIMITED = -1;

/** A read for the engine. */
export type PackedRead =
  | { readonly get: Uint8Array }
  | { readonly scan: PackedScan }
  | { readonly count: PackedRange & { readonly limit: number } };

/** A range for the engine. */
export interface PackedRange {
  readonly from: Uint8Array;
  readonly to: Uint8Array | undefined;
}

/** A scan for the engine; −1 for no limit. */
export interface PackedScan extends PackedRange {
  readonly limit: number;
  readonly maxBytes: number;
  readonly reverse: boolean;
}

export function writeGet(writer: BinaryWriter, key: string): void {
  writer.byte(GET);
  writer.text(key);
}

export function writeScan(writer: BinaryWriter, scan: Scan): void {
  writer.byte(SCAN);
  writeRange(writer, scan);
  writer.f64(scan.limit ?? UNLIMITED);
  writer.f64(scan.maxBytes ?? UNLIMITED);
  writer.byte(scan.reverse ? 1 : 0);
}

export function writeCount(writer: BinaryWriter, range: KeyRange, limit: number): void {
  writer.byte(COUNT);
  writeRange(writer, range);
  writer.f64(limit);
}

function writeRange(writer: BinaryWriter, { from, to }: KeyRange): void {
  writer.text(from);
  writer.byte(to === undefined ? 0 : 1);
  writer.text(to ?? '');
}

export function readReads(packet: Uint8Array): PackedRead[] {
  const reader = new BinaryReader(packet);
  const reads: PackedRead[] = [];
  while (!reader.atEnd) reads.push(readRead(reader));
  return reads;
}

export function readRead(reader: BinaryReader): PackedRead {
  const kind = reader.byte();
  if (kind === GET) return { get: reader.view() };
  if (kind === SCAN) return { scan: readScan(reader) };
  return { count: { ...readRange(reader), limit: reader.f64() } };
}

function readRange(reader: BinaryReader): PackedRange {
  const from = reader.view();
  const hasEnd = reader.byte() === 1;
  const to = reader.view();
  return { from, to: hasEnd ? to : undefined };
}

function readScan(reader: BinaryReader): PackedScan {
  return {
    ...readRange(reader),
    limit: reader.f64(),
    maxBytes: reader.f64(),
    reverse: reader.byte() === 1,
  };
}

/** A row of an answer. */
export interface AnsweredRow {
  /** Not of a `get`. */
  readonly key?: Uint8Array;
  readonly version: number;
  /** `null` if it is empty or damaged. */
  readonly value: Uint8Array | null;
  /** Its problem. */
  readonly damage?: string;
}

const EMPTY = new Uint8Array(0);

/** Packs the rows of a read, at most one for a `get`. */
function writeRows(writer: BinaryWriter, rows: readonly AnsweredRow[]): void {
  writer.byte(DONE);
  writer.u32(rows.length);
  for (const { key, version, value, damage } of rows) {
    if (key !== undefined) writer.bytes(key);
    writer.f64(version);
    writer.byte(damage === undefined ? DONE : FAILED);
    if (damage === undefined) writer.bytes(value ?? EMPTY);
    else writer.text(damage);
  }
}

/** Packs the answer to a `count`. */
function writeNumber(writer: BinaryWriter, count: number): void {
  writer.byte(DONE);
  writer.f64(count);
}

/** Packs the answer of the engine to a read. */
export function writeAnswer(writer: BinaryWriter, answer: readonly AnsweredRow[] | number | ThreadFailure): void {
  if (typeof answer === 'number') writeNumber(writer, answer);
  else if ('kind' in answer) writeFailure(writer, answer);
  else writeRows(writer, answer);
}

/** Reads the reply to a `count`. @throws StateError if it has failed. */
export function readNumber(reader: BinaryReader): number {
  checkDone(reader);
  return reader.f64();
}

/** Reads the reply to a `get`. @throws StateError if it has failed. */
export function readEntry(reader: BinaryReader): Entry | undefined {
  checkDone(reader);
  if (reader.u32() === 0) return undefined;
  const version = reader.f64();
  return { version, value: readValueOf(reader) };
}

/** Reads the reply to a `scan`. @throws StateError if it has failed. */
export function readEntries(reader: BinaryReader): KeyedEntry[] {
  checkDone(reader);
  return listOf(reader, () => {
    const key = reader.text();
    const version = reader.f64();
    return { key, version, value: readValueOf(reader) };
  });
}

export function checkDone(reader: BinaryReader): void {
  if (reader.byte() === FAILED) throw errorOf(readFailure(reader));
}

function readValueOf(reader: BinaryReader): Uint8Array {
  return reader.byte() === DONE ? reader.bytes() : new DamagedValue(new StateError('corrupt', reader.text()));
}

import { StateError, type StateErrorKind } from '../../state/errors.ts';
import type { Batch, Entry, KeyedEntry, Scan } from '../../state/store.ts';
import { BinaryReader, type BinaryWriter } from './binary-codec.ts';

/** What the thread is started with. */
export interface WorkerSettings {
  /** The directory, absolute. */
  readonly path: string;
  /** Becomes 1 when the database is closed, for an exit that cannot wait for a message. */
  readonly closed: Int32Array;
  /** For tests and benchmarks: how long every commit waits more, in milliseconds, like a slow disk. */
  readonly syncDelayMs?: number;
  /** For tests: the most pages of the file, like a full disk. */
  readonly maxPages?: number;
}

/** To the thread. Reads are answered first: they need not wait for the commits that came with them. */
export interface WorkerRequest {
  readonly reads?: Uint8Array;
  readonly commits?: Uint8Array;
  /** `probe`: try to write, to see whether a failure is over. `close`: after all else. */
  readonly control?: 'probe' | 'close';
}

/** A {@link StateError} on its way between threads. */
export interface Failure {
  readonly kind: StateErrorKind;
  readonly message: string;
}

/** From the thread. Answers come in the order of the requests, of reads and of commits each. */
export interface WorkerReply {
  /** The first message: it is open. */
  readonly opened?: true;
  readonly reads?: Uint8Array;
  readonly commits?: Uint8Array;
  /** When it changed: what does not work, `null` when all does again. */
  readonly failure?: Failure | null;
}

/** The error of a failure. */
export function errorOf(failure: Failure): StateError {
  return new StateError(failure.kind, failure.message);
}

// --- commits

/** Stands for `'absent'`: versions are positive. */
const ABSENT = -1;

/** A batch as the engine wants it: keys as bytes. The bytes are views of the packet. */
export interface PackedBatch {
  readonly require: readonly { readonly key: Uint8Array; readonly version: number | undefined }[];
  readonly put: readonly { readonly key: Uint8Array; readonly value: Uint8Array }[];
  readonly delete: readonly Uint8Array[];
}

/** How a commit ended. */
export type Outcome = { readonly version: number } | { readonly conflict: number } | { readonly failure: Failure };

/** Packs a batch. */
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

/** The batches of a packet. */
export function readBatches(packet: Uint8Array): PackedBatch[] {
  const reader = new BinaryReader(packet);
  const batches: PackedBatch[] = [];
  while (!reader.atEnd) {
    batches.push({
      require: listOf(reader, () => ({ key: reader.view(), version: versionOf(reader.f64()) })),
      put: listOf(reader, () => ({ key: reader.view(), value: reader.view() })),
      delete: listOf(reader, () => reader.view()),
    });
  }
  return batches;
}

function versionOf(packed: number): number | undefined {
  return packed === ABSENT ? undefined : packed;
}

function listOf<T>(reader: BinaryReader, read: () => T): T[] {
  const items: T[] = [];
  for (let left = reader.u32(); left > 0; left--) items.push(read());
  return items;
}

const DONE = 0;
const CONFLICT = 1;
const FAILED = 2;

/** Packs how a commit ended. */
export function writeOutcome(writer: BinaryWriter, outcome: Outcome): void {
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

/** Reads how a commit ended. */
export function readOutcome(reader: BinaryReader): Outcome {
  const status = reader.byte();
  if (status === DONE) return { version: reader.f64() };
  if (status === CONFLICT) return { conflict: reader.u32() };
  return { failure: readFailure(reader) };
}

/** Packs that a read or a commit failed. */
export function writeFailure(writer: BinaryWriter, { kind, message }: Failure): void {
  writer.byte(FAILED);
  writer.text(kind);
  writer.text(message);
}

function readFailure(reader: BinaryReader): Failure {
  return { kind: reader.text() as StateErrorKind, message: reader.text() };
}

// --- reads

const GET = 0;
const SCAN = 1;
/** For a limit that is not given; SQLite takes a negative one for none as well. */
const UNLIMITED = -1;

/** A read as the engine wants it. */
export type PackedRead = { readonly get: Uint8Array } | { readonly scan: PackedScan };

/** A scan as the engine wants it; −1 for no limit. */
export interface PackedScan {
  readonly from: Uint8Array;
  readonly to: Uint8Array | undefined;
  readonly limit: number;
  readonly maxBytes: number;
  readonly reverse: boolean;
}

/** Packs a `get`. */
export function writeGet(writer: BinaryWriter, key: string): void {
  writer.byte(GET);
  writer.text(key);
}

/** Packs a `scan`. */
export function writeScan(writer: BinaryWriter, scan: Scan): void {
  writer.byte(SCAN);
  writer.text(scan.from);
  writer.byte(scan.to === undefined ? 0 : 1);
  writer.text(scan.to ?? '');
  writer.f64(scan.limit ?? UNLIMITED);
  writer.f64(scan.maxBytes ?? UNLIMITED);
  writer.byte(scan.reverse ? 1 : 0);
}

/** The reads of a packet. */
export function readReads(packet: Uint8Array): PackedRead[] {
  const reader = new BinaryReader(packet);
  const reads: PackedRead[] = [];
  while (!reader.atEnd) reads.push(reader.byte() === GET ? { get: reader.view() } : { scan: readScan(reader) });
  return reads;
}

function readScan(reader: BinaryReader): PackedScan {
  const from = reader.view();
  const hasEnd = reader.byte() === 1;
  const to = reader.view();
  return {
    from,
    to: hasEnd ? to : undefined,
    limit: reader.f64(),
    maxBytes: reader.f64(),
    reverse: reader.byte() === 1,
  };
}

/** A row as SQLite answers it. */
export interface Row {
  readonly key?: Uint8Array;
  readonly version: number;
  readonly value: Uint8Array | null;
}

const EMPTY = new Uint8Array(0);

/** Packs the rows that a read found, none to one for a `get`. */
export function writeRows(writer: BinaryWriter, rows: readonly Row[]): void {
  writer.byte(DONE);
  writer.u32(rows.length);
  for (const { key, version, value } of rows) {
    if (key !== undefined) writer.bytes(key);
    writer.f64(version);
    writer.bytes(value ?? EMPTY);
  }
}

/** Reads the answer to a `get`. */
export function readEntry(reader: BinaryReader): Entry | undefined | Failure {
  if (reader.byte() === FAILED) return readFailure(reader);
  if (reader.u32() === 0) return undefined;
  const version = reader.f64();
  return { version, value: reader.bytes() };
}

/** Reads the answer to a `scan`. */
export function readEntries(reader: BinaryReader): KeyedEntry[] | Failure {
  if (reader.byte() === FAILED) return readFailure(reader);
  return listOf(reader, () => {
    const key = reader.text();
    const version = reader.f64();
    return { key, version, value: reader.bytes() };
  });
}

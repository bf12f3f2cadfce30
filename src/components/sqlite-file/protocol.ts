import { StateError, type StateErrorKind } from '../../state/errors.ts';
import type { BinaryReader, BinaryWriter } from '../embedded/binary-codec.ts';
import type {
  KeyedValue,
  KeyValueOperation,
  OutboxEvent,
  OutboxPage,
  StoredValue,
  WriteCondition,
  WriteOutcome,
} from '../key-value.ts';

/** A read for the thread. */
export type FileRead =
  | { readonly kind: 'read'; readonly keys: readonly Uint8Array[] }
  | {
      readonly kind: 'list';
      readonly from: Uint8Array;
      readonly after: Uint8Array;
      readonly to: Uint8Array;
      readonly limit: number;
    };

/** An operation for the thread: the key as bytes. */
export interface FileOperation {
  readonly key: Uint8Array;
  /** Absent: the key is removed. */
  readonly value: Uint8Array | undefined;
  readonly isBinary: boolean;
  /** Absent: no limit. */
  readonly ttlMs: number | undefined;
  readonly condition: WriteCondition | undefined;
}

/** A change for the thread. */
export type FileWrite =
  | {
      readonly kind: 'write';
      readonly atomic: boolean;
      readonly operations: readonly FileOperation[];
      readonly store: string;
      readonly events: readonly OutboxEvent[];
    }
  | { readonly kind: 'readEvents'; readonly store: string; readonly cursor: string }
  | { readonly kind: 'remove'; readonly store: string; readonly ids: readonly string[] };

/** The value of a key, as the thread answers it. */
export interface FoundValue {
  readonly key: Uint8Array;
  readonly bytes: Uint8Array;
  readonly etag: string;
  /** Absent: never. */
  readonly expiresAt: number | undefined;
}

const NEVER = -1;
const READ = 0;
const LIST = 1;
const WRITE = 0;
const READ_EVENTS = 1;
const REMOVE = 2;
const NO_CONDITION = 0;
const ABSENT = 1;
const ETAG = 2;
const DONE = 0;
const FAILED = 1;
const STATUSES = ['done', 'refused', 'skipped'] as const;

export function packRead(writer: BinaryWriter, keys: readonly string[]): void {
  writer.byte(READ);
  writer.u32(keys.length);
  for (const key of keys) writer.text(key);
}

/** @param range - from where, after which key, up to where */
export function packList(writer: BinaryWriter, range: readonly [string, string, Uint8Array], limit: number): void {
  const [from, after, to] = range;
  writer.byte(LIST);
  writer.text(from);
  writer.text(after);
  writer.bytes(to);
  writer.f64(limit);
}

export function unpackRead(reader: BinaryReader): FileRead {
  if (reader.byte() === READ) return { kind: 'read', keys: listOf(reader, () => reader.view()) };
  const [from, after, to] = [reader.view(), reader.view(), reader.view()];
  return { kind: 'list', from, after, to, limit: reader.f64() };
}

/** The parts of a write beside its operations. */
export interface WriteExtras {
  readonly atomic: boolean;
  /** Whose events they are. */
  readonly store: string;
  readonly events: readonly OutboxEvent[];
}

export function packWrite(
  writer: BinaryWriter,
  operations: readonly KeyValueOperation[],
  { atomic, store, events }: WriteExtras,
): void {
  writer.byte(WRITE);
  writer.byte(atomic ? 1 : 0);
  writer.text(store);
  writer.u32(operations.length);
  for (const one of operations) {
    writer.text(one.key);
    packCondition(writer, one.condition);
    writer.byte(one.kind === 'put' ? 1 : 0);
    if (one.kind === 'remove') continue;
    writer.byte(one.isBinary === true ? 1 : 0);
    writer.f64(one.ttlMs ?? NEVER);
    writer.bytes(one.value);
  }
  writer.u32(events.length);
  for (const { id, bytes } of events) {
    writer.text(id);
    writer.bytes(bytes);
  }
}

function packCondition(writer: BinaryWriter, condition: WriteCondition | undefined): void {
  if (condition === undefined) return writer.byte(NO_CONDITION);
  if (condition === 'absent') return writer.byte(ABSENT);
  writer.byte(ETAG);
  writer.text(condition.etag);
}

export function packReadEvents(writer: BinaryWriter, store: string, cursor = '0'): void {
  writer.byte(READ_EVENTS);
  writer.text(store);
  writer.text(cursor);
}

export function packRemove(writer: BinaryWriter, store: string, ids: readonly string[]): void {
  writer.byte(REMOVE);
  writer.text(store);
  writer.u32(ids.length);
  for (const id of ids) writer.text(id);
}

export function unpackWrite(reader: BinaryReader): FileWrite {
  const kind = reader.byte();
  if (kind === READ_EVENTS) return { kind: 'readEvents', store: reader.text(), cursor: reader.text() };
  if (kind === REMOVE) return { kind: 'remove', store: reader.text(), ids: listOf(reader, () => reader.text()) };
  return {
    kind: 'write',
    atomic: reader.byte() === 1,
    store: reader.text(),
    operations: listOf(reader, () => unpackOperation(reader)),
    events: listOf(reader, () => ({ id: reader.text(), bytes: reader.view() })),
  };
}

function unpackOperation(reader: BinaryReader): FileOperation {
  const key = reader.view();
  const form = reader.byte();
  const condition = form === NO_CONDITION ? undefined : form === ABSENT ? 'absent' : { etag: reader.text() };
  if (reader.byte() === 0) return { key, condition, value: undefined, isBinary: false, ttlMs: undefined };
  const isBinary = reader.byte() === 1;
  const ttlMs = reader.f64();
  return { key, condition, isBinary, ttlMs: ttlMs === NEVER ? undefined : ttlMs, value: reader.view() };
}

function listOf<T>(reader: BinaryReader, read: () => T): T[] {
  const items: T[] = [];
  for (let left = reader.u32(); left > 0; left--) items.push(read());
  return items;
}

export function packFailure(writer: BinaryWriter, { kind, message }: StateError): void {
  writer.byte(FAILED);
  writer.text(kind);
  writer.text(message);
}

function checkDone(reader: BinaryReader): void {
  if (reader.byte() !== DONE) throw new StateError(reader.text() as StateErrorKind, reader.text());
}

export function packFound(writer: BinaryWriter, found: readonly (FoundValue | undefined)[]): void {
  writer.byte(DONE);
  writer.u32(found.length);
  for (const value of found) {
    writer.byte(value === undefined ? 0 : 1);
    if (value === undefined) continue;
    writer.bytes(value.key);
    writer.text(value.etag);
    writer.f64(value.expiresAt ?? NEVER);
    writer.bytes(value.bytes);
  }
}

/** Reads the answer to a read. @throws StateError if it has failed. */
export function unpackValues(reader: BinaryReader): readonly (StoredValue | undefined)[] {
  checkDone(reader);
  return listOf(reader, () => unpackValue(reader));
}

/** Reads the answer to a list. @throws StateError if it has failed. */
export function unpackEntries(reader: BinaryReader): readonly KeyedValue[] {
  checkDone(reader);
  return listOf(reader, () => unpackValue(reader)).filter((value) => value !== undefined);
}

function unpackValue(reader: BinaryReader): KeyedValue | undefined {
  if (reader.byte() === 0) return undefined;
  const [key, etag, expiresAt] = [reader.text(), reader.text(), reader.f64()];
  const value = { key, etag, bytes: reader.bytes() };
  return expiresAt === NEVER ? value : { ...value, expiresAt };
}

export function packOutcomes(writer: BinaryWriter, outcomes: readonly WriteOutcome[]): void {
  writer.byte(DONE);
  writer.u32(outcomes.length);
  for (const outcome of outcomes) {
    writer.byte(STATUSES.indexOf(outcome.status));
    writer.text((outcome.status === 'done' ? outcome.etag : undefined) ?? '');
  }
}

/** Reads the answer to a write. @throws StateError if it has failed. */
export function unpackOutcomes(reader: BinaryReader): readonly WriteOutcome[] {
  checkDone(reader);
  return listOf(reader, () => {
    const status = STATUSES[reader.byte()] ?? 'skipped';
    const etag = reader.text();
    return status === 'done' && etag !== '' ? { status, etag } : { status };
  });
}

export function packEvents(writer: BinaryWriter, { events, cursor = '' }: OutboxPage): void {
  writer.byte(DONE);
  writer.text(cursor);
  writer.u32(events.length);
  for (const { id, bytes } of events) {
    writer.text(id);
    writer.bytes(bytes);
  }
}

/** Reads a page of events. @throws StateError if the read has failed. */
export function unpackEvents(reader: BinaryReader): OutboxPage {
  checkDone(reader);
  const cursor = reader.text();
  const events = listOf(reader, () => ({ id: reader.text(), bytes: reader.bytes() }));
  return cursor === '' ? { events } : { events, cursor };
}

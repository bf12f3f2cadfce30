import type { Entry } from '../../state/store.ts';
import type { StoredValue } from '../key-value.ts';

/*
 * The form of a value on the sidecar's own kind of store: one byte, which says what follows; if it expires, the instant
 * (float64, milliseconds since 1970); the bytes as they came.
 *
 * The ETag is the version of the entry, which is never used twice, and if the value expires the instant, so that a write
 * with an ETag need not read the value first.
 */
const EXPIRES = 1;
const BINARY = 2;
const INSTANT_BYTES = 8;
const ETAG = /^(0|[1-9]\d{0,15})(?:-([0-9a-z]{1,11}))?$/;
const BASE = 36;

/** A value to store. */
export interface NewValue {
  readonly bytes: Uint8Array;
  readonly isBinary: boolean;
  /** In whole milliseconds. */
  readonly expiresAt: number | undefined;
}

/** The entry of a value. */
export function encodeValue({ bytes, isBinary, expiresAt }: NewValue): Buffer {
  const at = expiresAt === undefined ? 1 : 1 + INSTANT_BYTES;
  const entry = Buffer.allocUnsafe(at + bytes.length);
  entry[0] = (expiresAt === undefined ? 0 : EXPIRES) | (isBinary ? BINARY : 0);
  if (expiresAt !== undefined) entry.writeDoubleBE(expiresAt, 1);
  entry.set(bytes, at);
  return entry;
}

/** When the value of an entry expires; `undefined` for never. */
export function expiryOf({ value }: Entry): number | undefined {
  if (((value[0] ?? 0) & EXPIRES) === 0) return undefined;
  return new DataView(value.buffer, value.byteOffset + 1, INSTANT_BYTES).getFloat64(0);
}

/** The value of an entry; `undefined` if it has expired. Only the state API writes here, and it has checked JSON. */
export function decodeValue(entry: Entry, now: number): StoredValue | undefined {
  const expiresAt = expiryOf(entry);
  const etag = etagOf(entry.version, expiresAt);
  const isJson = ((entry.value[0] ?? 0) & BINARY) === 0;
  if (expiresAt === undefined) return { bytes: entry.value.subarray(1), etag, isJson };
  return expiresAt <= now ? undefined : { bytes: entry.value.subarray(1 + INSTANT_BYTES), etag, expiresAt, isJson };
}

/** The ETag of a value. */
export function etagOf(version: number, expiresAt: number | undefined): string {
  return expiresAt === undefined ? String(version) : `${version}-${expiresAt.toString(BASE)}`;
}

/** The version that an ETag stands for; `undefined` if it is not one of ours, or its value has expired. */
export function versionOf(etag: string, now: number): number | undefined {
  const [, version, expiresAt] = ETAG.exec(etag) ?? [];
  if (version === undefined || !Number.isSafeInteger(Number(version))) return undefined;
  if (expiresAt !== undefined && Number.parseInt(expiresAt, BASE) <= now) return undefined;
  return Number(version);
}

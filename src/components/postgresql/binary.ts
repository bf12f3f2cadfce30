/*
 * Arrays in PostgreSQL's binary format, so that bytes need no encoding as text. The header holds the dimensions, a flag
 * for nulls, the element type, the length and the lower bound; then follows each element with its length.
 */
const HEADER_BYTES = 20;
const BYTEA = 17;
const TEXT = 25;
const INT4 = 23;
const INT8 = 20;
/** Of one UTF-16 unit. */
const MAX_UTF8_BYTES = 3;

function header(buffer: Buffer, type: number, length: number): void {
  buffer.writeInt32BE(1, 0);
  buffer.writeInt32BE(1, 4);
  buffer.writeInt32BE(type, 8);
  buffer.writeInt32BE(length, 12);
  buffer.writeInt32BE(1, 16);
}

/** An array of byte strings; `undefined` becomes null. */
export function byteaArray(items: readonly (Uint8Array | undefined)[]): Buffer {
  let bytes = HEADER_BYTES;
  for (const item of items) bytes += 4 + (item?.byteLength ?? 0);
  const buffer = Buffer.allocUnsafe(bytes);
  header(buffer, BYTEA, items.length);
  let at = HEADER_BYTES;
  for (const item of items) {
    at = buffer.writeInt32BE(item?.byteLength ?? -1, at);
    if (item === undefined) continue;
    buffer.set(item, at);
    at += item.byteLength;
  }
  return buffer;
}

/** An array of keys, as byte strings of UTF-8. */
export function keyArray(keys: readonly string[]): Buffer {
  return utf8Array(BYTEA, keys);
}

/** An array of texts; `undefined` becomes null. */
export function textArray(texts: readonly (string | undefined)[]): Buffer {
  return utf8Array(TEXT, texts);
}

function utf8Array(type: number, texts: readonly (string | undefined)[]): Buffer {
  let bytes = HEADER_BYTES;
  for (const text of texts) bytes += 4 + (text?.length ?? 0) * MAX_UTF8_BYTES;
  const buffer = Buffer.allocUnsafe(bytes);
  header(buffer, type, texts.length);
  let at = HEADER_BYTES;
  for (const text of texts) {
    const length = text === undefined ? -1 : buffer.write(text, at + 4);
    at = buffer.writeInt32BE(length, at) + Math.max(length, 0);
  }
  return buffer.subarray(0, at);
}

/** An array of 32-bit integers. */
export function int4Array(items: readonly number[]): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + items.length * 8);
  header(buffer, INT4, items.length);
  let at = HEADER_BYTES;
  for (const item of items) at = buffer.writeInt32BE(item, buffer.writeInt32BE(4, at));
  return buffer;
}

/** An array of safe integers. */
export function int8Array(items: readonly number[]): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + items.length * 12);
  header(buffer, INT8, items.length);
  let at = HEADER_BYTES;
  for (const item of items) at = buffer.writeBigInt64BE(BigInt(item), buffer.writeInt32BE(8, at));
  return buffer;
}

/** PostgreSQL has no texts with U+0000. */
export function isText(text: string): boolean {
  return !text.includes('\0');
}

/*
 * MessagePack, which scripts decode with `cmsgpack`. One argument for all that a group writes: the driver hands each
 * argument of bytes to the socket by itself, and the server parses and keeps each as an object.
 */
const ARRAY = 0xdd;
const STRING = 0xdb;
const HEADER_BYTES = 5;
/** Of one UTF-16 unit. */
const MAX_UTF8_BYTES = 3;

/** An array of byte strings; texts become UTF-8. */
export function packStrings(items: readonly (string | Uint8Array)[]): Buffer {
  let bytes = HEADER_BYTES;
  for (const item of items)
    bytes += HEADER_BYTES + (typeof item === 'string' ? item.length * MAX_UTF8_BYTES : item.byteLength);
  const buffer = Buffer.allocUnsafe(bytes);
  let at = buffer.writeUInt32BE(items.length, buffer.writeUInt8(ARRAY, 0));
  for (const item of items) {
    const start = at + HEADER_BYTES;
    let length: number;
    if (typeof item === 'string') length = buffer.write(item, start);
    else {
      length = item.byteLength;
      buffer.set(item, start);
    }
    buffer[at] = STRING;
    buffer.writeUInt32BE(length, at + 1);
    at = start + length;
  }
  return buffer.subarray(0, at);
}

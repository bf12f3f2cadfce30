import { isUint8Array } from 'node:util/types';

/** The bytes of a `Uint8Array` of any realm, as under Jest or in `node:vm`, not copied; `undefined` for all else. */
export function bytesOf(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value;
  return isUint8Array(value) ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : undefined;
}

/** Of one UTF-16 unit. */
const MAX_UTF8_BYTES = 3;

/** Joins texts, as UTF-8, and bytes. */
export function joinUtf8(parts: readonly (string | Uint8Array)[]): Buffer {
  let most = 0;
  for (const part of parts) most += typeof part === 'string' ? part.length * MAX_UTF8_BYTES : part.length;
  const joined = Buffer.allocUnsafe(most);
  let at = 0;
  for (const part of parts) {
    if (typeof part === 'string') at += joined.write(part, at);
    else {
      joined.set(part, at);
      at += part.length;
    }
  }
  return joined.subarray(0, at);
}

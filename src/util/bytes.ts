import { isUint8Array } from 'node:util/types';

/** The bytes of a `Uint8Array` of any realm, as under Jest or in `node:vm`, not copied; `undefined` for all else. */
export function bytesOf(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value;
  return isUint8Array(value) ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : undefined;
}

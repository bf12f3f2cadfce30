import { isUtf8 } from 'node:buffer';
import { asBuffer } from '../../http/body.ts';
import { isJson } from '../../util/is-json.ts';

/** Whether bytes are the text of a JSON value. */
export function isJsonValue(bytes: Uint8Array): boolean {
  return isUtf8(bytes) && isJson(bytes);
}

/** The value of a JSON text; of anything else the bytes. */
export function parsedValue(bytes: Uint8Array): unknown {
  const buffer = asBuffer(bytes);
  if (!isUtf8(buffer)) return bytes;
  try {
    return JSON.parse(buffer.toString());
  } catch {
    return bytes;
  }
}

/** A stored value as JSON text. Bytes that are not JSON are a JSON string: the text, or if it is not UTF-8 its base64. */
export function textOfValue(bytes: Uint8Array): string {
  const buffer = asBuffer(bytes);
  if (!isUtf8(buffer)) return JSON.stringify(buffer.toString('base64'));
  const text = buffer.toString();
  return isJson(buffer) ? text.trim() : JSON.stringify(text);
}

const SECOND_MS = 1_000;
/** RFC 3339 has years of four digits. Other programs can store times that are later. */
const LAST_TOLD_AT = Date.UTC(9999, 11, 31, 23, 59, 59);

/** When a value expires, as the API tells it: RFC 3339 in whole seconds, rounded up. */
export function expiryText(expiresAt: number): string {
  const at = Math.min(Math.ceil(expiresAt / SECOND_MS) * SECOND_MS, LAST_TOLD_AT);
  return new Date(at).toISOString().replace('.000Z', 'Z');
}

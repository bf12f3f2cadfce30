import { isUtf8 } from 'node:buffer';
import type { StoredValue } from '../../components/key-value.ts';
import { asBuffer } from '../../http/body.ts';
import { isJson } from '../../util/is-json.ts';

/** What of a stored value tells whether it is JSON. */
type Value = Pick<StoredValue, 'bytes' | 'isJson'>;

/** Whether a value is the text of a JSON value. */
export function isJsonValue({ bytes, isJson: isKnown = false }: Value): boolean {
  return isKnown || (isUtf8(bytes) && isJson(bytes));
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

/** A stored value as JSON: its bytes. If they are not JSON, a JSON string: their text, or if that is not UTF-8 their base64. */
export function jsonOfValue(value: Value): Uint8Array | string {
  if (isJsonValue(value)) return value.bytes;
  const buffer = asBuffer(value.bytes);
  return JSON.stringify(buffer.toString(isUtf8(buffer) ? 'utf8' : 'base64'));
}

/** The text of {@link jsonOfValue}. */
export function textOfValue(value: Value): string {
  const json = jsonOfValue(value);
  return typeof json === 'string' ? json : asBuffer(json).toString().trim();
}

const SECOND_MS = 1_000;
/** RFC 3339 has years of four digits. Other programs can store times that are later. */
const LAST_TOLD_AT = Date.UTC(9999, 11, 31, 23, 59, 59);

/** When a value expires, as the API tells it: RFC 3339 in whole seconds, rounded up. */
export function expiryText(expiresAt: number): string {
  const at = Math.min(Math.ceil(expiresAt / SECOND_MS) * SECOND_MS, LAST_TOLD_AT);
  return new Date(at).toISOString().replace('.000Z', 'Z');
}

import { messageOf } from '../errors.ts';
import { checkIntact } from './damaged-value.ts';
import { isStateError, quote, StateError } from './errors.ts';

/*
 * Every stored value starts with one byte that names its format, so that a later release can change the format it
 * writes and still read the older ones.
 */
const HIGHEST_FORMAT = 255;

/** Prefixes a payload with its format (1 to 255). 0 is not used: an unset byte looks like it. */
export function withFormat(format: number, payload: Uint8Array): Uint8Array {
  if (!Number.isInteger(format) || format < 1 || format > HIGHEST_FORMAT) {
    throw new StateError('invalid', `The value format ${String(format)} must be a whole number from 1 to 255.`);
  }
  const value = new Uint8Array(payload.byteLength + 1);
  value[0] = format;
  value.set(payload, 1);
  return value;
}

/** The reader of each known format. The payload is a view, not a copy. */
export type FormatReaders<T> = Readonly<Record<number, (payload: Uint8Array) => T>>;

/** Reads a value by its format. Throws a `StateError` if no reader is given for the format, or the reader throws. */
export function readValue<T>(key: string, value: Uint8Array, readers: FormatReaders<T>): T {
  checkIntact(value);
  const format = value[0];
  if (format === undefined)
    throw new StateError('corrupt', `The value of ${quote(key)} is empty; a format byte was expected.`);
  const read = Object.hasOwn(readers, format) ? readers[format] : undefined;
  if (read !== undefined) return readable(key, value.subarray(1), read);
  const known = Object.keys(readers).join(', ');
  throw new StateError(
    'newer-format',
    `The value of ${quote(key)} has format ${format}; this release reads ${known}. A newer release may have written it.`,
  );
}

function readable<T>(key: string, payload: Uint8Array, read: (payload: Uint8Array) => T): T {
  try {
    return read(payload);
  } catch (error) {
    if (isStateError(error)) throw error;
    throw new StateError('corrupt', `The value of ${quote(key)} is damaged (${messageOf(error)}).`, error);
  }
}

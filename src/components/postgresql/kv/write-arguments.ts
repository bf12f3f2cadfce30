import { quote, StateError } from '../../../state/errors.ts';
import type { KeyValueOperation, OutboxEvent, PutValue, WriteOutcome } from '../../key-value.ts';
import { byteaArray, int4Array, int8Array, isText, textArray } from '../binary.ts';
import type { PgRow } from '../driver.ts';
import type { FormatVersion } from './formats.ts';

/** A call of a write. */
export interface WriteCall {
  readonly operations: readonly KeyValueOperation[];
  readonly atomic: boolean;
  readonly events: readonly OutboxEvent[];
}

/** Of the values of a statement. */
const MAX_BYTES = 4 * 1_024 * 1_024;
const MAX_KEYS = 1_000;
/** The codes of PostgreSQL for a text that is not JSON, or that it cannot hold: U+0000, half a surrogate, numbers. */
const NOT_JSON = /\((22P02|22P05|22003|22021|54000)\)/;

/** In keys: as many as 1,000 of them, or 4 MiB of values, fill a statement. */
export function sizeOf({ operations }: WriteCall): number {
  let bytes = 0;
  for (const one of operations) if (one.kind === 'put') bytes += one.value.byteLength;
  return operations.length + (bytes / MAX_BYTES) * MAX_KEYS;
}

export function keysOf({ operations }: WriteCall): readonly string[] {
  return operations.map(({ key }) => key);
}

/** The number of the first part of each call: those of an atomic one are one part. */
export function partsOf(calls: readonly WriteCall[]): readonly number[] {
  let next = 0;
  return calls.map(({ operations, atomic }) => {
    const part = next;
    next += atomic ? 1 : operations.length;
    return part;
  });
}

/** The arguments of the statement. */
export function argumentsOf(calls: readonly WriteCall[], version: FormatVersion): unknown[] {
  const [keys, parts, conditions]: [(string | undefined)[], number[], string[]] = [[], [], []];
  const [values, ttls, binaries]: [(Uint8Array | undefined)[], number[], number[]] = [[], [], []];
  const first = partsOf(calls);
  for (const [index, { operations, atomic }] of calls.entries())
    for (const [at, one] of operations.entries()) {
      // No row has such a key: null is equal to none.
      keys.push(isText(one.key) ? one.key : undefined);
      parts.push((first[index] ?? 0) + (atomic ? 0 : at));
      conditions.push(conditionText(one));
      values.push(one.kind === 'put' ? storedForm(one, version) : undefined);
      ttls.push(one.kind === 'put' && one.ttlMs !== undefined ? Math.ceil(one.ttlMs) : -1);
      binaries.push(one.kind === 'put' && one.isBinary === true ? 1 : 0);
    }
  const texts = [textArray(keys), int4Array(parts), textArray(conditions)];
  return [...texts, byteaArray(values), int8Array(ttls), int4Array(binaries)];
}

/** Empty for none, `!` for absent, `=` and the ETag; `=` alone is equal to no ETag. */
function conditionText({ condition }: KeyValueOperation): string {
  if (condition === undefined) return '';
  if (condition === 'absent') return '!';
  return isText(condition.etag) ? `=${condition.etag}` : '=';
}

/** Whether calls only save values, which nothing can refuse. */
export function arePuts(calls: readonly WriteCall[]): boolean {
  return calls.every(
    ({ operations, events }) =>
      events.length === 0 && operations.every(({ kind, condition }) => kind === 'put' && condition === undefined),
  );
}

/** The arguments of the statement that only saves values. */
export function putArgumentsOf(calls: readonly WriteCall[], version: FormatVersion): unknown[] {
  const [keys, , , values, ttls, binaries] = argumentsOf(calls, version);
  return [keys, values, ttls, binaries];
}

/** The rows of that statement in the form and order of those that {@link outcomesOf} takes. */
export function putRowsOf(calls: readonly WriteCall[], rows: readonly PgRow[]): readonly PgRow[] {
  const etags = new Map(rows.map(([key, etag]) => [key, etag]));
  return calls.flatMap(({ operations }) => operations.map(({ key }) => [true, true, etags.get(key) ?? null]));
}

/** In `jsonb`, binary data is a text in base64. */
function storedForm({ value, isBinary }: PutValue, version: FormatVersion): Uint8Array {
  if (version === 'v2' || isBinary !== true) return value;
  return Buffer.from(`"${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')}"`);
}

/** The outcomes of each call, from the rows of all operations. */
export function outcomesOf(calls: readonly WriteCall[], rows: readonly PgRow[]): readonly (readonly WriteOutcome[])[] {
  let at = 0;
  return calls.map(({ operations }) =>
    operations.map(() => {
      const [holds, isDone, etag] = rows[at++] ?? [];
      if (isDone !== true) return { status: holds === true ? 'skipped' : 'refused' };
      return etag === null ? { status: 'done' } : { status: 'done', etag: String(etag) };
    }),
  );
}

/** The error of a write that the server refused, with the key whose value it does not take. */
export function valueError(
  { operations }: WriteCall,
  error: StateError,
  { version }: { readonly version: FormatVersion },
): StateError {
  if (version === 'v2' || !NOT_JSON.test(error.message)) return error;
  const keys = operations.flatMap((one) => (one.kind === 'put' && !isJsonb(one.value) ? [one.key] : []));
  const which = keys.length > 0 ? `The value of ${keys.map(quote).join(', ')}` : 'A value';
  const message = `${which} is no JSON that state.postgresql v1 can hold: its columns are jsonb, without U+0000.`;
  return new StateError('invalid', `${message} ${error.message}`, error);
}

/** Whether a value has none of what `jsonb` refuses most often. */
function isJsonb(value: Uint8Array): boolean {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(value);
    JSON.parse(text);
    return !/(?:^|[^\\])(?:\\\\)*\\u(?:0000|d[89a-f])/i.test(text);
  } catch {
    return false;
  }
}

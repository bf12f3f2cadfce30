import { isUint8Array } from 'node:util/types';
import { checkIntact } from './damaged-value.ts';
import { quote, StateError } from './errors.ts';
import {
  type Batch,
  type KeyRange,
  MAX_BATCH_BYTES,
  MAX_KEY_BYTES,
  MAX_VALUE_BYTES,
  type Put,
  type Scan,
} from './store.ts';

/** Every store runs these checks before it calls its engine. They throw a `StateError` of kind `invalid`. */

/** A code unit takes at most three bytes in UTF-8. */
const MAX_BYTES_PER_UNIT = 3;
/** Up to this many keys, comparing each with each is cheaper than a set. */
const FEW = 8;

/** Checks a key; returns an upper bound of its size in bytes. */
export function checkKey(key: string): number {
  if (typeof key !== 'string' || key.length === 0) {
    throw new StateError('invalid', `The key ${JSON.stringify(key) ?? String(key)} must be a non-empty string.`);
  }
  checkWellFormed(key);
  const most = key.length * MAX_BYTES_PER_UNIT;
  if (most <= MAX_KEY_BYTES) return most;
  const bytes = Buffer.byteLength(key);
  if (bytes <= MAX_KEY_BYTES) return bytes;
  throw new StateError('invalid', `The key ${quote(key)} has ${bytes} bytes; a key has at most ${MAX_KEY_BYTES}.`);
}

/** Rejects text that has no UTF-8 form. */
export function checkWellFormed(text: string): void {
  if (text.isWellFormed()) return;
  throw new StateError('invalid', `The key ${quote(text)} must not contain an unpaired surrogate.`);
}

export function checkBatch(batch: Batch): void {
  let bytes = 0;
  for (const { key, version } of batch.require ?? []) {
    bytes += checkKey(key);
    if (version !== 'absent' && !(Number.isSafeInteger(version) && version >= 0)) {
      throw new StateError(
        'invalid',
        `The required version ${String(version)} of ${quote(key)} must be a version that the store gave out, or 'absent'.`,
      );
    }
  }
  for (const put of batch.put ?? []) bytes += checkPut(put);
  for (const key of batch.delete ?? []) bytes += checkKey(key);
  if (bytes > MAX_BATCH_BYTES) {
    throw new StateError('invalid', `The batch has ${bytes} bytes; a batch has at most ${MAX_BATCH_BYTES}.`);
  }
  checkDistinct(batch);
}

function checkPut({ key, value }: Put): number {
  const keyBytes = checkKey(key);
  if (!isUint8Array(value)) {
    throw new StateError('invalid', `The value of ${quote(key)} must be a Uint8Array, not ${typeNameOf(value)}.`);
  }
  checkIntact(value);
  if (value.byteLength <= MAX_VALUE_BYTES) return keyBytes + value.byteLength;
  throw new StateError(
    'invalid',
    `The value of ${quote(key)} has ${value.byteLength} bytes; a value has at most ${MAX_VALUE_BYTES}.`,
  );
}

function typeNameOf(value: unknown): string {
  if (value === null) return 'null';
  return typeof value === 'object' ? (value.constructor?.name ?? 'an object') : typeof value;
}

function checkDistinct(batch: Batch): void {
  const puts = batch.put?.length ?? 0;
  const deletes = batch.delete?.length ?? 0;
  const required = batch.require?.length ?? 0;
  // Most commits change one entry: nothing to compare, nothing to allocate.
  if (puts + deletes > 1) {
    const keys = [...(batch.put ?? []).map((put) => put.key), ...(batch.delete ?? [])];
    refuseRepeated(keys, 'changed twice in one batch');
  }
  if (required > 1) {
    const keys = (batch.require ?? []).map((precondition) => precondition.key);
    refuseRepeated(keys, 'required twice in one batch');
  }
}

function refuseRepeated(keys: readonly string[], what: string): void {
  const repeated = keys.length <= FEW ? keys.find((key, index) => keys.indexOf(key) !== index) : repeatedOf(keys);
  if (repeated !== undefined)
    throw new StateError('invalid', `The key ${quote(repeated)} is ${what}; once is allowed.`);
}

function repeatedOf(keys: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return keys.find((key) => seen.size === seen.add(key).size);
}

/** Checks the range and the limit of a count. */
export function checkCount({ from, to }: KeyRange, limit: number): void {
  checkScan({ from, limit, ...(to === undefined ? {} : { to }) });
}

export function checkScan({ from, to, limit, maxBytes }: Scan): void {
  for (const [name, bound] of [['from', from] as const, ['to', to ?? ''] as const]) {
    if (typeof bound !== 'string') {
      throw new StateError('invalid', `The bound '${name}' of a scan must be a string, not ${typeNameOf(bound)}.`);
    }
    checkWellFormed(bound);
  }
  for (const [name, most] of [['limit', limit] as const, ['maxBytes', maxBytes] as const]) {
    if (most === undefined || (Number.isSafeInteger(most) && most >= 0)) continue;
    throw new StateError('invalid', `The ${name} ${String(most)} of a scan must be a whole number of 0 or more.`);
  }
}

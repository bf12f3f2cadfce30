import { expect, test } from 'vitest';
import { checkBatch } from '../../src/state/checks.ts';
import { ConflictError, isConflictError, isStateError, StateError } from '../../src/state/errors.ts';
import { MAX_BATCH_BYTES, MAX_VALUE_BYTES } from '../../src/state/store.ts';
import { readValue, withFormat } from '../../src/state/values.ts';

test('a value carries its format in front of its payload', () => {
  const value = withFormat(2, Uint8Array.of(7, 8));
  expect([...value]).toEqual([2, 7, 8]);
  expect(readValue('a', value, { 1: () => '', 2: (payload) => payload.join() })).toBe('7,8');
});

test('an unknown format is refused by name, as is an empty value', () => {
  const readers = { 1: () => 'one', 2: () => 'two' };
  expect(() => readValue('job!a!', Uint8Array.of(9), readers)).toThrow(
    /"job!a!" has format 9; this release reads 1, 2/,
  );
  expect(() => readValue('job!a!', new Uint8Array(0), readers)).toThrow(/"job!a!" is empty/);
});

test('only 1 to 255 are formats', () => {
  for (const format of [0, 256, 1.5]) expect(() => withFormat(format, new Uint8Array(0))).toThrow(/from 1 to 255/);
});

test('a batch has at most 64 MiB', () => {
  const value = new Uint8Array(MAX_VALUE_BYTES);
  const put = Array.from({ length: MAX_BATCH_BYTES / MAX_VALUE_BYTES }, (_, index) => ({ key: `k${index}`, value }));
  expect(() => checkBatch({ put: put.slice(1) })).not.toThrow();
  expect(() => checkBatch({ put })).toThrow(/at most 67108864/);
});

test('errors are recognised by brand', () => {
  expect(isConflictError(new ConflictError('a'))).toBe(true);
  expect(isConflictError(new StateError('full', 'no space'))).toBe(false);
  expect(isStateError(new Error('other'))).toBe(false);
  expect(new ConflictError('\0'.repeat(100)).message.length).toBeLessThan(700);
});

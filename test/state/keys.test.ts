import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isStateError } from '../../src/state/errors.ts';
import {
  compareKeys,
  counterOf,
  counterPart,
  instantOf,
  instantPart,
  keyOf,
  partsOf,
  rangeOf,
  rangeOfPrefix,
} from '../../src/state/keys.ts';

/** Well-formed text of all sorts: also controls, the characters of the encoding itself, astral ones. */
const text = fc.oneof(
  fc.string({
    unit: fc.constantFrom('\0', '\u0001', ' ', '!', '"', '#', '-', '/', 'a', '@', 'b', '\ue000', '😀'),
    maxLength: 6,
  }),
  fc.string({ unit: 'binary', maxLength: 6 }),
);
const tuple = fc.array(text, { maxLength: 4 });

function byteOrder(a: string, b: string): number {
  return Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/** The order of tuples: by the first part that differs; a beginning comes before what continues it. */
function tupleOrder(a: readonly string[], b: readonly string[]): number {
  for (const [index, part] of a.entries()) {
    const other = b[index];
    if (other === undefined) return 1;
    if (part !== other) return byteOrder(part, other);
  }
  return a.length === b.length ? 0 : -1;
}

describe('keys of tuples', () => {
  test('in the range of a prefix are those whose next part begins with it', () => {
    fc.assert(
      fc.property(tuple, text, fc.array(text, { maxLength: 4 }), text, (parts, prefix, others, rest) => {
        const { from, to = '' } = rangeOfPrefix(parts, prefix);
        const isWithin = (key: string): boolean =>
          compareKeys(key, from) >= 0 && (to === '' || compareKeys(key, to) < 0);
        expect(isWithin(keyOf(...parts, `${prefix}${rest}`, ...others))).toBe(true);
        const [other = ''] = others;
        expect(isWithin(keyOf(...parts, other))).toBe(other.startsWith(prefix));
      }),
    );
  });

  test('come back as the tuple that they were made of', () => {
    fc.assert(
      fc.property(tuple, (parts) => {
        expect(partsOf(keyOf(...parts))).toEqual(parts);
      }),
    );
  });

  test('sort like their tuples', () => {
    fc.assert(
      fc.property(tuple, tuple, (a, b) => {
        expect(byteOrder(keyOf(...a), keyOf(...b))).toBe(tupleOrder(a, b));
      }),
      { numRuns: 2000 },
    );
  });

  test('are in the range of exactly their beginnings', () => {
    fc.assert(
      fc.property(tuple, tuple, (prefix, parts) => {
        const { from, to } = rangeOf(...prefix);
        const key = keyOf(...parts);
        const isInRange = byteOrder(key, from) >= 0 && (to === undefined || byteOrder(key, to) < 0);
        expect(isInRange).toBe(prefix.every((part, index) => parts[index] === part));
        expect(byteOrder(keyOf(...prefix, ...parts), from)).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 1000 },
    );
  });

  test('stay readable', () => {
    expect(keyOf('pubsub', 'orders.created', 'a/b-c')).toBe('pubsub!orders.created!a/b-c!');
    expect(keyOf('a b!')).toBe('a"`b"a!');
  });

  test('are refused when malformed, and surrogates without their pair', () => {
    for (const key of ['a', 'a!b', '"!', '"z!', 'a b!']) expect(() => partsOf(key), key).toThrow(/not made by keyOf/);
    for (const part of ['\ud800', 'x\udfff']) expect(() => keyOf(part)).toThrow(/surrogate/);
  });
});

const instant = fc.oneof(
  fc.maxSafeInteger(),
  fc.integer({ min: -10, max: 10 }),
  fc.constantFrom(2 ** 28, -(2 ** 28), 8.64e15),
);

describe('parts', () => {
  test('keep instants and their order, before 1970 too', () => {
    fc.assert(
      fc.property(instant, instant, (a, b) => {
        expect(instantOf(instantPart(a))).toBe(a);
        expect(byteOrder(instantPart(a), instantPart(b))).toBe(Math.sign(a - b));
        expect(partsOf(keyOf(instantPart(a)))).toEqual([instantPart(a)]);
      }),
      { numRuns: 1000 },
    );
    for (const extreme of [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]) {
      expect(instantOf(instantPart(extreme))).toBe(extreme);
    }
  });

  test('keep counters and their order', () => {
    const counter = fc.oneof(fc.maxSafeNat(), fc.nat(300));
    fc.assert(
      fc.property(counter, counter, (a, b) => {
        expect(counterOf(counterPart(a))).toBe(a);
        expect(byteOrder(counterPart(a), counterPart(b))).toBe(Math.sign(a - b));
      }),
      { numRuns: 1000 },
    );
    expect(counterOf(counterPart(Number.MAX_SAFE_INTEGER))).toBe(Number.MAX_SAFE_INTEGER);
  });

  test('refuse numbers and texts that are none', () => {
    for (const wrong of [1.5, Number.NaN, 2 ** 53]) expect(() => instantPart(wrong)).toThrow(/instant/);
    for (const wrong of [-1, 0.5, Number.POSITIVE_INFINITY]) expect(() => counterPart(wrong)).toThrow(/counter/);
    for (const wrong of ['', 'zz', '0000000000000G']) expect(() => instantOf(wrong)).toThrow(/not an instant/);
    for (const wrong of ['', '1', '200', '3ff', '1g', 'f0'])
      expect(() => counterOf(wrong), wrong).toThrow(/not a counter/);
    try {
      instantPart(Number.NaN);
    } catch (error) {
      expect(isStateError(error) && error.kind).toBe('invalid');
    }
  });
});

test('compareKeys is the byte order of UTF-8', () => {
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(compareKeys(a, b)).toBe(byteOrder(a, b));
    }),
    { numRuns: 2000 },
  );
  expect('😀' < '\uffff').toBe(true);
  expect(compareKeys('😀', '\uffff')).toBe(1);
});

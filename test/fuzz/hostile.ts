import fc from 'fast-check';

/** Texts that have broken parsers of paths, headers, JSON or keys. */
const HOSTILE_TEXTS: readonly string[] = [
  ...[
    '',
    ' ',
    '.',
    '..',
    '/',
    '//',
    '\\',
    '*',
    '?',
    '#',
    '%',
    '&',
    '=',
    ';',
    ':',
    '@',
    '|',
    '"',
    "'",
    '`',
    '~',
    '^',
    '!',
  ],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'null', 'undefined', 'NaN', 'true'],
  ...['0', '-0', '-1', '1e400', '9007199254740993', '4294967296', '2147483648', '0x10', '1_000', '٣'],
  ...[
    '\u0000',
    '\u0007',
    '\r\n',
    '\r\nx-smuggled: 1\r\n\r\n',
    '\u0085',
    '\u2028',
    '\ufeff',
    '\u202e',
    '\u{1f600}',
    '\ud800',
  ],
  ...['e\u0301', 'ﬁ', 'İ', 'ß', 'K', '\uffff', '\u{10ffff}', '{{x}}', '$(x)', '<script>', '../../etc/passwd'],
  ...[
    'bulk',
    'start',
    'raiseEvent',
    'purge',
    'method',
    'ready',
    'sequence',
    'group',
    'a'.repeat(256),
    'n'.repeat(5_000),
  ],
];

/** Pieces of a path that have broken routers. */
export const HOSTILE_ESCAPES: readonly string[] = [
  ...[
    '%',
    '%0',
    '%00',
    '%2F',
    '%2f%2e%2e',
    '%2e%2e',
    '%5c',
    '%0d%0ax-smuggled:%201',
    '%0a',
    '%20',
    '%09',
    '%7f',
    '%25',
  ],
  ...[
    '%252e%252e',
    '%c0%ae',
    '%ff',
    '%ed%a0%80',
    '%F4%90%80%80',
    '%e2%80%ae',
    '%u0041',
    '%zz',
    '+',
    '//',
    '/./',
    '/../',
  ],
  ...['?', '??', '?#', '#x', ';x=1', '\\..\\', '__proto__', 'constructor', '/method/', '..%2f..%2f', 'a'.repeat(2_000)],
];

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...HOSTILE_TEXTS) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(...HOSTILE_TEXTS), fc.constantFrom(...HOSTILE_TEXTS))
      .map((two) => two.join('')),
  },
);

/** A place between the beginning, 0, and the end, 1, each as likely as another. */
export const place: fc.Arbitrary<number> = fc.noBias(fc.nat({ max: 1_000_000 }).map((number) => number / 1_000_001));

/** One change of a text: what to put where, and how much to take away. */
export interface Edit {
  /** A place between the beginning, 0, and the end, 1. */
  readonly at: number;
  readonly remove: number;
  readonly insert: string;
}

export function edits(pieces: readonly string[], maxLength = 2): fc.Arbitrary<readonly Edit[]> {
  const edit = fc.record({
    at: place,
    remove: fc.oneof(fc.constant(0), fc.nat({ max: 12 })),
    insert: fc.oneof(fc.constant(''), fc.constantFrom(...pieces), fc.string({ unit: 'binary-ascii', maxLength: 3 })),
  });
  return fc.array(edit, { minLength: 1, maxLength });
}

/** The same text in most runs, an edited one in one of `among` and one. */
export function mutated(text: fc.Arbitrary<string>, pieces: readonly string[], among = 4): fc.Arbitrary<string> {
  const changed = fc.tuple(text, edits(pieces)).map(([whole, changes]) => edited(whole, changes));
  return fc.oneof({ weight: among, arbitrary: text }, { weight: 1, arbitrary: changed });
}

export function edited(text: string, changes: readonly Edit[]): string {
  let whole = text;
  for (const { at, remove, insert } of changes) {
    const from = Math.floor(at * (whole.length + 1));
    whole = whole.slice(0, from) + insert + whole.slice(from + remove);
  }
  return whole;
}

/** Numbers at the borders of formats. */
const hardNumber: fc.Arbitrary<number> = fc.constantFrom(
  ...[
    0,
    -0,
    -1,
    1.5,
    1e21,
    1e308,
    2 ** 31,
    2 ** 32,
    2 ** 53,
    2 ** 63,
    -(2 ** 63),
    8.64e15,
    8.64e15 + 1,
    Number.MIN_VALUE,
  ],
);

/** JSON texts, sound and not: deep, long, with keys twice, with numbers and surrogates that readers disagree about. */
export const hostileJson: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.json({ stringUnit: 'binary' }) },
  {
    weight: 2,
    arbitrary: mutated(fc.json(), ['{', '}', '[', ']', ',', ':', '"', '\\', '\\ud800', '\u0000', 'e999'], 1),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('{"a":1,"a":2}', '{"__proto__":{"x":1}}', '"\\ud800"', '1e400', '-0', '01', ''),
  },
  { weight: 1, arbitrary: fc.constantFrom('﻿{}', '{"a":12345678901234567890.123456789}', 'nul', '[1,]', '{} {}') },
  { weight: 1, arbitrary: fc.nat({ max: 3_000 }).map((depth) => '['.repeat(depth) + ']'.repeat(depth)) },
  {
    weight: 1,
    arbitrary: fc.nat({ max: 3_000 }).map((depth) => '{"a":'.repeat(depth) + '1'.concat('}'.repeat(depth))),
  },
);

/** A value that is put where another type is expected. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: hostileText },
  { weight: 2, arbitrary: hardNumber },
  { weight: 1, arbitrary: fc.constantFrom(null, true, false, [], {}, [[]], { __proto__: null, constructor: 1 }) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
);

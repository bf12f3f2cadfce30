import fc from 'fast-check';
import { compileRe2, type Re2Pattern } from '../../../src/util/re2.ts';
import { within } from '../cpu-limit.ts';
import { hostileText, mutated } from '../hostile.ts';
import { pureTarget } from './pure-target.ts';

const COMPILING_MS = 3_000;
/** As much as a rule can ask for, while nothing is compiled yet. */
const MATCHING_MS = 1_000;
/** The text of a rule times the instructions of its pattern. */
const MAX_WORK = 500_000;

/** A pattern as RE2 and as JavaScript writes it, for the flags `u` or `iu`. */
interface Twin {
  readonly re2: string;
  readonly js: string;
}

const alike = (...texts: readonly string[]): fc.Arbitrary<Twin> =>
  fc.constantFrom(...texts.map((text) => ({ re2: text, js: text })));
const joined = (make: (one: string) => string, { re2, js }: Twin): Twin => ({ re2: make(re2), js: make(js) });

/** Neither `k` nor `s`: with `(?i)`, the two engines differ in whether \\w and \\b count their other forms. */
const LETTERS = ['a', 'b', 'c', 'A', 'B', '1', '2', '_', '-', ' ', '\n', 'é', 'É', '店', '😀'];
const atom: fc.Arbitrary<Twin> = fc.oneof(
  { weight: 5, arbitrary: alike('a', 'b', 'c', 'B', '1', '_', ' ', '-', 'é', '店', '😀', '\\.', '\\x41', '\\n') },
  {
    weight: 2,
    arbitrary: alike('[ab]', '[^a]', '[a-c1-2]', '[^\\d]', '[\\w\\-]', '[é店]', '\\d', '\\D', '\\w', '\\W'),
  },
  { weight: 1, arbitrary: alike('\\p{L}', '\\P{L}', '\\p{Lu}', '[\\p{Nd}_]') },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Twin>(
      { re2: '.', js: '[^\\n]' },
      { re2: '(?s:.)', js: '[^]' },
      { re2: '\\s', js: '[\\t\\n\\f\\r ]' },
      { re2: '[[:alpha:]]', js: '[A-Za-z]' },
      { re2: '\\x{5e97}', js: '店' },
      { re2: '\\Qa.b\\E', js: 'a\\.b' },
      { re2: '\\pL', js: '\\p{L}' },
      { re2: '\\-', js: '-' },
    ),
  },
);
const edge: fc.Arbitrary<Twin> = fc.oneof(
  alike('^', '$', '\\b', '\\B'),
  fc.constantFrom<Twin>(
    { re2: '\\A', js: '^' },
    { re2: '\\z', js: '$' },
    { re2: '(?m:^)', js: '(?<![^\\n])' },
    { re2: '(?m:$)', js: '(?![^\\n])' },
  ),
);
const repeated = fc.constantFrom('*', '+', '?', '*?', '+?', '??', '{2}', '{0,2}', '{1,}', '{2,3}?');
const { twin } = fc.letrec<{ twin: Twin; part: Twin }>((tie) => ({
  twin: fc
    .array(fc.array(tie('part'), { maxLength: 4 }), { minLength: 1, maxLength: 3 })
    .map((choices) => ({ re2: written(choices, 're2'), js: written(choices, 'js') })),
  part: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { weight: 6, arbitrary: atom },
    { weight: 1, arbitrary: edge },
    { weight: 2, arbitrary: fc.tuple(atom, repeated).map(([one, times]) => joined((text) => text + times, one)) },
    { weight: 1, arbitrary: tie('twin').map((one) => joined((text) => `(${text})`, one)) },
    {
      weight: 1,
      arbitrary: fc.tuple(tie('twin'), repeated).map(([one, times]) => joined((text) => `(?:${text})${times}`, one)),
    },
  ),
}));

function written(choices: readonly (readonly Twin[])[], language: keyof Twin): string {
  return choices.map((parts) => parts.map((part) => part[language]).join('')).join('|');
}

/** Short: JavaScript may take exponential time. */
const text = fc.array(fc.constantFrom(...LETTERS), { maxLength: 10 }).map((letters) => letters.join(''));

const PIECES = [
  ...['(', ')', '[', ']', '{', '}', '?', '*', '+', '|', '^', '$', '\\', '.', '-', ':', ',', '(?', '(?i)', '(?P<n>'],
  ...[
    '[[:',
    ':]]',
    '\\p{',
    '\\pL',
    '\\Q',
    '\\x{',
    '{1000}',
    '{2,}',
    '{999,1000}',
    '\u0000',
    '\ud800',
    '😀',
    'a',
    '\\C',
  ],
];
const hostilePattern = fc.oneof(
  {
    weight: 8,
    arbitrary: mutated(
      twin.map(({ re2 }) => re2),
      PIECES,
      6,
    ),
  },
  { weight: 2, arbitrary: fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }).map((pieces) => pieces.join('')) },
  { weight: 1, arbitrary: hostileText },
);
const longText = fc
  .tuple(fc.constantFrom('a', 'ab', 'a1 ', 'é店', '\ud800', '😀'), fc.constantFrom('', 'a', '!', '\n'))
  .map(([part, end]) => `${part.repeat(MAX_WORK / 2)}${end}`);

/** Patterns of `matches()`. */
export const re2 = pureTarget('re2', 400, [
  {
    cases: fc.tuple(twin, fc.boolean(), fc.array(text, { minLength: 1, maxLength: 4 })),
    check: ([pattern, isFolded, texts]) => compare(pattern, isFolded, texts),
  },
  {
    cases: fc.tuple(hostilePattern, longText),
    check: ([pattern, long]) => checkTime(pattern, long),
  },
]);

/** Where both engines agree on the syntax, they agree on what matches. */
function compare({ re2: pattern, js }: Twin, isFolded: boolean, texts: readonly string[]): void {
  const compiled = compileRe2(isFolded ? `(?i)${pattern}` : pattern);
  const expected = new RegExp(js, isFolded ? 'iu' : 'u');
  // V8 looks around in the middle of a character that has two units, too.
  const given = /\(\?<?!/.test(js) ? texts.map((one) => one.replaceAll('😀', '')) : texts;
  // Twice: the second time, it remembers texts.
  for (const one of [...given, ...given])
    if (compiled.test(one) !== expected.test(one))
      throw new Error(`${JSON.stringify(one)} ${expected.test(one) ? 'matches' : 'does not match'} in JavaScript`);
}

/** Whatever the pattern, it is refused with an error of ours, or matches in bounded time. */
function checkTime(pattern: string, long: string): void {
  const compiled = compiledOrRefused(pattern);
  if (compiled === undefined) return;
  const portion = long.slice(0, MAX_WORK / compiled.size);
  within(MATCHING_MS, 'matching', () => compiled.test(portion));
  compiled.test('');
}

function compiledOrRefused(pattern: string): Re2Pattern | undefined {
  try {
    return within(COMPILING_MS, 'compiling', () => compileRe2(pattern));
  } catch (error) {
    if (error instanceof Error && error.constructor === Error && !/ took \d+ ms/.test(error.message)) return undefined;
    throw error;
  }
}

import fc from 'fast-check';
import { compileMatch, type Matcher } from '../../../src/blocks/pubsub/delivery/rules.ts';
import { within } from '../cpu-limit.ts';
import { hostileText, mutated } from '../hostile.ts';
import { pureTarget } from './pure-target.ts';

/** A rule is compiled once; the patterns of `matches()` are looked into. */
const COMPILING_MS = 3_000;
const MATCHING_MS = 50;

const path = fc.constantFrom(
  'event.type',
  'event.data',
  'event.data.amount',
  'event.data.name',
  'event.data.list',
  'event.id',
  'event["a-b"]',
  'event',
);
const literal = fc.oneof(
  fc.constantFrom(
    '1',
    '1.5',
    '100u',
    '"x"',
    "'order'",
    'true',
    'null',
    '[1, 2]',
    '{"a": 1}',
    'b"x"',
    '9223372036854775807',
    '1e308',
    'r"\\d"',
  ),
  hostileText.map((text) => JSON.stringify(text)),
);
const operator = fc.constantFrom('==', '!=', '<', '<=', '>', '>=', '&&', '||', '+', '-', '*', '/', '%', 'in');
const pattern = fc.oneof(
  fc.constantFrom(
    '^a+b$',
    '(a+)+$',
    '(a|aa)*b',
    '^(\\w+\\s?)*$',
    '[',
    '(?=a)',
    '\\1',
    '.*.*.*x',
    '(x{1,50}){1,50}',
    'é',
    '(?<n>a)',
    '(?i)(a|A)*$',
    '(?ms)^a.b$',
    '[[:alpha:]]+\\pL',
    '\\A\\Qa.\\E\\z',
    '[]a-\\x{10ffff}]',
  ),
  fc.string({ maxLength: 12 }),
);
const call = fc.oneof(
  fc
    .tuple(path, fc.constantFrom('startsWith', 'endsWith', 'contains'), literal)
    .map(([what, name, text]) => `${what}.${name}(${text})`),
  fc.tuple(path, pattern).map(([what, text]) => `${what}.matches(${JSON.stringify(text)})`),
  fc.tuple(path, pattern).map(([what, text]) => `matches(${what}, ${JSON.stringify(text)})`),
  path.map((what) => `has(${what})`),
  path.map((what) => `size(${what}) > 1`),
  fc
    .tuple(fc.constantFrom('all', 'exists', 'exists_one', 'filter', 'map'), path)
    .map(([name, what]) => `${what}.${name}(x, x == "a")`),
  fc
    .tuple(fc.constantFrom('all', 'exists', 'exists_one', 'filter', 'map'), path, path)
    .map(([name, what, inner]) => `${what}.${name}(x, ${inner}.${name}(y, x == y || ${inner} == ${what}) == x)`),
  fc
    .tuple(fc.constantFrom('int', 'double', 'string', 'timestamp', 'duration', 'type', 'dyn', 'bytes'), literal)
    .map(([name, value]) => `${name}(${value}) == ${value}`),
);
const term = fc.oneof(
  { weight: 2, arbitrary: call },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.oneof(path, literal), operator, fc.oneof(path, literal)).map((parts) => parts.join(' ')),
  },
);
const sound = fc
  .array(term, { minLength: 1, maxLength: 3 })
  .map((terms) => terms.map((one) => `(${one})`).join(' && '));
const deep = fc
  .tuple(fc.constantFrom('(', '!', '-', '[', '{', 'has(', '"'), fc.nat({ max: 5_000 }))
  .map(([piece, times]) => piece.repeat(times));
const PIECES = [
  '(',
  ')',
  '"',
  "'",
  '?',
  ':',
  '.',
  '[',
  ']',
  '&&',
  '!',
  '\\',
  '\u0000',
  'in',
  '__proto__',
  'constructor',
  '`',
];
const rule = fc.oneof(
  { weight: 20, arbitrary: mutated(sound, PIECES, 3) },
  { weight: 1, arbitrary: deep },
  { weight: 1, arbitrary: hostileText },
);

const long = fc
  .tuple(fc.constantFrom('a', 'ab', 'a ', 'x'), fc.nat({ max: 3_000 }))
  .map(([text, times]) => `${text.repeat(times)}!`);
const longList = fc.nat({ max: 50_000 }).map((length) => Array.from({ length }, (_, at) => at));
const event = fc.record(
  {
    type: fc.oneof(fc.constantFrom('order', 'x'), long),
    id: hostileText,
    data: fc.oneof(
      fc.record(
        {
          amount: fc.double(),
          name: fc.oneof(long, hostileText),
          list: fc.oneof(fc.array(fc.string(), { maxLength: 100 }), longList),
        },
        { requiredKeys: [] },
      ),
      fc.jsonValue({ maxDepth: 3 }),
      long,
    ),
    'a-b': fc.jsonValue({ maxDepth: 1 }),
  },
  { requiredKeys: [] },
);

/** Rules of subscriptions. */
export const rules = pureTarget('rules', 300, [
  {
    cases: fc.tuple(rule, fc.array(event, { minLength: 1, maxLength: 3 })),
    check: ([text, events]) => check(text, events),
  },
]);

function check(text: string, events: readonly unknown[]): void {
  const matcher = compiled(text);
  if (matcher === undefined) return;
  for (const one of events) {
    const before = JSON.stringify(one);
    const result = evaluated(() => within(MATCHING_MS, 'matching', () => matcher(one)));
    if (result !== undefined && typeof result !== 'boolean') throw new Error(`the result is ${String(result)}`);
    if (JSON.stringify(one) !== before) throw new Error('the rule has changed the event');
  }
}

function compiled(text: string): Matcher | undefined {
  try {
    return within(COMPILING_MS, 'compiling', () => compileMatch(text));
  } catch (error) {
    if (error instanceof Error && error.constructor === Error && error.message.startsWith('match expression '))
      return undefined;
    throw error;
  }
}

/** `undefined` for an event of which the rule cannot say anything: it does not match then. */
function evaluated(evaluate: () => unknown): unknown {
  try {
    return evaluate();
  } catch (error) {
    if (error instanceof Error && !/ took \d+ ms/.test(error.message)) return undefined;
    throw error;
  }
}

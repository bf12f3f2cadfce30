import { expect, test } from 'vitest';
import { isJson } from '../../src/util/is-json.ts';

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Numbers from 0 to below 1, the same in every run. */
function sequence(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const VALID = [
  ...['{}', '[]', '""', '0', '-0', '1.5e-3', '1E+2', 'true', 'false', 'null', ' \t\r\n1 ', '[[],{}]', '"\\u00e9\\n"'],
  ...[
    '{"a":{"b":[1,"c",null]},"a":2}',
    '"äöü €漢字😀"',
    '"\u007f"',
    '"\\ud800"',
    `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
  ],
];
const INVALID = [
  ...['', ' ', '{', '}', '[', '[1', '[1,', '[1,]', '[,1]', '{"a"}', '{"a":}', '{"a":1,}', '{a:1}', '{1:1}', '[}', '{]'],
  ...[
    '01',
    '-',
    '+1',
    '.5',
    '1.',
    '1e',
    '1e+',
    '0x1',
    'NaN',
    'tru',
    'truee',
    'nul',
    'True',
    '1 2',
    '[1 2]',
    '"',
    '"\\"',
  ],
  ...[
    '"\\x"',
    '"\\u12"',
    '"\\u12g4"',
    '"\n"',
    '"\u0000"',
    "'a'",
    '\ufeff1',
    '\u00a01',
    '{"a":1}}',
    '[1]]',
    '"a""b"',
    '{"a":1 "b":2}',
  ],
];

test.each(VALID)('%j is JSON', (text) => {
  expect(parses(text)).toBe(true);
  expect(isJson(Buffer.from(text))).toBe(true);
});

test.each(INVALID)('%j is not JSON', (text) => {
  expect(parses(text)).toBe(false);
  expect(isJson(Buffer.from(text))).toBe(false);
});

test('decides as JSON.parse does on texts that differ from JSON in a few characters', () => {
  const random = sequence(17);
  const pick = (from: string): string => from[Math.floor(random() * from.length)] ?? '';
  const characters = '{}[]",:0123456789.eE+-truefalsn \n\t\\u€é"\u0001/b';
  let valid = 0;
  for (let round = 0; round < 20_000; round++) {
    const value = {
      k: [random() * 10 ** 20, -random(), null, pick(characters) + pick(characters)],
      l: { m: round % 2 === 0 },
    };
    let text = JSON.stringify(round % 3 === 0 ? value : value.k, null, round % 5 === 0 ? 1 : 0);
    for (let change = round % 4; change > 0; change--) {
      const at = Math.floor(random() * text.length);
      text = text.slice(0, at) + (random() < 0.7 ? pick(characters) : '') + text.slice(at + (random() < 0.5 ? 1 : 0));
    }
    const expected = parses(text);
    if (expected) valid++;
    expect(isJson(Buffer.from(text)), JSON.stringify(text)).toBe(expected);
  }
  expect(valid).toBeGreaterThan(5_000);
  expect(valid).toBeLessThan(15_000);
});

test.each([
  ...['x', '\\n', '\\"', '\\\\', '\\u00e9', 'é', '☃😀', '\u007f', '\u2028', '\\ud800'],
  ...['\n', '\u0000', '\u001f', '\\x', '\\u12', '\\', '"'],
])('decides as JSON.parse does on long strings with %j in them', (part) => {
  for (const length of [40, 62, 63, 64, 65, 66, 300])
    for (const at of [0, 1, length >> 1, length - 1, length]) {
      const string = `"${'a'.repeat(at)}${part}${'b'.repeat(length - at)}"`;
      for (const text of [string, `[${string},1]`, `{${string}:${string}}`, string.slice(0, -1), `${string}"`])
        expect(isJson(Buffer.from(text)), text).toBe(parses(text));
    }
});

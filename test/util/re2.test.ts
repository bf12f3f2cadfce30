import { describe, expect, test } from 'vitest';
import { compileRe2 } from '../../src/util/re2.ts';
import { collectGarbage } from '../support/garbage.ts';

describe('a pattern of RE2 matches what it matches there', () => {
  test.each<[pattern: string, yes: readonly string[], no: readonly string[]]>([
    ['^com[.]', ['com.x'], ['xcom.x', 'COM.x', 'comx']],
    ['(?i)^COM', ['com.x', 'Com'], ['xcom']],
    ['(?i)größe', ['GRÖSSE'.replace('SS', 'ß'), 'GRÖßE'], ['grosse']],
    ['(?i)^[a-c]+$', ['ABC'], ['D']],
    ['(?is)^a.b$', ['A\nB'], ['AB']],
    ['^a.b$', ['a\rb', 'a\u2028b', 'a😀b', 'a b'], ['a\nb', 'ab']],
    ['(?s)^a.b$', ['a\nb'], ['ab']],
    ['(?s:a.)b.c', ['a\nbxc'], ['a\nb\nc']],
    ['(?m)^b$', ['a\nb\nc', 'b'], ['a\rb', 'a\u2028b', 'ab']],
    ['(?m)^b\\z', ['a\nb'], ['a\nb\n']],
    ['^b$', ['b'], ['a\nb', 'b\n']],
    ['\\Acom', ['com'], ['xcom', '\ncom']],
    ['com\\z', ['com'], ['com\n']],
    ['(?U)^a+$', ['aa'], ['b']],
    ['^[[:alpha:]]+[.]', ['com.x'], ['c0m.x', '[.']],
    ['^[^[:space:][:digit:]]+$', ['a-b'], ['a b', 'a1']],
    ['^[[:^alpha:]]+$', ['01-'], ['0a']],
    ['^[[:punct:]]+$', ['-[]{}~!'], ['a']],
    ['^\\pL+$', ['größe', '店'], ['a1']],
    ['^\\p{L}+[.]', ['größe.x'], ['1.x']],
    ['^\\PL+$', ['123'], ['1a']],
    ['^\\p{^L}+$', ['123'], ['1a']],
    ['^\\p{Lu}\\p{Ll}+$', ['Größe'], ['größe']],
    ['^\\p{Greek}+$', ['αβγ'], ['abc']],
    ['^[\\p{Nd}_]+$', ['1_٣'], ['a']],
    ['^\\s$', [' ', '\t'], ['\v', '\u00a0', 'a']],
    ['^[\\S]$', ['\v', '\u00a0', 'a'], [' ']],
    ['^\\d\\w\\W\\D$', ['1_-x'], ['a_-x', '1--x']],
    ['(?i)^\\W$', ['-'], ['s', 'S', 'ſ', 'K', 'k']],
    ['(?i)^\\w$', ['s', 'ſ', 'K'], ['-']],
    ['\\bcom\\b', ['a com b'], ['acom']],
    ['^[]a]+$', [']a'], ['b']],
    ['^[^]a]+$', ['b'], [']']],
    ['^[a-]+$', ['a-'], ['b']],
    ['^[\\w-.]+$', ['a-.'], [',']],
    ['^[&&[]+$', ['&['], ['a']],
    ['^[+--]+$', ['+,-'], ['.']],
    ['^a{2}$', ['aa'], ['a']],
    ['^a{,2}$', ['a{,2}'], ['aa']],
    ['^{"a":\\d+}$', ['{"a":1}'], ['a']],
    ['^\\x41\\x{1F600}$', ['A😀'], ['A']],
    ['^😀?$', ['😀', ''], ['\ude00']],
    ['^[😀-😂]$', ['😁'], ['\ud83d']],
    ['^\\Qa.b*\\E+$', ['a.b*', 'a.b**'], ['axb']],
    ['^\\Qa.b', ['a.bc'], ['axb']],
    ['^\\a\\f\\t\\n\\r\\v\\-\\/\\_$', ['\x07\f\t\n\r\v-/_'], ['']],
    ['^(?P<word>a)(?<other>b)(?:c)(d)$', ['abcd'], ['abc']],
    ['^([0-9]+-)*[0-9]+$', ['1-22-3', '7'], ['1-', '-1', '1--2']],
    ['^com\\.(acme|corp)(\\.[a-z0-9]+)*\\.[a-z]+$', ['com.acme.a1.b', 'com.corp.x'], ['com.acme', 'com.acme.1']],
    ['^(order|orders?)+\\.v[0-9]+$', ['orderorders.v1'], ['ord.v1']],
    ['(?i:abc)d', ['ABCd', 'abcd'], ['abcD']],
    ['a(?i)b', ['aB'], ['AB']],
    ['(?i)a(?-i)b', ['Ab'], ['aB']],
    ['(?i)\\bfoo\\b', ['a FOO b', 'Kfoo'.replace('K', '\u212a')], ['afoo', 'foo_']],
    ['^\\p{Cn}$', ['\u0378'], ['a']],
    ['^\\pC$', ['\u0000', '\u00ad'], ['a']],
    ['(?i)^\\PL$', ['1'], ['a', 'A']],
  ])('%s', (pattern, yes, no) => {
    const compiled = compileRe2(pattern);
    // Twice: the second time, it remembers texts.
    for (const text of [...yes, ...yes]) expect(compiled.test(text), text).toBe(true);
    for (const text of [...no, ...no]) expect(compiled.test(text), text).toBe(false);
  });
});

test.each(
  [
    ['(?=a)', 'does not look around'],
    ['(?<=a)b', 'does not look around'],
    ['(?<!a)b', 'does not look around'],
    ['(?P=a)', '(?P'],
    ['(?>a)', '(?>'],
    ['(a)\\1', 'no references'],
    ['\\u0041', 'write \\x{…}'],
    ['a\\Z', 'write \\z'],
    ['\\y', 'invalid escape sequence in \\y'],
    ['[\\b]', 'invalid escape sequence in \\b'],
    ['[[:letter:]]', 'invalid character class range in [:letter:]'],
    ['\\p{Klingon}', 'invalid character class range in \\p{Klingon}'],
    ['[a', 'missing closing ] in [a'],
    ['(a', 'missing closing )'],
    ['a)', 'unexpected )'],
    ['[z-a]', 'range in z-a'],
    ['[a-\\d]', 'in \\d'],
    ['\\x{110000}', 'in \\x{110000'],
    ['a{1001}', 'repeated up to 1000 times'],
    ['(a{1000}){2}', 'repeated up to 1000 times'],
    ['a**', 'invalid nested repetition operator in **'],
    ['*a', 'missing argument to repetition operator in *'],
    ['a\\', 'trailing backslash'],
    [`${'('.repeat(1_100)}a${')'.repeat(1_100)}`, 'nests too deeply'],
    ['a'.repeat(4_001), '4001 characters: expected at most 4000'],
    ['[^\\pL]{1000}'.repeat(300), 'more than 5000 parts'],
    ['(?:a?){1000}'.repeat(300), 'more than 5000 parts'],
  ].map(([pattern = '', named = '']) => ({ pattern, named, begin: pattern.slice(0, 30) })),
)('$begin is refused, and told why', ({ pattern, named }) => {
  expect(() => compileRe2(pattern)).toThrow(named);
});

test.each<[pattern: string, most: number]>([
  ['(a+)+$', 12],
  [`${'(?:'.repeat(900)}a${')'.repeat(900)}`, 5],
  ['\\pL{1000}', 1_010],
  ['a{1000}'.repeat(4), 4_010],
])('%#: a pattern has about as many instructions as parts', (pattern, most) => {
  const { size } = compileRe2(pattern);
  expect(size).toBeGreaterThan(2);
  expect(size).toBeLessThanOrEqual(most);
});

test.each(['(a+)+$', '^(a|a)*$', '(x+x+)+y', '^(([a-z])+.)+[A-Z]([a-z])+$', '^(\\w+\\s?)*$', '(?:a?){20}a{20}c'])(
  '%s takes no longer than in proportion to the text',
  (pattern) => {
    const { test: matches } = compileRe2(pattern);
    for (const letter of ['a', 'x']) expect(matches(`${letter.repeat(20_000)}!`)).toBe(false);
  },
);

test('a pattern that tells very many texts apart keeps little of them', () => {
  const { test: matches } = compileRe2('(a|b)*a(a|b){15}[c-z]');
  let seed = 1;
  const next = (): string => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return (seed >>> 16) % 2 === 0 ? 'a' : 'b';
  };
  const texts = Array.from({ length: 5 }, () => Array.from({ length: 8_000 }, next).join(''));
  matches('');
  const before = keptBytes();
  for (const text of texts) expect(matches(text)).toBe(false);
  expect(keptBytes() - before).toBeLessThan(2 * 1024 * 1024);
});

function keptBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

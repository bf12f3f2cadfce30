import { describe, expect, test } from 'vitest';
import { translateRe2 } from '../../src/util/re2.ts';

function matches(pattern: string, text: string): boolean {
  const { source, flags } = translateRe2(pattern);
  return new RegExp(source, flags).test(text);
}

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
  ])('%s', (pattern, yes, no) => {
    for (const text of yes) expect(matches(pattern, text), text).toBe(true);
    for (const text of no) expect(matches(pattern, text), text).toBe(false);
  });
});

test.each<[pattern: string, named: string]>([
  ['a(?i)b', '(?i) at the beginning'],
  ['(?i:a)b', '(?i) at the beginning'],
  ['(?i)a(?-i)b', '(?i) at the beginning'],
  ['(?=a)', 'looks around'],
  ['(?<!a)b', 'looks around'],
  ['(?P=a)', 'no group'],
  ['(?>a)', 'no group'],
  ['(a)\\1', 'no reference'],
  ['\\u0041', 'write \\x{…}'],
  ['a\\Z', 'write \\z'],
  ['\\y', '\\y is unknown'],
  ['[\\b]', '\\b is unknown'],
  ['[[:letter:]]', '[:letter:] is unknown'],
  ['\\p{Klingon}', '\\p{Klingon} is unknown'],
  ['\\pC', '\\pC is unknown'],
  ['(?i)\\PL', 'goes not with (?i)'],
  ['[a', 'not closed'],
  ['[z-a]', 'no range'],
  ['[a-\\d]', 'no range'],
  ['\\x{110000}', 'no character'],
  ['a{1001}', 'at most 1000'],
  ['a\\', '\\ is unknown'],
])('%s is refused, and told why', (pattern, named) => {
  expect(() => translateRe2(pattern)).toThrow(named);
});

test.each<[pattern: string, texts: readonly string[]]>([
  ['(?i)^k[a-z]+[^x]$', ['KABC', 'ka\u017f']],
  ['(?i)ö\\pL', ['ÖA', 'xa']],
])('%s: what is checked for backtracking matches at least as much', (pattern, texts) => {
  const { source, flags, widest } = translateRe2(pattern);
  for (const text of texts)
    expect(new RegExp(widest, 'u').test(text) || !new RegExp(source, flags).test(text), text).toBe(true);
});

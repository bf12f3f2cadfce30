import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { openLog } from '../../src/cli/log.ts';
import { tableOf } from '../../src/cli/operate/table.ts';
import { cut, instantMeant, lasting, relative, widthOf } from '../../src/cli/operate/text.ts';
import { Output } from '../../src/cli/output.ts';
import { systemClock } from '../../src/util/clock.ts';
import { harmless, harmlessJson, harmlessLines } from '../../src/util/harmless-text.ts';
import { runHere } from './cli.ts';

const NOW = Date.parse('2026-08-04T10:00:00Z');

describe('what others wrote does not reach the terminal raw', () => {
  test.each([
    ['a\u001b[31mred', 'a\\u001b[31mred'],
    ['two\nlines\tand a tab\r', 'two\\nlines\\tand a tab\\r'],
    ['\u0000 \u007f \u009b', '\\u0000 \\u007f \\u009b'],
    ['abc\u202edcba\u2066', 'abc\\u202edcba\\u2066'],
    ['Zoë 日本 👩‍🚀', 'Zoë 日本 👩‍🚀'],
  ])('%j on one line', (text, shown) => {
    expect(harmless(text)).toBe(shown);
  });

  test('in errors and log lines', async () => {
    const { stderr } = await runHere(['\u001b]0;title\u0007\u009b31m']);
    expect(stderr).toContain('unknown command \\u001b]0;title\\u0007\\u009b31m');
    const stream = new PassThrough();
    const output = new Output(stream, { isColoured: false, onBroken: () => undefined });
    const loggers = await openLog({ level: 'info', asJson: false, output, clock: systemClock, label: (name) => name });
    loggers('shop').info({ topic: 'a\u001b[31m\u009b31m\u202e' }, 'published');
    expect(String(stream.read())).toContain('published topic="a\\u001b[31m\\u009b31m\\u202e"\n');
  });

  test('lines and tabs of longer text stay', () => {
    expect(harmlessLines('a\n\tb\u001b]0;title\u0007')).toBe('a\n\tb\\u001b]0;title\\u0007');
  });

  test('JSON means the same as before', () => {
    const value = { 'key\u009b': 'a\u001b\n\u007f\u202e', list: [1] };
    const json = harmlessJson(value);
    expect(JSON.parse(json)).toEqual(value);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(json).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  });
});

test.each([
  ['abc', 3],
  ['日本', 4],
  ['e\u0301', 1],
  ['🚀', 2],
])('%j takes %i columns', (text, columns) => {
  expect(widthOf(text)).toBe(columns);
});

test.each([
  ['abcdef', 6, 'abcdef'],
  ['abcdef', 5, 'abcd…'],
  ['日本語', 5, '日本…'],
  ['日本語', 4, '日…'],
])('%j cut to %i columns', (text, columns, shown) => {
  expect(cut(text, columns)).toBe(shown);
  expect(widthOf(cut(text, columns))).toBeLessThanOrEqual(columns);
});

test.each([
  [0, '0ms'],
  [999, '999ms'],
  [90_000, '90s'],
  [600_000, '10m'],
  [12_000_000, '3h20m'],
  [10_800_000, '3h'],
  [10_799_000, '3h'],
  [86_400_000, '24h'],
  [864_000_000, '10d'],
])('%i ms are %s', (ms, text) => {
  expect(lasting(ms)).toBe(text);
});

test('instants are told from now', () => {
  expect(relative(NOW - 60_000, NOW)).toBe('60s ago');
  expect(relative(NOW + 600_000, NOW)).toBe('in 10m');
});

test.each([
  ['2h', NOW - 7_200_000],
  ['7d', NOW - 604_800_000],
  ['1500ms', NOW - 1_500],
  ['2026-08-03T10:00:00Z', NOW - 86_400_000],
  ['2026-08-03', Date.parse('2026-08-03')],
  ['yesterday', undefined],
  ['7', undefined],
  ['-2h', undefined],
])('the time %j', (text, at) => {
  expect(instantMeant(text, NOW)).toBe(at);
});

describe('tables', () => {
  const columns = [
    { title: 'NAME', of: ({ name }: { name: string }) => name, isLong: true },
    { title: 'COUNT', of: ({ count }: { count: number }) => count, isNumber: true },
    { title: 'NONE', of: () => undefined },
  ];
  const rows = [
    { name: 'a', count: 7 },
    { name: 'a very long name that is cut where the terminal ends', count: 12 },
  ];

  test('columns are aligned; those without content are left out', () => {
    expect(tableOf([{ name: 'ab', count: 7 }], columns, { width: undefined, isColoured: false })).toBe(
      'NAME  COUNT\nab        7\n',
    );
  });

  test('a terminal cuts what is long, a pipe does not', () => {
    const cutLines = tableOf(rows, columns, { width: 30, isColoured: false }).trimEnd().split('\n');
    expect(cutLines[2]).toBe('a very long name that …     12');
    expect(Math.max(...cutLines.map(widthOf))).toBe(30);
    expect(tableOf(rows, columns, { width: undefined, isColoured: false })).toContain(rows[1]?.name);
  });

  test('a cell is one line, whatever is in it', () => {
    const table = tableOf([{ name: 'a\nb\u001b[2J', count: 1 }], columns, { width: 80, isColoured: false });
    expect(table.split('\n')).toHaveLength(3);
    expect(table).toContain('a\\nb\\u001b[2J');
  });

  test('only a coloured table has colours', () => {
    const styled = [{ title: 'N', of: () => 'x', style: () => 'red' as const }];
    expect(tableOf([{}], styled, { width: 80, isColoured: true })).toContain('\u001b[31mx\u001b[0m');
    expect(tableOf([{}], styled, { width: 80, isColoured: false })).toBe('N\nx\n');
  });
});

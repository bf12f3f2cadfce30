import { expect, test } from 'vitest';
import { PrefixedLines } from '../../../src/cli/process/lines.ts';

function taken(...chunks: readonly (string | Buffer)[]): string {
  const lines = new PrefixedLines('a | ');
  return Buffer.concat([...chunks.map((chunk) => lines.take(Buffer.from(chunk))), lines.end()]).toString();
}

test('every line gets the prefix, empty ones too', () => {
  expect(taken('one\n\ntwo\n')).toBe('a | one\na | \na | two\n');
});

test('a line that comes in pieces is one line, and one that never ends is ended', () => {
  expect(taken('on', 'e\ntw', 'o')).toBe('a | one\na | two\n');
});

test('a character that comes in pieces stays whole', () => {
  const euro = Buffer.from('€');
  expect(taken(euro.subarray(0, 1), euro.subarray(1), '\n')).toBe('a | €\n');
});

test('bytes that are no text pass', () => {
  const lines = new PrefixedLines('');
  expect(lines.take(Buffer.of(0xff, 0x00, 0xfe, 0x0a))).toEqual(Buffer.of(0xff, 0x00, 0xfe, 0x0a));
});

test('a line of more than 64 KiB is cut into lines, never within a character', () => {
  const text = `x${'€'.repeat(100_000)}`;
  const lines = taken(text, '\nnext\n').trimEnd().split('\n');
  expect(lines.map((line) => line.replace('a | ', '')).join('')).toBe(`${text}next`);
  expect(lines.length).toBe(Math.ceil(Buffer.byteLength(text) / 65_536) + 1);
  for (const line of lines) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(65_536 + 4);
});

test('bytes that are no UTF-8 are cut all the same', () => {
  const lines = new PrefixedLines('');
  const taken = lines.take(Buffer.alloc(200_000, 0x80));
  expect(taken.length + lines.end().length).toBe(200_000 + 4);
});

test('what is waiting for the end of its line is bounded', () => {
  const lines = new PrefixedLines('');
  let passed = 0;
  for (let count = 0; count < 100; count++) passed += lines.take(Buffer.alloc(65_536, 0x78)).length;
  expect(passed).toBeGreaterThan(98 * 65_536);
});

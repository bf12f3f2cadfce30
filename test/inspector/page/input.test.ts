import { describe, expect, test } from 'vitest';
import { given, jsonOf } from '../../../src/inspector/page/core/input.ts';

describe('JSON that somebody typed', () => {
  test('is passed on as it was typed, but for the spaces around it', () => {
    expect(jsonOf(' {"id": 12345678901234567890} \n', 'The data')).toBe('{"id": 12345678901234567890}');
    expect(jsonOf('null', 'The data')).toBe('null');
  });

  test.each([undefined, '', ' \n '])('%j is none', (text) => {
    expect(jsonOf(text, 'The data')).toBeUndefined();
  });

  test('that is none is an error that names it', () => {
    expect(() => jsonOf('{ bad', 'The input')).toThrow(/^The input is no JSON: /);
  });
});

test('what was not typed is not sent', () => {
  const sent = given({ name: ' report ', schedule: '  ', ttl: undefined, repeats: 0, data: 'null' });
  expect(sent).toEqual({ name: 'report', repeats: 0, data: 'null' });
  expect(Object.keys(sent)).toHaveLength(3);
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { prettyJson } from '../../../src/inspector/page/core/json.ts';

const pretty = (text: string) =>
  prettyJson(text)
    .map((piece) => piece.text)
    .join('');

describe('JSON for people', () => {
  it('has line breaks and indents as JSON.stringify makes them', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(pretty(JSON.stringify(value))).toBe(JSON.stringify(value, undefined, 2));
      }),
    );
  });

  it.each([['12345678901234567890'], ['1.10'], ['1e400'], ['-0'], ['"\\u0041"']])(
    'keeps %s as it was written',
    (token) => {
      expect(pretty(`{"a":[${token}]}`)).toBe(`{\n  "a": [\n    ${token}\n  ]\n}`);
    },
  );

  it('shows repeated keys', () => {
    expect(pretty('{"a":1,"a":2}')).toBe('{\n  "a": 1,\n  "a": 2\n}');
  });

  it('shows text that is cut off', () => {
    expect(pretty('{"a": [1, "some te')).toBe('{\n  "a": [\n    1,\n    "some te');
    expect(pretty('{"a": "b\\')).toContain('"b\\');
  });

  it('tells keys from strings', () => {
    const kinds = prettyJson('{"a":"b","c":1,"d":null}').filter(({ kind }) => kind !== 'plain');
    expect(kinds.map(({ kind }) => kind)).toEqual(['key', 'string', 'key', 'number', 'key', 'word']);
  });

  it('stays small when the nesting is hostile', () => {
    expect(pretty('['.repeat(65_536)).length).toBeLessThan(65_536 * 50);
  });
});

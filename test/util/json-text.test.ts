import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsonElements, jsonMember, jsonMembers, parseJsonObject } from '../../src/util/json-text.ts';

const space = fc.string({ unit: fc.constantFrom(' ', '\n', '\r', '\t'), maxLength: 3 });

/** JSON text of any value, with white space wherever JSON allows it. */
const spaced = (value: unknown, gap: () => string): string => {
  const inner = (): string => {
    if (Array.isArray(value)) return `[${gap()}${value.map((one) => spaced(one, gap)).join(',')}${gap()}]`;
    if (typeof value !== 'object' || value === null) return JSON.stringify(value);
    const members = Object.entries(value).map(
      ([key, one]) => `${gap()}${JSON.stringify(key)}${gap()}:${spaced(one, gap)}`,
    );
    return `{${gap()}${members.join(',')}${gap()}}`;
  };
  return `${gap()}${inner()}${gap()}`;
};

const gaps = fc.array(space, { minLength: 1, maxLength: 7 }).map((list) => {
  let at = 0;
  return (): string => list[at++ % list.length] ?? '';
});
const tricky = fc.string({
  unit: fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', 'a', '\n', '☃', '😀'),
  maxLength: 8,
});
const key = fc.oneof(fc.string(), tricky, fc.constantFrom('__proto__', 'constructor', ''));
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(
      fc.constant(null),
      fc.boolean(),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      tricky,
    ),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(key, tie('json'), { maxKeys: 4, noNullPrototype: false }),
  ),
}));

/** What JSON makes of a value: `-0` is `0`. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe('jsonMembers', () => {
  test('gives the keys and values of any object’s text, whatever its white space', () => {
    fc.assert(
      fc.property(fc.dictionary(key, json), gaps, (object, gap) => {
        const members = jsonMembers(spaced(object, gap));
        expect(members.map((member) => member.key)).toEqual(Object.keys(object));
        expect(members.map(({ value }) => JSON.parse(value) as unknown)).toEqual(Object.values(object).map(plain));
        for (const { value } of members) expect(value).toBe(value.trim());
      }),
    );
  });

  test('gives values exactly as they stand', () => {
    const text = ' { "a" : 12345678901234567890 , "b":1.10,"c":1E400 ,"d" : { "x" : [ 1 ] } ,"e":"\\u0041" } ';
    expect(jsonMembers(text)).toEqual([
      { key: 'a', value: '12345678901234567890' },
      { key: 'b', value: '1.10' },
      { key: 'c', value: '1E400' },
      { key: 'd', value: '{ "x" : [ 1 ] }' },
      { key: 'e', value: '"\\u0041"' },
    ]);
  });

  test('gives a repeated key as often as it is written, escaped ones decoded', () => {
    expect(jsonMembers('{"a":1,"\\u0061":2,"a":3}')).toEqual([
      { key: 'a', value: '1' },
      { key: 'a', value: '2' },
      { key: 'a', value: '3' },
    ]);
  });

  test.each(['{}', ' { } ', '{\n}'])('gives none of %j', (text) => {
    expect(jsonMembers(text)).toEqual([]);
  });

  test('takes strings that end in backslashes', () => {
    expect(jsonMembers('{"a\\\\":"b\\\\","c\\"":"}\\\\\\""}')).toEqual([
      { key: 'a\\', value: '"b\\\\"' },
      { key: 'c"', value: '"}\\\\\\""' },
    ]);
  });

  test('takes text that is nested deeply', () => {
    const deep = `${'['.repeat(5_000)}${']'.repeat(5_000)}`;
    expect(jsonMembers(`{"a":${deep},"b":1}`)[1]).toEqual({ key: 'b', value: '1' });
  });
});

describe('jsonElements', () => {
  test('gives the elements of any array’s text, whatever its white space', () => {
    fc.assert(
      fc.property(fc.array(json), gaps, (array, gap) => {
        const elements = jsonElements(spaced(array, gap));
        expect(elements.map((element) => JSON.parse(element) as unknown)).toEqual(array.map(plain));
        for (const element of elements) expect(element).toBe(element.trim());
      }),
    );
  });

  test('put together again they are the same array', () => {
    fc.assert(
      fc.property(fc.array(json), gaps, (array, gap) => {
        expect(JSON.parse(`[${jsonElements(spaced(array, gap)).join(',')}]`)).toEqual(plain(array));
      }),
    );
  });

  test.each(['[]', ' [ ] ', '[\n\t]'])('gives none of %j', (text) => {
    expect(jsonElements(text)).toEqual([]);
  });
});

test('a member keeps its digits, and the last one of a name counts', () => {
  const text = ' {"a": 1, "b": 12345678901234567890.10, "\\u0061": {"a": 3}}';
  expect(jsonMember(text, 'b')).toBe('12345678901234567890.10');
  expect(jsonMember(text, 'a')).toBe('{"a": 3}');
  expect(jsonMember(text, '__proto__')).toBeUndefined();
});

test.each([
  ['[]', 'the body is an array'],
  ['null', 'the body is null'],
  ['"{}"', 'the body is a string'],
  ['{', 'the body is not JSON'],
  ['', 'the body is not JSON'],
  [Buffer.from('{"a":"\u00ff"}', 'latin1'), 'the body is not UTF-8'],
])('a body of %s is no object', (body, problem) => {
  const refuse = (text: string): Error => new Error(text);
  expect(() => parseJsonObject(Buffer.from(body as string), refuse)).toThrow(new Error(problem));
  expect(parseJsonObject(Buffer.from(' {} '), refuse)).toEqual({ text: ' {} ', value: {} });
});

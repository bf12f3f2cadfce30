import { expect, test } from 'vitest';
import { MetadataReader } from '../../src/resources/metadata-reader.ts';

/** What a reader answers for the value of `x`, and its problem without what all of them begin with. */
function read<Answer>(x: string, ask: (reader: MetadataReader) => Answer): [Answer, string | undefined] {
  const problems: string[] = [];
  const source = { values: new Map([['x', x]]), problem: (text: string) => void problems.push(text), note: () => {} };
  const reader = new MetadataReader(source);
  const answer = ask(reader);
  expect(problems.length).toBe(reader.hasProblem ? 1 : 0);
  return [answer, problems[0]?.replace('metadata x must be ', '')];
}

test.each([
  ['', {}, undefined, undefined],
  ['0', {}, undefined, undefined],
  ['007', {}, 7, undefined],
  ['', { min: 1, max: 9 }, undefined, undefined],
  ['9', { min: 1, max: 9 }, 9, undefined],
  ['0', { min: 1, max: 9 }, undefined, 'a whole number from 1 to 9'],
  ['1e3', {}, undefined, 'a whole number of 0 or more'],
  ['-1', {}, undefined, 'a whole number of 0 or more'],
  ['1234567890123456', {}, undefined, 'a whole number of 0 or more'],
])('number %j of %j', (text, range, number, problem) => {
  const [answer, found] = read(text, (reader) => reader.number('x', range));
  expect([found, found === undefined ? answer : undefined]).toEqual([problem, number]);
});

const SECONDS = 'a duration of at most 1h, such as "5s", or a number of seconds';

test.each([
  ['', {}, undefined, undefined],
  ['1.5ms', {}, 2, undefined],
  ['0', {}, 0, undefined],
  ['5', {}, undefined, 'a duration, such as "5s"'],
  ['9999999999999h', {}, undefined, 'a duration, such as "5s"'],
  ['5', { unitMs: 1 }, 5, undefined],
  ['5', { unitMs: 1_000, maxMs: 3_600_000 }, 5_000, undefined],
  ['3601', { unitMs: 1_000, maxMs: 3_600_000 }, undefined, SECONDS],
  ['-5s', { unitMs: 1_000, maxMs: 3_600_000 }, undefined, SECONDS],
  ['-5s', { negativeIsZero: true }, 0, undefined],
  ['-1', { unitMs: 1, negativeIsZero: true }, 0, undefined],
  ['five', { unitMs: 1, negativeIsZero: true }, undefined, 'a duration, such as "5s", or a number of milliseconds'],
] as const)('duration %j of %j', (text, range, ms, problem) => {
  expect(read(text, (reader) => reader.durationMs('x', range))).toEqual([ms, problem]);
});

test.each([
  ['', undefined],
  [' TRUE ', true],
  ['y', true],
  ['1', true],
  ['false', false],
  ['truth', false],
])('flag %j is %j', (text, flag) => {
  expect(read(text, (reader) => reader.flag('x'))).toEqual([flag, undefined]);
});

test.each([
  ['', undefined, undefined],
  ['b', 'b', undefined],
  ['B', undefined, '"a", "b" or "c"'],
])('choice %j', (text, choice, problem) => {
  expect(read(text, (reader) => reader.choice('x', ['a', 'b', 'c']))).toEqual([choice, problem]);
});

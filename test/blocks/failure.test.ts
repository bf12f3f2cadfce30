import { expect, test } from 'vitest';
import { thrown } from '../../src/blocks/failure.ts';

class NotPaid extends Error {}

test.each<[value: unknown, reason: string]>([
  [new Error('no such order'), 'no such order'],
  [new Error(''), 'Error'],
  [new NotPaid(), 'NotPaid'],
  [new AggregateError([new Error('a')]), 'AggregateError'],
  [Object.assign(new Error(''), { constructor: undefined, name: 'Gone' }), 'Gone'],
  ['', "a value that is not an error was thrown: ''"],
])('%o: the reason is its message, else its class', (value, reason) => {
  expect(thrown(value)).toEqual({ reason, thrown: { value } });
});

import { describe, expect, test } from 'vitest';
import { durablePubSub } from '../../src/components/durable/durable-pubsub.ts';
import { memoryPubSub } from '../../src/components/memory/memory-pubsub.ts';
import type { PubSubDefinition } from '../../src/components/pubsub.ts';

type Factory = (name: string, options: never) => PubSubDefinition;

const BY_APP = 'an object with a list of texts for each app ID';
const LIST = 'a list of texts';
const LIMIT = 'a whole number of 1 or more, or Infinity';
const AGE =
  'a duration: a number of milliseconds, or a text such as 500ms, 1h30m, 3d, 2w, PT1H30M or P1D, of 1 ms or more';

/** What plain JavaScript may pass, as the message shows it, and what is expected. */
type Wrong = readonly [option: string, value: unknown, shown: string, expected: string];

const ACCESS: readonly Wrong[] = [
  ['publishingScopes', 'a=orders', '"a=orders"', BY_APP],
  ['publishingScopes', { a: 'orders' }, '{"a":"orders"}', BY_APP],
  ['publishingScopes', { a: [1] }, '{"a":[1]}', BY_APP],
  ['subscriptionScopes', 'a=orders', '"a=orders"', BY_APP],
  ['subscriptionScopes', ['orders'], '["orders"]', BY_APP],
  ['allowedTopics', 'orders', '"orders"', LIST],
  ['protectedTopics', 'secrets', '"secrets"', LIST],
  ['protectedTopics', null, 'null', LIST],
  ['scopes', 'other', '"other"', LIST],
];

function limits(option: string): Wrong[] {
  const values: readonly (readonly [unknown, string])[] = [
    [0, '0'],
    [-1, '-1'],
    [1.5, '1.5'],
    [Number.NaN, 'NaN'],
    ['1', '"1"'],
    ['256MB', '"256MB"'],
    [null, 'null'],
    [new Date(Number.NaN), 'an invalid Date'],
  ];
  return values.map(([value, shown]) => [option, value, shown, LIMIT]);
}

describe.each<[name: string, make: Factory, wrong: readonly Wrong[]]>([
  ['memoryPubSub', memoryPubSub, [...ACCESS, ...limits('maxMessages'), ...limits('maxBytes')]],
  ['durablePubSub', durablePubSub, [...ACCESS, ...limits('maxQueueMessages')]],
])('options of %s', (name, make, wrong) => {
  test.each(wrong)('%s %j is an error that names it and what is expected', (option, value, shown, expected) => {
    expect(() => make('p', { [option]: value } as never)).toThrow(
      expect.objectContaining({
        code: 'ERR_CONFIGURATION',
        message: `${option} in options of ${name} "p" is ${shown}: expected ${expected}`,
      }),
    );
  });

  test.each<Wrong>([
    ['maxMessages', '7', '"7"', LIMIT],
    ['maxAge', 0, '0', AGE],
    ['maxAge', '1 h', '"1 h"', AGE],
  ])('so is deadLetterRetention.%s %j', (option, value, shown, expected) => {
    expect(() => make('p', { deadLetterRetention: { [option]: value } } as never)).toThrow(
      `${option} in deadLetterRetention in options of ${name} "p" is ${shown}: expected ${expected}`,
    );
  });

  test('right ones are taken, and undefined stands for the default', () => {
    const scopes = { publishingScopes: { a: ['orders'] }, subscriptionScopes: {}, allowedTopics: ['orders'] };
    const rest = { protectedTopics: [], scopes: ['a'], deadLetterRetention: undefined };
    expect(make('p', { ...scopes, ...rest } as never).topics).toMatchObject(scopes);
  });
});

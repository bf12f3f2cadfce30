import { describe, expect, test } from 'vitest';
import { jetstreamPubSub } from '../../../src/components/jetstream/index.ts';
import { kafkaPubSub } from '../../../src/components/kafka/index.ts';
import { mqttPubSub } from '../../../src/components/mqtt/index.ts';
import type { PubSubDefinition } from '../../../src/components/pubsub.ts';
import { rabbitmqPubSub } from '../../../src/components/rabbitmq/index.ts';
import { redisPubSub } from '../../../src/components/redis/index.ts';

type Factory = (name: string, options: never) => PubSubDefinition;

/** Each factory, with the options that it needs. */
const FACTORIES: readonly (readonly [string, Factory, object])[] = [
  ['redisPubSub', redisPubSub, { url: 'rediss://broker' }],
  ['rabbitmqPubSub', rabbitmqPubSub, { url: 'amqps://broker' }],
  ['jetstreamPubSub', jetstreamPubSub, { url: 'tls://broker' }],
  ['mqttPubSub', mqttPubSub, { url: 'mqtts://broker' }],
  ['kafkaPubSub', kafkaPubSub, { brokers: ['broker'] }],
];
const TLS_OPTIONS = 'an object with options of tls.connect';

describe.each(FACTORIES)('options of %s', (factory, make, needed) => {
  const what = `options of ${factory} "pub\\"sub"`;
  const problemOf = (options: unknown): unknown => {
    try {
      // The cast is what plain JavaScript does.
      make('pub"sub', options as never);
      return undefined;
    } catch (error) {
      return error;
    }
  };

  test('those that it needs, and all that brokers have in common, are taken', () => {
    const scopes = { publishingScopes: { orders: ['a'] }, subscriptionScopes: {}, allowedTopics: ['a'] };
    const common = { ...scopes, protectedTopics: [], scopes: ['orders'], publishTimeout: 2 ** 31 - 1 };
    expect(problemOf({ ...needed, ...common, tls: {} })).toBeUndefined();
  });

  test.each<[object, string]>([
    [{ publishTimeout: 0 }, `publishTimeout in ${what} is 0: expected a duration`],
    [{ publishTimeout: Number.NaN }, `publishTimeout in ${what} is NaN: expected a duration`],
    [{ publishTimeout: 2 ** 31 }, `publishTimeout in ${what} is 2147483648: expected a duration`],
    [{ publishTimeout: '5 s' }, `publishTimeout in ${what} is "5 s": expected a duration`],
    [{ publishTimeout: null }, `publishTimeout in ${what} is null: expected a duration`],
    [{ scopes: 'orders' }, `scopes in ${what} is "orders": expected a list of texts`],
    [{ allowedTopics: [1] }, `allowedTopics in ${what} is [1]: expected a list of texts`],
    [{ protectedTopics: {} }, `protectedTopics in ${what} is {}: expected a list of texts`],
    [{ publishingScopes: ['a'] }, `publishingScopes in ${what} is ["a"]: expected an object with a list of texts`],
    [
      { subscriptionScopes: { orders: 'a' } },
      `subscriptionScopes in ${what} is {"orders":"a"}: expected an object with a`,
    ],
    [{ constructor: 1 }, `${what}: unknown field "constructor"`],
  ])('%j is refused', (options, message) => {
    const error = problemOf({ ...needed, ...options });
    expect(error).toMatchObject({ code: 'ERR_CONFIGURATION', message: expect.stringContaining(message) });
  });

  test('something else than an object is refused', () => {
    expect(problemOf(null)).toMatchObject({ message: `${what}: expected an object, actual is null` });
  });

  test.each<[object]>([
    ['opensesame' as never],
    [{ key: '-----BEGIN PRIVATE KEY-----\nopensesame' }],
    [{ key: 7_700_143 }],
    [{ ca: 7 }],
  ])('tls %j is refused, and not shown', (tls) => {
    const error = problemOf({ ...needed, tls });
    expect(error).toMatchObject({ code: 'ERR_CONFIGURATION', message: expect.stringContaining(TLS_OPTIONS) });
    expect((error as Error).message).toMatch(new RegExp(`^tls in ${what.replaceAll('\\', '\\\\')}: expected `));
    expect((error as Error).message).not.toMatch(/opensesame|7700143/);
  });
});

test.each<[Factory, object]>([
  [redisPubSub, { url: ['opensesame'] }],
  [redisPubSub, { nodes: 'redis://:opensesame@broker' }],
  [redisPubSub, { url: 'redis://broker', password: ['opensesame'] }],
  [redisPubSub, { url: 'redis://broker', sentinelPassword: ['opensesame'] }],
  [redisPubSub, { url: 'http://:opensesame@broker' }],
  [rabbitmqPubSub, { password: ['opensesame'] }],
  [rabbitmqPubSub, { url: 'http://:opensesame@broker' }],
  [jetstreamPubSub, { token: ['opensesame'] }],
  [jetstreamPubSub, { seed: 'opensesame' }],
  [jetstreamPubSub, { jwt: 'opensesame' }],
  [jetstreamPubSub, { url: 'http://:opensesame@broker' }],
  [mqttPubSub, { url: 'mqtt://broker', password: 'opensesame' }],
  [mqttPubSub, { url: 'http://:opensesame@broker' }],
  [kafkaPubSub, { brokers: ['kafka://:opensesame@broker'] }],
  [kafkaPubSub, { brokers: 'kafka://:opensesame@broker' }],
  [kafkaPubSub, { brokers: ['broker'], sasl: 'opensesame' }],
  [kafkaPubSub, { brokers: ['broker'], sasl: { mechanism: 'plain', password: 'opensesame' } }],
  [kafkaPubSub, { brokers: ['broker'], sasl: { mechanism: 'plain', username: 'app', password: ['opensesame'] } }],
])('%o with %j: the error names the component, and no secret', (make, options) => {
  const problem = `of ${make.name} "pubsub"`;
  expect(() => make('pubsub', options as never)).toThrow(problem);
  expect(() => make('pubsub', options as never)).not.toThrow('opensesame');
});

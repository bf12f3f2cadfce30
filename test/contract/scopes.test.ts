import { describe, expect, test } from 'vitest';
import type { MemoryPubSubOptions } from '../../src/index.ts';
import { startWorld } from '../support/world.ts';

/** Topics `a`, `b` and `c` for the app `shop`: which of them are permitted. */
type Row = [what: string, options: MemoryPubSubOptions, permitted: string];

const PUBLISHING: readonly Row[] = [
  ['nothing', {}, 'abc'],
  ['an app that is not named', { publishingScopes: { other: ['a'] } }, 'abc'],
  ['an app with two topics', { publishingScopes: { shop: ['a', 'b'], other: ['c'] } }, 'ab'],
  ['an app without topics', { publishingScopes: { shop: [] } }, ''],
  ['subscriptionScopes only', { subscriptionScopes: { shop: [] } }, 'abc'],
  ['allowedTopics', { allowedTopics: ['a', 'b'] }, 'ab'],
  ['no allowedTopics', { allowedTopics: [] }, 'abc'],
  ['allowedTopics and a scope', { allowedTopics: ['a', 'b'], publishingScopes: { shop: ['b', 'c'] } }, 'b'],
  ['protectedTopics', { protectedTopics: ['a'] }, 'bc'],
  ['protectedTopics and a scope', { protectedTopics: ['a', 'b'], publishingScopes: { shop: ['a'] } }, 'a'],
  ['protectedTopics and another app', { protectedTopics: ['a'], publishingScopes: { other: ['a'] } }, 'bc'],
  ['all of them', { allowedTopics: ['a', 'b'], protectedTopics: ['a'], publishingScopes: { shop: ['a'] } }, 'a'],
  [
    'a scope of an inherited name',
    { publishingScopes: Object.create({ shop: [] }) as Record<string, string[]> },
    'abc',
  ],
];

/** The same rows, for subscribing. */
const SUBSCRIBING = PUBLISHING.map(([what, { publishingScopes, subscriptionScopes, ...rest }, permitted]): Row => {
  const swapped = {
    ...rest,
    ...(publishingScopes === undefined ? {} : { subscriptionScopes: publishingScopes }),
    ...(subscriptionScopes === undefined ? {} : { publishingScopes: subscriptionScopes }),
  };
  return [what.replace('subscriptionScopes', 'publishingScopes'), swapped, permitted];
});

const TOPICS = ['a', 'b', 'c'];

describe('topics that an application may publish to', () => {
  test.each(PUBLISHING)('%s', async (_, memory, permitted) => {
    await using world = await startWorld({ memory });
    for (const topic of TOPICS) {
      const expected = permitted.includes(topic) ? 204 : 403;
      const bulk = `/v1.0/publish/bulk/pubsub/${topic}`;
      expect((await world.publish('x', { topic })).status).toBe(expected);
      expect((await world.send('POST', bulk, { body: [{ entryId: '1', event: 'x' }] })).status).toBe(expected);
    }
  });

  test('names match exactly', async () => {
    await using world = await startWorld({ memory: { allowedTopics: ['orders', 'a/*'] } });
    const statuses = ['orders', 'Orders', 'orders2', 'a/b', 'a%2F*'].map(async (topic) => {
      const { status } = await world.publish('x', { topic });
      return status;
    });
    expect(await Promise.all(statuses)).toEqual([204, 403, 403, 403, 204]);
  });

  test('hold in code too', async () => {
    await using world = await startWorld({ memory: { publishingScopes: { shop: ['a'] } } });
    const { pubsub } = world.sidecar;
    await expect(pubsub.publish('pubsub', 'b', 1)).rejects.toMatchObject({ code: 'ERR_PUBSUB_FORBIDDEN' });
    await expect(pubsub.publishBulk('pubsub', 'b', [])).rejects.toMatchObject({ code: 'ERR_PUBSUB_FORBIDDEN' });
    await pubsub.publish('pubsub', 'a', 1);
  });
});

describe('topics that an application may subscribe to', () => {
  test.each(SUBSCRIBING)('%s', async (_, memory, permitted) => {
    const discovery = TOPICS.map((topic) => ({ pubsubname: 'pubsub', topic, route: `/${topic}` }));
    await using world = await startWorld({ memory, discovery });
    await using feeder = await startWorld({ appId: 'feeder', components: world.components, discovery: [] });
    const fed: string[] = [];
    for (const topic of TOPICS) if ((await feeder.publish('x', { topic })).status === 204) fed.push(topic);
    await world.clock.settled();
    expect(world.deliveries.map(({ path }) => path.slice(1))).toEqual(fed.filter((topic) => permitted.includes(topic)));
    const subscriptions = world.sidecar.metadata.get().subscriptions.map(({ topic, error }) => [topic, error]);
    const refusal = (topic: string): string =>
      `subscription to topic '${topic}' on pubsub 'pubsub' is not allowed for app id shop`;
    expect(Object.fromEntries(subscriptions)).toEqual(
      Object.fromEntries(TOPICS.map((topic) => [topic, permitted.includes(topic) ? undefined : refusal(topic)])),
    );
  });

  test('hold for functions in code too', async () => {
    await using world = await startWorld({ memory: { subscriptionScopes: { shop: ['a'] } } });
    await expect(world.sidecar.pubsub.subscribe('pubsub', 'b', () => undefined)).rejects.toMatchObject({
      code: 'ERR_PUBSUB_FORBIDDEN',
    });
  });

  test('the sidecar’s own publish to a dead-letter topic is not subject to scopes', async () => {
    await using world = await startWorld({
      memory: { publishingScopes: { shop: ['orders'] } },
      discovery: [
        { pubsubname: 'pubsub', topic: 'orders', route: '/orders', deadLetterTopic: 'dead' },
        { pubsubname: 'pubsub', topic: 'dead', route: '/dead' },
      ],
      answer: ({ path }) => (path === '/orders' ? { body: { status: 'DROP' } } : undefined),
    });
    await world.publish('x');
    expect(world.at('/dead').map(({ data }) => data)).toEqual(['x']);
    expect((await world.publish('x', { topic: 'dead' })).status).toBe(403);
  });
});

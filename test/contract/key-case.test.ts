import { describe, expect, test } from 'vitest';
import { inSchemaCase } from '../../src/util/schema-case.ts';
import { startWorld, type World } from '../support/world.ts';

/** What applications of SDKs in Go, Java and .NET answer: the names of their own fields. */
const ANSWERS: readonly (readonly [what: string, subscription: object])[] = [
  ['pubsubName', { pubsubName: 'pubsub', topic: 'orders', route: '/orders' }],
  ['pubSubName', { pubSubName: 'pubsub', topic: 'orders', route: '/orders' }],
  ['capitals', { PubsubName: 'pubsub', Topic: 'orders', Route: '/orders', Metadata: null, DeadLetterTopic: '' }],
  ['nested capitals', { PUBSUBNAME: 'pubsub', TOPIC: 'orders', Routes: { Rules: null, Default: '/orders' } }],
  [
    'rules',
    { pubsubname: 'pubsub', topic: 'orders', routes: { RULES: [{ Match: 'event.type != ""', Path: '/orders' }] } },
  ],
  ['the last of several', { pubsubname: 'pubsub', topic: 'nowhere', Topic: 'orders', route: '/orders' }],
];

function eventsOf(world: World): Record<string, unknown>[] {
  return world.deliveries.map(({ text }) => JSON.parse(text) as Record<string, unknown>);
}

describe('keys of the list of subscriptions, wire dapr', () => {
  test.each(ANSWERS)('%s: understood as Dapr does', async (_, subscription) => {
    await using world = await startWorld({ wire: 'dapr', discovery: [subscription] });
    await world.publish('x');
    expect(world.deliveries.map(({ path }) => path)).toEqual(['/orders']);
    expect(world.logger.at('warn')).toEqual([]);
  });

  test('BulkSubscribe: {Enabled: true} delivers in bulk', async () => {
    const discovery = [
      {
        pubsubname: 'pubsub',
        topic: 'orders',
        route: '/orders',
        BulkSubscribe: { Enabled: true, MaxMessagesCount: 1 },
      },
    ];
    await using world = await startWorld({ wire: 'dapr', discovery });
    await world.publish('x');
    expect(eventsOf(world)[0]).toMatchObject({ type: 'com.dapr.event.sent.bulk' });
  });

  test('names in metadata are data, and keep their case', async () => {
    const discovery = [
      { pubsubname: 'pubsub', topic: 'orders', route: '/orders', Metadata: { RAWPAYLOAD: 'nonsense' } },
    ];
    await using world = await startWorld({ wire: 'dapr', discovery });
    await world.publish('x');
    expect(world.sidecar.metadata.get().subscriptions).toMatchObject([{ metadata: { RAWPAYLOAD: 'nonsense' } }]);
    expect(world.deliveries).toHaveLength(1);
  });

  test('hostile names stay members', async () => {
    const list =
      '[{"PubsubName":"pubsub","topic":"orders","route":"/orders","__proto__":{"topic":"x"},"constructor":1}]';
    await using world = await startWorld({ wire: 'dapr', discovery: { body: list } });
    await world.publish('x');
    expect(world.deliveries).toHaveLength(1);
    const known = inSchemaCase(JSON.parse(list)[0], { properties: { topic: {} } }) as object;
    expect([Object.getPrototypeOf(known), Object.hasOwn(known, '__proto__')]).toEqual([Object.prototype, true]);
  });
});

describe('keys of the list of subscriptions, wire sidecar', () => {
  test('a refusal tells the name that was probably meant', async () => {
    await using world = await startWorld({ discovery: [{ pubsubName: 'pubsub', topic: 'orders', route: '/orders' }] });
    expect(world.logger.at('warn').map(({ details }) => Object(details).problem)).toContain(
      'element 0: subscription.pubsubname is missing: it has "pubsubName"; did you mean "pubsubname"?',
    );
  });

  test('a key that has no effect because of its case is warned of', async () => {
    const discovery = [{ pubsubname: 'pubsub', topic: 'orders', route: '/orders', BulkSubscribe: { enabled: true } }];
    await using world = await startWorld({ discovery });
    await world.publish('x');
    expect(eventsOf(world)[0]).toMatchObject({ type: 'com.sidecar.event.sent' });
    expect(world.logger.at('warn').map(({ message }) => message)).toEqual([
      'the application lists the key "BulkSubscribe", which is not used; did you mean "bulkSubscribe"?',
    ]);
  });
});

describe('metadata.cloudevent.* of a publish', () => {
  const query = 'metadata.cloudevent.SUBJECT=a&metadata.CloudEvent.Type=b';

  test('names an attribute in any case with wire dapr', async () => {
    await using world = await startWorld({ wire: 'dapr' });
    await world.publish('x', { query });
    expect(eventsOf(world)[0]).toMatchObject({ subject: 'a', type: 'b' });
  });

  test('of several for one attribute the first counts', async () => {
    await using world = await startWorld({ wire: 'dapr' });
    await world.publish('x', { query: 'metadata.cloudevent.SUBJECT=a&metadata.cloudevent.subject=b' });
    expect(eventsOf(world)[0]).toMatchObject({ subject: 'a' });
  });

  test('likewise for an entry of a bulk publish', async () => {
    await using world = await startWorld({ wire: 'dapr' });
    const entry = { entryId: '1', event: 'x', contentType: 'text/plain', metadata: { 'cloudevent.SUBJECT': 'a' } };
    await world.publishBulk([entry]);
    expect(eventsOf(world)[0]).toMatchObject({ subject: 'a' });
  });

  test('names are case-sensitive with wire sidecar', async () => {
    await using world = await startWorld();
    await world.publish('x', { query });
    expect(eventsOf(world)[0]).toMatchObject({ type: 'com.sidecar.event.sent' });
    expect(eventsOf(world)[0]).not.toHaveProperty('subject');
  });
});

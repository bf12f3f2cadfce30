/** Subscriptions to several topics, on the components of insidecar. */
import { describe, expect, test } from 'vitest';
import { durablePubSub, memoryPubSub, type TopicWildcards } from '../../src/index.ts';
import type { PubSubDefinition } from '../../src/kit/index.ts';
import { TestSidecar } from '../support/sidecar.ts';

const COMPONENTS: readonly (readonly [name: string, make: (wildcards?: TopicWildcards) => PubSubDefinition])[] = [
  ['memory', (wildcards) => memoryPubSub('pubsub', wildcards && { wildcards })],
  ['durable', (wildcards) => durablePubSub('pubsub', wildcards && { wildcards })],
];

const CASES: readonly (readonly [TopicWildcards | undefined, subscribed: string, yes: string[], no: string[]])[] = [
  [undefined, 'orders*', ['orders.new', 'orders/eu', 'orders*', 'ordersX'], ['orders', 'order', 'my-orders.new']],
  ['suffix', '*', ['a', 'b/c', '*'], []],
  ['suffix', 'a*b', ['a*b'], ['aXb']],
  ['mqtt', 'sensors/+/heat', ['sensors/1/heat'], ['sensors/1/2/heat', 'sensors/heat', 'sensors/1/heat/x']],
  ['mqtt', 'sensors/#', ['sensors', 'sensors/1', 'sensors/1/heat'], ['sensor', 'my/sensors/1']],
  ['mqtt', '#', ['a', 'a/b'], ['$SYS/a']],
  ['mqtt', 'orders*', ['orders*'], ['orders.new']],
  ['nats', 'sensors.*.heat', ['sensors.1.heat'], ['sensors.1.2.heat', 'sensors.heat']],
  ['nats', 'sensors.>', ['sensors.1', 'sensors.1.heat'], ['sensors', 'sensor.1']],
];

describe.each(COMPONENTS)('%s', (_, make) => {
  test.each(CASES)('with wildcards %s, a subscription to %s gets what matches, and nothing else', async (...row) => {
    const [wildcards, subscribed, yes, no] = row;
    await using world = await new TestSidecar({ components: [make(wildcards)] }).start();
    const received: unknown[] = [];
    await world.sidecar.pubsub.subscribe('pubsub', subscribed, ({ data }) => void received.push(data));
    for (const topic of [...yes, ...no]) await world.sidecar.pubsub.publish('pubsub', topic, { topic });
    await world.pass(0);
    expect(received).toHaveLength(yes.length);
    expect(received).toEqual(expect.arrayContaining(yes.map((topic) => ({ topic }))));
    const { unhandled } = await world.sidecar.metadata.get();
    expect((unhandled?.messages ?? []).map(({ topic }) => topic).sort()).toEqual([...no].sort());
  });

  test('a topic with a subscription of its own reaches both', async () => {
    await using world = await new TestSidecar({ components: [make()] }).start();
    const received: string[] = [];
    await world.sidecar.pubsub.subscribe('pubsub', 'orders*', () => void received.push('all'));
    const own = await world.sidecar.pubsub.subscribe('pubsub', 'orders.new', () => void received.push('own'));
    await world.sidecar.pubsub.publish('pubsub', 'orders.new', {});
    await world.pass(0);
    expect(received.sort()).toEqual(['all', 'own']);
    await own.close();
  });

  test('messages from before the subscriptions were known come in order', async () => {
    const received: unknown[] = [];
    const app = {
      fetch: async (asked: Request) => {
        if (asked.url.endsWith('/subscribe'))
          return Response.json([{ pubsubname: 'pubsub', topic: 'orders*', route: '/in' }]);
        received.push(((await asked.json()) as { readonly data: unknown }).data);
        return new Response('{}');
      },
    };
    const world = new TestSidecar({ components: [make()], app });
    await using _ = world;
    const started = world.sidecar.start();
    await started;
    for (const [number, topic] of ['orders.a', 'orders.b', 'other', 'orders.a'].entries())
      await world.sidecar.pubsub.publish('pubsub', topic, number);
    await world.pass('1s');
    expect(received.sort()).toEqual([0, 1, 3]);
  });
});

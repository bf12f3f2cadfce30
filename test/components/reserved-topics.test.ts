/** Names of topics that reach into what belongs to the broker, or to others on it. No broker is asked. */
import { expect, test } from 'vitest';
import { jetstreamPubSub } from '../../src/components/jetstream/index.ts';
import { kafkaPubSub } from '../../src/components/kafka/index.ts';
import { memoryPubSub } from '../../src/components/memory/memory-pubsub.ts';
import { mqttPubSub } from '../../src/components/mqtt/index.ts';
import type { PubSubDefinition } from '../../src/components/pubsub.ts';
import { rabbitmqPubSub } from '../../src/components/rabbitmq/index.ts';
import { redisPubSub } from '../../src/components/redis/index.ts';
import { changesChannel, stateKeys } from '../../src/components/redis/state-keys.ts';
import { request } from '../../src/http/message.ts';
import type { RouteSubscription } from '../../src/index.ts';
import type { SidecarResponse } from '../../src/kit/index.ts';
import { TestSidecar } from '../support/sidecar.ts';

const NOWHERE = '127.0.0.1:9';
const COMPONENTS: Readonly<Record<string, () => PubSubDefinition>> = {
  redis: () => redisPubSub('pubsub', { url: `redis://${NOWHERE}` }),
  rabbitmq: () => rabbitmqPubSub('pubsub', { url: `amqp://${NOWHERE}` }),
  jetstream: () => jetstreamPubSub('pubsub', { url: `nats://${NOWHERE}` }),
  mqtt: () => mqttPubSub('pubsub', { url: `mqtt://${NOWHERE}` }),
  kafka: () => kafkaPubSub('pubsub', { brokers: [NOWHERE] }),
  memory: () => memoryPubSub('pubsub'),
};

const RESERVED: readonly (readonly [component: string, topic: string, why: string])[] = [
  ...[...stateKeys('insidecar'), changesChannel('insidecar'), ...stateKeys('of another sidecar')].map(
    (key) => ['redis', key, 'belong to the state of sidecars'] as const,
  ),
  ['redis', '{insidecar}:sessions:60000001', 'belong to the state of sidecars'],
  ['redis', '{shop}:sessions:60000001', 'belong to the state of sidecars'],
  ['redis', '{insidecar}', 'belong to the state of sidecars'],
  ['rabbitmq', 'amq.fanout', 'belong to RabbitMQ'],
  ['rabbitmq', 'amq.topic', 'belong to RabbitMQ'],
  ['jetstream', '_INBOX.abc.1', 'belong to the answers of other clients'],
  ['jetstream', '_INBOX', 'belong to the answers of other clients'],
  ['mqtt', '$SYS/broker', 'belong to the broker'],
  ['mqtt', '$share/group/orders', 'belong to the broker'],
  ['mqtt', 'orders/#', 'wildcards of subscriptions'],
  ['kafka', '__consumer_offsets', 'belongs to Kafka'],
  ['kafka', '__transaction_state', 'belongs to Kafka'],
  ['kafka', 'a/b', 'Kafka has no topic "a/b"'],
];

async function withComponent(
  component: string,
  subscriptions: readonly RouteSubscription[] = [],
): Promise<TestSidecar> {
  const components = [COMPONENTS[component]?.() ?? memoryPubSub('pubsub')];
  return new TestSidecar({ components, subscriptions, app: { fetch: () => new Response() } }).start();
}

function publish({ sidecar }: TestSidecar, topic: string, path = 'publish'): Promise<SidecarResponse> {
  const body = path === 'publish' ? { id: 1 } : [{ entryId: '1', event: { id: 1 } }];
  return sidecar.handle(request('POST', `/v1.0/${path}/pubsub/${encodeURIComponent(topic)}`, { body }));
}

test.each(RESERVED)('%s: publishes to %s are refused', async (component, topic, why) => {
  await using world = await withComponent(component);
  for (const path of ['publish', 'publish/bulk']) {
    const { status, body } = await publish(world, topic, path);
    const { errorCode, message } = JSON.parse(Buffer.from(body as Uint8Array).toString());
    expect([status, errorCode]).toEqual([403, 'ERR_PUBSUB_FORBIDDEN']);
    expect(message).toContain(topic);
    expect(message).toContain(why);
  }
  await expect(world.sidecar.pubsub.publish('pubsub', topic, {})).rejects.toThrow(why);
});

test.each(RESERVED.filter(([component]) => component !== 'mqtt'))(
  '%s: a subscription to %s is refused, with the reason',
  async (component, topic, why) => {
    await using world = await withComponent(component, [{ pubsubName: 'pubsub', topic, route: '/in' }]);
    expect(world.emitted('subscriptionRefused')).toEqual([
      { pubsubName: 'pubsub', topic, reason: expect.stringContaining(why), error: expect.any(Error) },
    ]);
    const inCode = world.sidecar.pubsub.subscribe('pubsub', topic, () => undefined);
    await expect(inCode).rejects.toMatchObject({ code: 'ERR_PUBSUB_SUBSCRIBE', message: expect.stringContaining(why) });
  },
);

test.each(RESERVED)('%s: a subscription with the dead-letter topic %s is refused', async (component, topic, why) => {
  const subscription = { pubsubName: 'pubsub', topic: 'orders', route: '/in', deadLetterTopic: topic };
  await using world = await withComponent(component, [subscription]);
  expect(world.emitted('subscriptionRefused')).toEqual([
    { pubsubName: 'pubsub', topic: 'orders', reason: expect.stringContaining(why), error: expect.any(Error) },
  ]);
});

test.each<[component: string, topics: readonly string[]]>([
  ['redis', ['{shop}orders', '{shop}:orders', '{shop}:keysof', 'insidecar', '{}:meta']],
  ['rabbitmq', ['amq', 'amqp.orders', 'orders.amq.fanout']],
  ['jetstream', ['$JS.API.STREAM.DELETE.orders', 'INBOX.orders', '_INBOXES', 'a._INBOX.b']],
  ['mqtt', ['$aws/things/1', 'a/$SYS/b']],
  ['kafka', ['__orders', 'consumer_offsets']],
])('%s: topics with names like those are none of these: %j', (component, topics) => {
  const definition = COMPONENTS[component]?.();
  for (const topic of topics) expect(definition?.topicProblem?.(topic, 'publish')).toBeUndefined();
});

test.each(['redis', 'rabbitmq', 'kafka'])(
  '%s: a subscription to a topic that ends with a wildcard is refused: it would match nothing',
  async (component) => {
    await using world = await withComponent(component, [{ pubsubName: 'pubsub', topic: 'orders*', route: '/in' }]);
    expect(world.emitted('subscriptionRefused')).toMatchObject([{ topic: 'orders*' }]);
  },
);

import type { Options } from 'amqplib';
import { describe, expect, test } from 'vitest';
import type { PubSubDefinition } from '../../../src/components/pubsub.ts';
import { acknowledge, Collector, publishTexts, textMessage } from '../../../src/kit/collector.ts';
import { newTopic, numbers } from '../../../src/kit/pubsub-case.ts';
import { component, load, metadata } from '../../resources/files.ts';
import { openComponent, openDefinition, queueState, urlOf, withClient } from './broker.ts';
import { DaprLike } from './dapr-like.ts';

/** What exchanges and queues are like. */
export function declarations(port: () => number): void {
  /** Rejects unless a queue is there with exactly these settings. */
  const isQueue = (name: string, settings: Options.AssertQueue, args: object): Promise<unknown> =>
    withClient(port(), async (connection) => {
      const channel = await connection.createChannel();
      channel.on('error', () => undefined);
      await channel.checkQueue(name);
      return channel.assertQueue(name, { ...settings, arguments: args });
    });
  const KEPT = { durable: true, autoDelete: false };

  test('queues are quorum queues that stay, exchanges are those of Dapr', async () => {
    const topic = newTopic();
    const { component } = await openComponent(port());
    await Collector.join(component, { topic, group: 'orders' });
    await Collector.join(component, { topic, group: 'orders/audit' });
    await isQueue(`orders-${topic}`, KEPT, { 'x-queue-type': 'quorum' });
    await isQueue(`orders/audit-${topic}`, KEPT, { 'x-queue-type': 'quorum' });
    await withClient(port(), async (connection) => {
      const channel = await connection.createChannel();
      await channel.assertExchange(topic, 'fanout', { durable: true, autoDelete: true });
    });
    await component.close();
  });

  test.each([
    ['another queue type', { queueType: 'classic' }, { 'x-queue-type': 'classic' }],
    ['priorities', { maxPriority: '5' }, { 'x-queue-type': 'classic', 'x-max-priority': 5 }],
    [
      'limits',
      { maxLen: '100', maxLenBytes: '1000000' },
      { 'x-queue-type': 'quorum', 'x-max-length': 100, 'x-max-length-bytes': 1_000_000 },
    ],
    [
      'one active consumer',
      { singleActiveConsumer: 'true' },
      { 'x-queue-type': 'quorum', 'x-single-active-consumer': true },
    ],
  ])('a subscription asks for %s', async (_what, metadata, args) => {
    const topic = newTopic();
    const { component } = await openComponent(port());
    await Collector.join(component, { topic, group: 'orders', metadata });
    await isQueue(`orders-${topic}`, KEPT, args);
    await component.close();
  });

  test('deadLetterExchange declares what Dapr’s enableDeadLetter does, and gets what expires', async () => {
    const topic = newTopic();
    const { component } = await openComponent(port(), { deadLetterExchange: true, messageTtl: 50, maxLength: 10 });
    await Collector.join(component, { topic, group: 'orders', paused: true });
    const [queue, dead] = [`orders-${topic}`, `dlq-orders-${topic}`];
    const exchange = { 'x-dead-letter-exchange': `dlx-${queue}` };
    await isQueue(queue, KEPT, { ...exchange, 'x-queue-type': 'quorum', 'x-max-length': 10 });
    await isQueue(dead, KEPT, { 'x-queue-mode': 'lazy', 'x-max-length': 10 });
    await publishTexts(component, topic, ['a']);
    await expect.poll(async () => (await queueState(port(), dead)).messageCount, { timeout: 10_000 }).toBe(1);
    await component.close();
  });

  test('with an exchange of the kind topic, a subscription gets what fits its routing keys', async () => {
    const topic = newTopic();
    const { component } = await openComponent(port(), { exchangeKind: 'topic' });
    const metadata = { routingKey: 'eu.*,us.east' };
    const consumer = await Collector.join(component, { topic, metadata }, acknowledge);
    const publish = (routingKey: string) =>
      component.publish([
        {
          id: routingKey,
          topic,
          data: Buffer.from(routingKey),
          contentType: 'text/plain',
          raw: true,
          metadata: { routingKey },
        },
      ]);
    for (const key of ['eu.north', 'us.west', 'us.east']) expect(await publish(key)).toEqual([]);
    await consumer.expect(2);
    expect(consumer.texts).toEqual(['eu.north', 'us.east']);
    await component.close();
  });

  test.each(['topic', 'direct'] as const)(
    'with an exchange of the kind %s, a dead letter comes to subscriptions without a routing key',
    async (exchangeKind) => {
      const topic = newTopic();
      const { component, unsubscribed } = await openComponent(port(), { exchangeKind });
      const consumer = await Collector.join(component, { topic }, acknowledge);
      const origin = {
        topic: 'orders',
        group: 'orders',
        reason: 'no',
        attempts: 4,
        deadAt: Date.parse('2026-01-01T00:00:00Z'),
      };
      const metadata = { routingKey: 'eu.north' };
      expect(await component.publish([textMessage(topic, 'a', { metadata, deadLetter: origin })])).toEqual([]);
      const [{ message } = { message: undefined }] = await consumer.expect(1);
      expect([{ ...message?.metadata }, unsubscribed]).toEqual([metadata, []]);
      await component.close();
    },
  );

  test('one queue with one active consumer keeps order over processes', async () => {
    const topic = newTopic();
    const [one, other] = [await openComponent(port()), await openComponent(port())];
    const options = { topic, ordered: true, maxInFlight: 1, metadata: { singleActiveConsumer: 'true' } };
    const first = await Collector.join(one.component, options, acknowledge);
    const second = await Collector.join(other.component, options, acknowledge);
    await publishTexts(one.component, topic, numbers(20));
    await first.expect(20);
    await one.component.close();
    await publishTexts(other.component, topic, ['after']);
    await second.expect(1);
    expect([first.texts, second.texts]).toEqual([numbers(20), ['after']]);
    await other.component.close();
  });

  test('a resource file of Dapr’s declares what its metadata say', async () => {
    const [topic, consumerID] = [newTopic(), newTopic()];
    const values = {
      connectionString: urlOf(port()),
      consumerID,
      deletedWhenUnused: 'false',
      enableDeadLetter: 'true',
      maxLen: '50',
      exchangeKind: 'topic',
      deliveryMode: '2',
    };
    const { options } = await load(component('pubsub', 'pubsub.rabbitmq', metadata(values)));
    const definition = (options.components as readonly PubSubDefinition[]).at(0);
    const opened = await openDefinition(definition, 'orders');
    await Collector.join(opened.component, {
      topic,
      group: 'orders',
      metadata: { queueType: 'classic', routingKey: '#' },
    });
    await isQueue(`${consumerID}-${topic}`, KEPT, {
      'x-queue-type': 'classic',
      'x-max-length': 50,
      'x-dead-letter-exchange': `dlx-${consumerID}-${topic}`,
    });
    await withClient(port(), async (connection) => {
      const channel = await connection.createChannel();
      await channel.assertExchange(topic, 'topic', { durable: true, autoDelete: false });
    });
    await opened.component.close();
  });

  describe('what is there with other settings', () => {
    test('is used as it is if nothing else was asked for', async () => {
      const topic = newTopic();
      const dapr = await DaprLike.start(port(), {
        consumerID: 'orders',
        topic,
        exchangeKind: 'topic',
        routingKey: '#',
      });
      const { component } = await openComponent(port());
      await Collector.join(component, { topic, group: 'orders' });
      await component.close();
      await dapr.close();
    });

    test.each([
      [
        { queueType: 'quorum' as const },
        /queue "orders-.*" has another x-queue-type: set queueType to that.*'quorum'.*'classic'/,
      ],
      [
        { exchangeKind: 'direct' as const },
        /exchange ".*" is not of the kind "direct": set exchangeKind.*'direct'.*'fanout'/,
      ],
      [{ maxLength: 5 }, /has another x-max-length: set maxLen to that of the queue/],
    ])('is one clear error if %o was asked for', async (options, message) => {
      const topic = newTopic();
      const dapr = await DaprLike.start(port(), { consumerID: 'orders', topic });
      const { component } = await openComponent(port(), options);
      await expect(Collector.join(component, { topic, group: 'orders' })).rejects.toThrow(message);
      await component.close();
      await dapr.close();
    });
  });

  test.each([
    [{ queueType: 'stream' }, 'queueType "stream" must be "quorum" or "classic"'],
    [{ queueType: 'quorum', maxPriority: '3' }, 'a quorum queue cannot be combined with maxPriority'],
    [{ maxLen: 'many' }, 'maxLen "many" in the metadata of the subscription must be a whole number'],
  ])('refuses a subscription with %o', async (metadata, message) => {
    const { component } = await openComponent(port());
    await expect(Collector.join(component, { topic: newTopic(), metadata })).rejects.toThrow(message);
    await component.close();
  });
}

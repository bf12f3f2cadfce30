import { describe, expect, test } from 'vitest';
import type { Message } from '../../../src/components/pubsub.ts';
import { acknowledge, Collector, publishTexts, textMessage } from '../../../src/kit/collector.ts';
import { newTopic, numbers } from '../../../src/kit/pubsub-case.ts';
import { until } from '../../support/broker-world.ts';
import { openComponent, queueState } from './broker.ts';
import { DaprLike } from './dapr-like.ts';

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** An event as daprd writes it. */
function daprEvent(topic: string, data: unknown): string {
  const type = { type: 'com.dapr.event.sent', specversion: '1.0', datacontenttype: 'application/json' };
  return JSON.stringify({ data, id: 'e-1', pubsubname: 'pubsub', source: 'dapp', topic, ...type, traceparent: TRACE });
}

/** An event as the block hands it to the component. */
function ownEvent(topic: string): Message {
  const data = Buffer.from(
    JSON.stringify({ id: 'o-1', specversion: '1.0', type: 't', source: 's', traceparent: TRACE }),
  );
  const more = { data, raw: false, contentType: 'application/cloudevents+json', metadata: { color: 'red' } };
  return textMessage(topic, 'o-1', { ...more, trace: { traceparent: TRACE } });
}

/** Exchanges messages with a client that does what daprd does, and knows nothing of our code. */
export function interop(port: () => number): void {
  describe.each(['daprd', 'insidecar'] as const)('%s declares first', (first) => {
    /** The queue of daprd's application and the consumer of ours. */
    const bothSubscribed = async (topic: string) => {
      const { component } = await openComponent(port(), {}, 'ours');
      const join = (): Promise<Collector> => Collector.join(component, { topic, group: 'ours' }, acknowledge);
      const early = first === 'insidecar' ? await join() : undefined;
      const dapr = await DaprLike.start(port(), { consumerID: 'dapp', topic });
      return { component, dapr, consumer: early ?? (await join()) };
    };

    test('messages of daprd arrive at its application and at ours', async () => {
      const topic = newTopic();
      const { component, dapr, consumer } = await bothSubscribed(topic);
      await dapr.publish(daprEvent(topic, { a: 1 }));
      const [delivery] = await consumer.expect(1);
      expect(delivery?.message).toMatchObject({ id: 'e-1', raw: false, trace: { traceparent: TRACE } });
      expect(consumer.texts).toEqual([daprEvent(topic, { a: 1 })]);
      expect(dapr.texts).toEqual(consumer.texts);
      await component.close();
      await dapr.close();
    });

    test('messages of ours arrive at its application and at ours', async () => {
      const topic = newTopic();
      const { component, dapr, consumer } = await bothSubscribed(topic);
      const event = ownEvent(topic);
      expect(await component.publish([event])).toEqual([]);
      const [delivery] = await consumer.expect(1);
      expect(delivery?.message).toEqual(event);
      await until('daprd has it', () => dapr.texts.length === 1);
      expect(dapr.texts).toEqual([Buffer.from(event.data).toString()]);
      await component.close();
      await dapr.close();
    });

    test('a publisher alone does not get in the way of the other', async () => {
      const topic = newTopic();
      const { component } = await openComponent(port());
      const dapr = await DaprLike.start(port(), { consumerID: 'dapp' });
      if (first === 'daprd') await dapr.publish('x', topic);
      await publishTexts(component, topic, ['y']);
      await dapr.publish('z', topic);
      await component.close();
      await dapr.close();
    });
  });

  test('messages of ours are persistent and carry what the broker has room for', async () => {
    const topic = newTopic();
    const { component } = await openComponent(port());
    const dapr = await DaprLike.start(port(), { consumerID: 'dapp', topic });
    const metadata = { priority: '3', correlationID: 'c-1', type: 'order' };
    const expiresAt = Date.now() + 60_000;
    await component.publish([{ ...ownEvent(topic), metadata, expiresAt }]);
    await until('daprd has it', () => dapr.messages.length === 1);
    const [{ properties, fields } = { properties: {}, fields: {} }] = dapr.messages;
    const contentType = 'application/cloudevents+json';
    expect(properties).toMatchObject({ deliveryMode: 2, contentType, messageId: 'id-o-1', priority: 3 });
    expect(properties).toMatchObject({ correlationId: 'c-1', type: 'order' });
    expect(Number(properties.expiration)).toBeGreaterThan(50_000);
    expect(Number(properties.expiration)).toBeLessThanOrEqual(60_000);
    expect(fields).toMatchObject({ exchange: topic, routingKey: '' });
    await component.close();
    await dapr.close();
  });

  test('messageTtl is the life of a message without its own, here as at the broker; dead letters have none', async () => {
    const topic = newTopic();
    const { component } = await openComponent(port(), { messageTtl: 60_000 });
    const consumer = await Collector.join(component, { topic }, acknowledge);
    const dapr = await DaprLike.start(port(), { consumerID: 'dapp', topic });
    const deadLetter = {
      topic: 'orders',
      group: 'orders',
      reason: 'no',
      attempts: 4,
      deadAt: Date.parse('2026-01-01T00:00:00Z'),
    };
    await component.publish([textMessage(topic, 'alive'), textMessage(topic, 'dead', { deadLetter })]);
    const deliveries = await consumer.expect(2);
    await until('daprd has both', () => dapr.messages.length === 2);
    const lives = deliveries.map(({ message: { expiresAt } }) => expiresAt);
    expect(lives).toEqual([expect.any(Number), undefined]);
    expect(Math.abs((lives[0] ?? 0) - Date.now() - 60_000)).toBeLessThan(10_000);
    expect(dapr.messages.map(({ properties }) => properties.expiration)).toEqual(['60000', undefined]);
    await component.close();
    await dapr.close();
  });

  test('a raw payload of daprd arrives as bytes, and expires as daprd said', async () => {
    const topic = newTopic();
    const { component } = await openComponent(port());
    const consumer = await Collector.join(component, { topic }, acknowledge);
    const dapr = await DaprLike.start(port(), { consumerID: 'dapp' });
    await dapr.publish('hello', topic, { contentType: 'text/plain', expiration: '60000' });
    const [{ message } = { message: undefined }] = await consumer.expect(1);
    expect(message).toMatchObject({ raw: true, contentType: 'application/octet-stream', metadata: {} });
    expect(message?.expiresAt).toBeGreaterThan(Date.now() + 50_000);
    await component.close();
    await dapr.close();
  });

  test('counts of deliveries that a message brings along from elsewhere are not those of this queue', async () => {
    const topic = newTopic();
    const { component } = await openComponent(port());
    const consumer = await Collector.join(component, { topic }, acknowledge);
    const dapr = await DaprLike.start(port(), { consumerID: 'dapp' });
    await dapr.publish('moved', topic, { headers: { 'x-delivery-count': 7, 'insidecar-attempts': -5 } });
    const [delivery] = await consumer.expect(1);
    expect(delivery?.attempt).toBe(1);
    await component.close();
    await dapr.close();
  });

  test('messages of daprd that have expired before anybody consumes are not delivered', async () => {
    const topic = newTopic();
    const { component } = await openComponent(port());
    const consumer = await Collector.join(component, { topic, paused: true }, acknowledge);
    const dapr = await DaprLike.start(port(), { consumerID: 'dapp' });
    await dapr.publish('short', topic, { expiration: '50' });
    await dapr.publish('long', topic, { expiration: '60000' });
    await consumer.expect(0);
    consumer.subscription.resume();
    await consumer.expect(1);
    expect(consumer.texts).toEqual(['long']);
    await component.close();
    await dapr.close();
  });

  describe('the same application on daprd and insidecar', () => {
    const shared = async (topic: string, dapr: DaprLike, component: Awaited<ReturnType<typeof openComponent>>) => {
      const join = { topic, group: 'shared', maxInFlight: 4 };
      const consumer = await Collector.join(component.component, join, acknowledge);
      await publishTexts(component.component, topic, numbers(50));
      for (const text of numbers(100).slice(50)) await dapr.publish(text, topic);
      await until('all arrived', () => consumer.texts.length + dapr.texts.length >= 100);
      expect([...consumer.texts, ...dapr.texts].sort()).toEqual(numbers(100).sort());
      expect([consumer.texts.length > 0, dapr.texts.length > 0]).toEqual([true, true]);
      await component.component.close();
      await dapr.close();
    };

    test('shares the queue that daprd has declared with its defaults', async () => {
      const topic = newTopic();
      const dapr = await DaprLike.start(port(), { consumerID: 'shared', topic, prefetchCount: 4 });
      await shared(topic, dapr, await openComponent(port(), {}, 'shared'));
    });

    test('shares the queue that insidecar has declared, if daprd is told of it', async () => {
      const topic = newTopic();
      const opened = await openComponent(port(), { exchangeAutoDelete: false, consumerId: 'team' }, 'shared');
      const first = await Collector.join(opened.component, { topic, group: 'shared', paused: true });
      const settings = { deletedWhenUnused: false, queueType: 'quorum', prefetchCount: 4 };
      const dapr = await DaprLike.start(port(), { consumerID: 'team', topic, ...settings });
      await first.subscription.close();
      await shared(topic, dapr, opened);
    });

    test('keeps daprd’s queue, which is deleted with its last consumer, when daprd leaves and while it is paused', async () => {
      const topic = newTopic();
      const dapr = await DaprLike.start(port(), { consumerID: 'shared', topic });
      const { component, logger } = await openComponent(port(), {}, 'shared');
      const consumer = await Collector.join(component, { topic, group: 'shared' }, acknowledge);
      await until('both consume', async () => (await queueState(port(), `shared-${topic}`)).consumerCount === 2);
      await dapr.close();
      consumer.subscription.pause();
      await publishTexts(component, topic, numbers(10));
      await consumer.expect(0);
      consumer.subscription.resume();
      await consumer.expect(10);
      expect(logger.at('warn')).toMatchObject([{ details: { queue: `shared-${topic}` } }]);
      await component.close();
    });
  });

  test('with propertiesToMetadata, properties and headers are metadata under Dapr’s names', async () => {
    const topic = newTopic();
    const { component } = await openComponent(port(), { propertiesToMetadata: true });
    const consumer = await Collector.join(component, { topic }, acknowledge);
    const dapr = await DaprLike.start(port(), { consumerID: 'dapp' });
    const properties = { messageId: 'm-1', correlationId: 'c-1', type: 'order', contentType: 'application/x-own' };
    await dapr.publish('x', topic, { ...properties, headers: { tenant: 'blue', priority: 7 } });
    const [{ message } = { message: undefined }] = await consumer.expect(1);
    expect({ ...message?.metadata }).toEqual({
      ...{ messageid: 'm-1', correlationid: 'c-1', type: 'order', contenttype: 'application/x-own' },
      ...{ tenant: 'blue', priority: '7' },
    });
    expect(message?.id).toBe('m-1');
    await component.close();
    await dapr.close();
  });
}

import { randomUUID } from 'node:crypto';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JetStreamPubSubOptions } from '../../../src/components/jetstream/index.ts';
import { acknowledge, Collector, eventually, later, publishTexts, textMessage } from '../../../src/kit/collector.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { hasNats, startNats } from '../../support/servers.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { ask, NatsForTests, openJetStream } from './nats-world.ts';

interface ConsumerInfo {
  readonly config: Record<string, unknown>;
  readonly num_ack_pending: number;
  readonly ack_floor: { readonly stream_seq: number };
}

describe.skipIf(!hasNats())('consumers', () => {
  let server: NatsForTests;
  let raw: NatsConnection;
  beforeAll(async () => {
    server = await NatsForTests.own(['server_name: one'], 'domain: hub');
    raw = await server.raw();
  });
  afterAll(async () => {
    await raw?.close();
    await server?.[Symbol.asyncDispose]();
  });

  const newTopic = (): string => `consumers-${randomUUID()}`;
  const consumerInfo = (stream: string, name: string): Promise<ConsumerInfo> =>
    ask<ConsumerInfo>(raw, `CONSUMER.INFO.${stream}.${name}`);
  /** A topic with a stream of the same name, with these messages. */
  const filled = async (...texts: readonly string[]): Promise<string> => {
    const topic = newTopic();
    await ask(raw, `STREAM.CREATE.${topic}`, { name: topic, subjects: [topic] });
    for (const text of texts) await raw.request(topic, text);
    return topic;
  };
  /** What a new group gets. */
  const begins = async (topic: string, options: JetStreamPubSubOptions): Promise<string[]> => {
    const component = await openJetStream(server.url, options);
    const consumer = await Collector.join(component, { topic }, acknowledge);
    await raw.request(topic, 'later');
    await eventually('the last message came', () => consumer.texts.includes('later'));
    await component.close();
    return consumer.texts;
  };

  test('a group on a topic is a durable pull consumer', async () => {
    const [component, topic] = [await openJetStream(server.url, { ackWait: 7_000 }), newTopic()];
    await Collector.join(component, { topic, group: 'shop/mail' });
    const { config } = await consumerInfo(`insidecar-${topic}`, `shop=2Fmail@${topic}`);
    expect(config).toMatchObject({
      ...{ durable_name: `shop=2Fmail@${topic}`, filter_subject: topic, deliver_policy: 'all', ack_policy: 'explicit' },
      ...{ ack_wait: 7_000_000_000, max_ack_pending: 10_000, max_deliver: -1 },
    });
    expect(config['deliver_subject']).toBeUndefined();
    await component.close();
  });

  test('changed options change the consumer, and leave what else is set', async () => {
    const topic = await filled();
    const name = `app@${topic}`;
    const config = { durable_name: name, filter_subject: topic, ack_policy: 'explicit', max_waiting: 77 };
    await ask(raw, `CONSUMER.DURABLE.CREATE.${topic}.${name}`, { stream_name: topic, config });
    const component = await openJetStream(server.url, { ackWait: 5_000, maxAckPending: 50 });
    await Collector.join(component, { topic });
    expect((await consumerInfo(topic, name)).config).toMatchObject({
      ...{ ack_wait: 5_000_000_000, max_ack_pending: 50, max_waiting: 77 },
    });
    await component.close();
  });

  test.each([
    ['all', ['a', 'b', 'c', 'later']],
    ['last', ['c', 'later']],
    ['new', ['later']],
    [{ startSequence: 2 }, ['b', 'c', 'later']],
    [{ startTime: new Date('2100-01-01T00:00:00Z') }, undefined],
    [{ startTime: new Date(0) }, ['a', 'b', 'c', 'later']],
  ] as const)('deliverPolicy %j', async (deliverPolicy, expected) => {
    const topic = await filled('a', 'b', 'c');
    if (expected !== undefined) return expect(await begins(topic, { deliverPolicy })).toEqual(expected);
    const component = await openJetStream(server.url, { deliverPolicy });
    await (await Collector.join(component, { topic })).expect(0);
    await component.close();
  });

  test('a new group takes the place of a durable consumer of daprd', async () => {
    const topic = await filled('a', 'b', 'c');
    const inbox = `_INBOX.${randomUUID()}`;
    const got: (() => boolean)[] = [];
    raw.subscribe(inbox, { callback: (_error, message) => void got.push(() => message.respond('+ACK')) });
    const config = {
      ...{ durable_name: 'dappdur', deliver_subject: inbox, filter_subject: topic },
      ...{ ack_policy: 'explicit', ack_wait: 30_000_000_000, max_ack_pending: 1_000 },
    };
    await ask(raw, `CONSUMER.DURABLE.CREATE.${topic}.dappdur`, { stream_name: topic, config });
    await eventually('daprd got them', () => got.length === 3);
    for (const respond of got.slice(0, 2)) respond();
    const floor = async (): Promise<number> => (await consumerInfo(topic, 'dappdur')).ack_floor.stream_seq;
    await expect.poll(floor).toBe(2);
    expect(await begins(topic, { continueDurable: 'dappdur', deliverPolicy: 'new' })).toEqual(['c', 'later']);
    const logger = new RecordingLogger();
    const other = await openJetStream(server.url, { continueDurable: 'nobody' }, logger);
    await Collector.join(other, { topic, group: 'other' });
    expect(logger.at('warn')[0]?.message).toContain('there is no such consumer');
    await other.close();
  });

  test('a consumer that is no pull consumer is refused', async () => {
    const topic = await filled();
    const name = `app@${topic}`;
    const config = { durable_name: name, filter_subject: topic, ack_policy: 'explicit', deliver_subject: 'x.y' };
    await ask(raw, `CONSUMER.DURABLE.CREATE.${topic}.${name}`, { stream_name: topic, config });
    const component = await openJetStream(server.url);
    await expect(Collector.join(component, { topic })).rejects.toThrow(
      `the consumer "${name}" at NATS at ${server.url.slice(7)} is not a pull consumer with explicit acknowledgements`,
    );
    await component.close();
  });

  test('order holds over two processes, retries included', async () => {
    const [one, other, topic] = [await openJetStream(server.url), await openJetStream(server.url), newTopic()];
    const seen: string[] = [];
    const options = { topic, maxInFlight: 1, ordered: true };
    const take = (delivery: Parameters<typeof acknowledge>[0]): void => {
      seen.push(delivery.message.id);
      const fails = delivery.attempt === 1 && Number(delivery.message.id.slice(3)) % 5 === 0;
      setTimeout(() => void (fails ? delivery.retry(50) : delivery.ack()), 2);
    };
    const collectors = [await Collector.join(one, options, take), await Collector.join(other, options, take)];
    await publishTexts(
      one,
      topic,
      Array.from({ length: 30 }, (_, index) => String(index)),
    );
    await eventually('all came', () => seen.length >= 36);
    const expected = Array.from({ length: 30 }, (_, index) =>
      Array<string>(index % 5 === 0 ? 2 : 1).fill(`id-${index}`),
    );
    expect(seen).toEqual(expected.flat());
    for (const { deliveries } of collectors) expect(deliveries.length).toBeGreaterThan(0);
    await Promise.all([one.close(), other.close()]);
  });

  test('a retry of an ordered subscription stays with its process, longer than the lease', async () => {
    const options = { ackWait: 1_000 };
    const [one, other] = [await openJetStream(server.url, options), await openJetStream(server.url, options)];
    const [topic, seen] = [newTopic(), [] as string[]];
    const join = (name: string, component: typeof one): Promise<Collector> =>
      Collector.join(component, { topic, maxInFlight: 1, ordered: true }, (delivery) => {
        seen.push(`${name} ${delivery.message.id} ${delivery.attempt}`);
        void (delivery.message.id === 'id-a' && delivery.attempt === 1 ? delivery.retry(2_500) : delivery.ack());
      });
    await join('one', one);
    await publishTexts(one, topic, ['a', 'b']);
    await eventually('it is held', () => seen.length === 1);
    await join('other', other);
    await eventually('both are done', () => seen.some((line) => line.includes('id-b')));
    expect(seen.slice(0, 2)).toEqual(['one id-a 1', 'one id-a 2']);
    expect(seen).toHaveLength(3);
    await Promise.all([one.close(), other.close()]);
  });

  test('the option stream, and the domain as prefix of the API', async () => {
    const topic = await filled('a');
    const component = await openJetStream(server.url, { stream: topic, createStream: false, domain: 'hub' });
    await (await Collector.join(component, { topic }, acknowledge)).expect(1);
    await publishTexts(component, topic, ['b']);
    await component.close();
    const elsewhere = await openJetStream(server.url, { createStream: false, domain: 'nowhere' });
    await expect(Collector.join(elsewhere, { topic })).rejects.toThrow('nobody responds at $JS.nowhere.API');
    await elsewhere.close();
  });

  test('a request that is one too many for the consumer is no trouble, and is made later', async () => {
    const topic = await filled();
    const name = `app@${topic}`;
    const config = { durable_name: name, filter_subject: topic, ack_policy: 'explicit', max_waiting: 1 };
    await ask(raw, `CONSUMER.DURABLE.CREATE.${topic}.${name}`, { stream_name: topic, config });
    const refusals: unknown[] = [];
    const watch = raw.subscribe('_INBOX.>', {
      callback: (_error, { headers }) => void (headers?.code === 409 && refusals.push(headers)),
    });
    const logger = new RecordingLogger();
    const component = await openJetStream(server.url, {}, logger);
    const consumer = await Collector.join(component, { topic, maxInFlight: 2 }, acknowledge);
    for (let count = 1; count <= 12; count++) {
      await publishTexts(component, topic, [String(count)]);
      await consumer.expect(count);
    }
    // Else the server sends messages to inboxes that are gone.
    watch.unsubscribe();
    expect(refusals).not.toEqual([]);
    expect(logger.at('warn')).toEqual([]);
    await component.close();
  });

  test('a consumer that is deleted is created again', async () => {
    const logger = new RecordingLogger();
    const [component, topic] = [await openJetStream(server.url, {}, logger), newTopic()];
    const consumer = await Collector.join(component, { topic }, acknowledge);
    await publishTexts(component, topic, ['a']);
    await consumer.expect(1);
    await ask(raw, `CONSUMER.DELETE.insidecar-${topic}.app@${topic}`);
    await publishTexts(component, topic, ['b']);
    await eventually('messages come again', () => consumer.texts.includes('b'));
    expect(logger.at('warn').map(({ message }) => message)).toEqual([
      expect.stringMatching(/^the group gets no messages: /),
    ]);
    expect(logger.at('info').map(({ message }) => message)).toContain(
      'the group gets messages again: its consumer was created again',
    );
    await component.close();
  });

  test('a group that began with new messages misses none when its consumer is deleted', async () => {
    const topic = await filled('old');
    const component = await openJetStream(server.url, { deliverPolicy: 'new' });
    const consumer = await Collector.join(component, { topic }, acknowledge);
    await later(50);
    await ask(raw, `CONSUMER.DELETE.${topic}.app@${topic}`);
    await publishTexts(component, topic, ['a']);
    await eventually('the message came', () => consumer.texts.includes('a'));
    await component.close();
  });

  test('a stream that is deleted and made again is consumed again', async () => {
    const logger = new RecordingLogger();
    const topic = await filled('a');
    const component = await openJetStream(server.url, { createStream: false }, logger);
    const consumer = await Collector.join(component, { topic }, acknowledge);
    await consumer.expect(1);
    await ask(raw, `STREAM.DELETE.${topic}`);
    await eventually('it is told', () => logger.at('warn').some(({ message }) => message.includes('no stream of')));
    await ask(raw, `STREAM.CREATE.${topic}`, { name: topic, subjects: [topic] });
    await publishTexts(component, topic, ['b']);
    await eventually('the message came', () => consumer.texts.includes('b'));
    expect(logger.at('warn').length).toBeLessThanOrEqual(2);
    await component.close();
  });

  test('messages survive resets of the connection without a second delivery', async () => {
    await using proxy = await TcpProxy.start(Number(server.url.split(':')[2]));
    const [component, topic] = [await openJetStream(`nats://127.0.0.1:${proxy.port}`), newTopic()];
    const consumer = await Collector.join(component, { topic });
    await publishTexts(component, topic, ['a', 'b']);
    const [first, second] = await consumer.expect(2);
    proxy.cut();
    await Promise.all([first?.ack(), publishTexts(component, topic, ['c'])]);
    await eventually('it is consumed again', () => consumer.texts.length === 3);
    await Promise.all([second?.ack(), consumer.deliveries[2]?.ack()]);
    await later(100);
    const { num_ack_pending: open, ack_floor: floor } = await consumerInfo(`insidecar-${topic}`, `app@${topic}`);
    expect([consumer.texts, open, floor.stream_seq]).toEqual([['a', 'b', 'c'], 0, 3]);
    await component.close();
  });

  test('a settlement that no connection took is rejected when the message is delivered again', async () => {
    const own = await startNats();
    const component = await openJetStream(`nats://127.0.0.1:${own.port}`, { ackWait: 1_000 });
    const topic = newTopic();
    const consumer = await Collector.join(component, { topic });
    await publishTexts(component, topic, ['a']);
    const [delivery] = await consumer.expect(1);
    await own[Symbol.asyncDispose]();
    await expect(delivery?.ack()).rejects.toThrow(/^the connection to NATS at .* is gone$/);
    await component.close();
  });

  test('many messages wait for a retry while others pass', async () => {
    const [component, topic] = [await openJetStream(server.url), newTopic()];
    const consumer = await Collector.join(component, { topic, maxInFlight: 5 }, (delivery) => {
      void (delivery.message.id.startsWith('id-bad') ? delivery.retry(60_000) : delivery.ack());
    });
    const bad = Array.from({ length: 2_000 }, (_, index) => textMessage(topic, `bad${index}`));
    expect(await component.publish([...bad, textMessage(topic, 'good')])).toEqual([]);
    await eventually('the last one came', () => consumer.texts.includes('good'));
    expect(consumer.texts.length).toBe(2_001);
    await component.close();
  });
});

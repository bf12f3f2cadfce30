import { randomUUID } from 'node:crypto';
import { Admin, Consumer, Producer } from '@platformatic/kafka';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Delivery, Message, PubSubComponent } from '../../../src/components/pubsub.ts';
import { until } from '../../support/broker-world.ts';
import { hasBroker, KafkaTestBroker } from './kafka-test-broker.ts';

const EVENT = '{"specversion":"1.0","type":"x","source":"s","id":"e1","traceparent":"00-aa-bb-01"}';

/** A record as any program reads it. */
interface Read {
  readonly key: string | undefined;
  readonly value: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly partition: number;
}

function message(topic: string, data: string, metadata: Readonly<Record<string, string>> = {}): Message {
  return {
    id: 'e1',
    topic,
    data: Buffer.from(data),
    contentType: 'application/cloudevents+json',
    raw: false,
    metadata,
  };
}

describe.runIf(hasBroker())('Kafka beside other programs', () => {
  let broker: KafkaTestBroker;
  let component: PubSubComponent;
  let producer: Producer;
  beforeAll(async () => {
    broker = await KafkaTestBroker.start();
    component = await broker.open({ initialOffset: 'oldest' });
    producer = new Producer({ clientId: 'other', bootstrapBrokers: broker.brokers });
  });
  afterAll(async () => {
    await producer?.close();
    await component?.close();
    await broker?.[Symbol.asyncDispose]();
  });

  async function newTopic(partitions = 1): Promise<string> {
    const topic = `interop-${randomUUID()}`;
    await broker.createTopic(topic, partitions);
    return topic;
  }

  async function readAll(topic: string, count: number): Promise<readonly Read[]> {
    const consumer = new Consumer({ clientId: 'other', groupId: `other-${topic}`, bootstrapBrokers: broker.brokers });
    const stream = await consumer.consume({ topics: [topic], mode: 'earliest', autocommit: false });
    const got: Read[] = [];
    for await (const { key, value, headers, partition } of stream) {
      const texts = [...headers].map(([name, text]) => [String(name), String(text)] as const);
      got.push({ key: key?.toString(), value: String(value), headers: texts, partition });
      if (got.length === count) break;
    }
    await consumer.close(true);
    return got;
  }

  async function deliveries(topic: string, count: number): Promise<readonly Delivery[]> {
    const got: Delivery[] = [];
    const options = { topic, group: `g-${topic}`, maxInFlight: 10, ordered: false, paused: false };
    const subscription = await component.subscribe({ ...options, deliver: (some) => got.push(...some) });
    await until(`${count} were delivered`, () => got.length >= count);
    for (const delivery of got) await delivery.ack();
    await subscription.close();
    return got;
  }

  test('writes the event as the value, all metadata as headers, and the key of Dapr’s names', async () => {
    const topic = await newTopic();
    const sent = [
      message(topic, EVENT, { color: 'red', ttlInSeconds: '60' }),
      message(topic, EVENT, { partitionKey: 'k1', größe: 'ß' }),
      message(topic, EVENT, { __key: 'k2' }),
    ];
    expect(await component.publish(sent)).toEqual([]);
    const records = await readAll(topic, 3);
    expect(records.map(({ key, value }) => [key, value])).toEqual([
      [undefined, EVENT],
      ['k1', EVENT],
      ['k2', EVENT],
    ]);
    const others = records.map(({ headers }) => headers.filter(([name]) => name !== 'insidecar'));
    expect(others).toEqual([
      [
        ['color', 'red'],
        ['ttlInSeconds', '60'],
      ],
      [['größe', 'ß']],
      [],
    ]);
    expect(records.map(({ headers }) => JSON.parse(new Map(headers).get('insidecar') ?? '')['i'])).toEqual([
      'e1',
      'e1',
      'e1',
    ]);
    const got = await deliveries(topic, 3);
    expect(got.map(({ message: { metadata } }) => ({ ...metadata }))).toEqual(sent.map(({ metadata }) => metadata));
  });

  test('messages of one key have one partition, others are spread', async () => {
    const topic = await newTopic(4);
    const keyed = ['a', 'b', 'a', 'b', 'a'].map((partitionKey) => message(topic, EVENT, { partitionKey }));
    await component.publish([...keyed, ...Array.from({ length: 8 }, () => message(topic, EVENT))]);
    const records = await readAll(topic, 13);
    const of = (key: string | undefined) =>
      new Set(records.filter((one) => one.key === key).map((one) => one.partition));
    // FNV-1a of "a" is 0xe40c292c, of "b" 0xe70c2de5; as signed numbers, without the sign, by 4.
    expect([...of('a'), ...of('b')]).toEqual([Math.abs(0xe40c292c | 0) % 4, Math.abs(0xe70c2de5 | 0) % 4]);
    expect(of(undefined).size).toBe(4);
  });

  test('reads events and bytes of other programs, with their headers and places', async () => {
    const topic = await newTopic();
    const headers = new Map([[Buffer.from('x-a'), Buffer.from('1 ü')]]);
    await producer.send({
      messages: [
        { topic, key: Buffer.from('k'), value: Buffer.from(EVENT), headers },
        { topic, value: Buffer.from([1, 2, 255]) },
      ],
      acks: -1,
    });
    const [event, bytes] = (await deliveries(topic, 2)).map((delivery) => delivery.message);
    expect(event).toMatchObject({ id: 'e1', raw: false, trace: { traceparent: '00-aa-bb-01' } });
    expect({ ...event?.metadata }).toEqual({
      'x-a': '1 ü',
      __key: 'k',
      __topic: topic,
      __partition: '0',
      __offset: '0',
      __timestamp: expect.stringMatching(/^\d{13}$/),
    });
    expect(bytes).toMatchObject({ id: `${topic}-0-1`, raw: true, contentType: 'application/octet-stream' });
    expect([...(bytes?.data ?? [])]).toEqual([1, 2, 255]);
  });

  test('headers can be escaped and left out', async () => {
    const topic = await newTopic();
    const headers = new Map([
      [Buffer.from('x-a'), Buffer.from('1 ü!')],
      [Buffer.from('y-b'), Buffer.from('2')],
    ]);
    await producer.send({ messages: [{ topic, value: Buffer.from('x'), headers }], acks: -1 });
    const other = await broker.open({ initialOffset: 'oldest', escapeHeaders: true, excludeHeaders: /^y-/g });
    const got: Delivery[] = [];
    const options = { topic, group: 'g', maxInFlight: 10, ordered: false, paused: false };
    await other.subscribe({ ...options, deliver: (some) => got.push(...some) });
    await until('it was delivered', () => got.length === 1);
    expect(got[0]?.message.metadata['x-a']).toBe('1+%C3%BC%21');
    expect(got[0]?.message.metadata['y-b']).toBeUndefined();
    await other.close();
  });

  test('a group goes on where another program of the group has left off, and the other way round', async () => {
    const topic = await newTopic();
    await component.publish(['0', '1', '2', '3'].map((text) => message(topic, text)));
    const groupId = `g-${topic}`;
    const other = new Consumer({ clientId: 'other', groupId, bootstrapBrokers: broker.brokers });
    other.topics.track(topic);
    await other.joinGroup({});
    await other.commit({ offsets: [{ topic, partition: 0, offset: 2n, leaderEpoch: -1 }] });
    await other.leaveGroup(true);
    const got = await deliveries(topic, 2);
    expect(got.map(({ message: { data } }) => String(data))).toEqual(['2', '3']);
    const admin = new Admin({ clientId: 'other', bootstrapBrokers: broker.brokers });
    const [group] = await admin.listConsumerGroupOffsets({ groups: [groupId] });
    expect(group?.topics[0]?.partitions[0]?.committedOffset).toBe(4n);
    await admin.close();
    await other.close(true);
  });
});

import { randomUUID } from 'node:crypto';
import { headers, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { jetstreamPubSub } from '../../../src/components/jetstream/index.ts';
import { BrokerWorld, type BrokerWorldOptions, until } from '../../support/broker-world.ts';
import { ask, hasNatsUrl, NatsForTests } from './nats-world.ts';

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** What daprd does on the wire, by a client that knows nothing of us. */
class DaprdOnTheWire {
  readonly #raw: NatsConnection;
  readonly received: Msg[] = [];

  constructor(raw: NatsConnection) {
    this.#raw = raw;
  }

  /** An event that it wraps: the ID is all that it tells beside the body. */
  async publish(topic: string, data: unknown): Promise<object> {
    const event = {
      ...{ data, datacontenttype: 'application/json', id: randomUUID(), pubsubname: 'pubsub', source: 'daprd' },
      ...{ specversion: '1.0', time: '2026-11-22T20:00:00Z', topic, traceid: TRACE, traceparent: TRACE },
      ...{ tracestate: '', type: 'com.dapr.event.sent' },
    };
    const given = headers();
    given.set('Nats-Msg-Id', event.id);
    await this.#raw.request(topic, JSON.stringify(event), { timeout: 5_000, headers: given });
    return event;
  }

  async publishRaw(topic: string, data: Uint8Array): Promise<void> {
    await this.#raw.request(topic, data);
  }

  /** A durable push consumer, as it declares one. */
  async subscribe(stream: string, topic: string): Promise<void> {
    const [durable, inbox] = [`dappdur-${randomUUID()}`, `_INBOX.${randomUUID()}`];
    const config = {
      ...{ durable_name: durable, deliver_subject: inbox, deliver_policy: 'all', ack_policy: 'explicit' },
      ...{ ack_wait: 30_000_000_000, max_ack_pending: 1_000, filter_subject: topic },
    };
    await ask(this.#raw, `CONSUMER.DURABLE.CREATE.${stream}.${durable}`, { stream_name: stream, config });
    this.#raw.subscribe(inbox, {
      callback: (_error, message) => {
        this.received.push(message);
        message.respond('+ACK');
      },
    });
  }

  async take(count: number): Promise<readonly Msg[]> {
    await until(`daprd got ${count}`, () => this.received.length >= count);
    expect(this.received.length).toBe(count);
    return this.received;
  }
}

describe.skipIf(!hasNatsUrl())('with daprd on one server', () => {
  let server: NatsForTests;
  let raw: NatsConnection;
  beforeAll(async () => {
    server = await NatsForTests.start();
    raw = await server.raw();
  });
  afterAll(async () => {
    await raw?.close();
    await server?.[Symbol.asyncDispose]();
  });

  const start = (options: Omit<BrokerWorldOptions, 'component'>): Promise<BrokerWorld> =>
    BrokerWorld.start({ component: jetstreamPubSub('pubsub', { url: server.url }), ...options });
  /** A topic with a stream that an operator has made. */
  const newTopic = async (): Promise<string> => {
    const topic = `interop-${randomUUID()}`;
    await ask(raw, `STREAM.CREATE.${topic}`, { name: topic, subjects: [topic] });
    return topic;
  };

  test.each([['daprd first'], ['insidecar first']])('each gets what the other publishes: %s', async (order) => {
    const [topic, daprd] = [await newTopic(), new DaprdOnTheWire(raw)];
    if (order === 'daprd first') await daprd.subscribe(topic, topic);
    await using world = await start({ subscriptions: [{ topic, route: '/in' }] });
    if (order !== 'daprd first') await daprd.subscribe(topic, topic);
    const event = await daprd.publish(topic, { from: 'daprd' });
    const [got] = await world.received('/in', 1);
    expect(got?.json).toEqual(event);
    expect(got?.headers['traceparent']).toContain('0af7651916cd43dd8448eb211c80319c');
    const own = { traceparent: TRACE, 'content-type': 'application/json' };
    expect((await world.publish(topic, '{"from":"insidecar"}', { headers: own })).status).toBe(204);
    const [, sent] = await daprd.take(2);
    const written = JSON.parse(sent?.string() ?? '') as Record<string, unknown>;
    expect(written).toMatchObject({ specversion: '1.0', topic, pubsubname: 'pubsub', data: { from: 'insidecar' } });
    expect(String(written['traceparent'])).toContain('0af7651916cd43dd8448eb211c80319c');
    expect(sent?.subject).toBe(topic);
    expect(sent?.headers?.get('Nats-Msg-Id')).toBe(`${String(written['id'])}@${topic}`);
    expect(JSON.parse(sent?.headers?.get('Insidecar') ?? '')).toMatchObject({ i: written['id'] });
    expect(sent?.headers?.keys().sort()).toEqual(['Insidecar', 'Nats-Msg-Id']);
  });

  test('raw payloads pass in both directions', async () => {
    const [topic, daprd] = [await newTopic(), new DaprdOnTheWire(raw)];
    await daprd.subscribe(topic, topic);
    await using world = await start({ subscriptions: [{ topic, route: '/in', metadata: { rawPayload: 'true' } }] });
    const bytes = Buffer.from([0, 255, 0x7b]);
    await daprd.publishRaw(topic, bytes);
    expect((await world.received('/in', 1))[0]?.bytes.equals(bytes)).toBe(true);
    await world.publish(topic, bytes, {
      query: 'metadata.rawPayload=true',
      headers: { 'content-type': 'application/octet-stream' },
    });
    const [, sent] = await daprd.take(2);
    expect(Buffer.from(sent?.data ?? []).equals(bytes)).toBe(true);
  });

  test('a dead letter in the stream of its topic is kept, though it has the same ID', async () => {
    const stream = `interop-${randomUUID()}`;
    await ask(raw, `STREAM.CREATE.${stream}`, { name: stream, subjects: [`${stream}.*`] });
    const [topic, deadLetterTopic, daprd] = [`${stream}.in`, `${stream}.dead`, new DaprdOnTheWire(raw)];
    await using world = await start({
      subscriptions: [
        { topic, route: '/in', deadLetterTopic, retry: { maxRetries: 0 } },
        { topic: deadLetterTopic, route: '/dead' },
      ],
      answer: ({ path }) => (path === '/in' ? { status: 500 } : {}),
    });
    await world.publish(topic, { from: 'insidecar' });
    const event = await daprd.publish(topic, { from: 'daprd' });
    const dead = await world.received('/dead', 2);
    expect(dead.map(({ data }) => (data as { from: string }).from).sort()).toEqual(['daprd', 'insidecar']);
    expect(dead.map(({ json }) => json['id'])).toContain((event as { id: string }).id);
  });

  test('two applications each get 50 of daprd, and daprd gets 50 of each once', async () => {
    const [topic, daprd] = [await newTopic(), new DaprdOnTheWire(raw)];
    await daprd.subscribe(topic, topic);
    await using one = await start({ subscriptions: [{ topic, route: '/in' }] });
    await using other = await start({ subscriptions: [{ topic, route: '/in' }] });
    for (let id = 0; id < 50; id++) {
      await daprd.publish(topic, { id });
      await one.publish(topic, { id: 50 + id });
      await other.publish(topic, { id: 100 + id });
    }
    const all = Array.from({ length: 150 }, (_, id) => id);
    for (const world of [one, other]) {
      const got = await world.received('/in', 150);
      expect(got.map(({ data }) => (data as { id: number }).id).sort((a, b) => a - b)).toEqual(all);
    }
    const bodies = (await daprd.take(150)).map((message) => message.json<{ data: { id: number } }>().data.id);
    expect(bodies.sort((a, b) => a - b)).toEqual(all);
  });

  test('a subscription with wildcards gets all subjects that it matches, and each message tells its own', async () => {
    const [stream, daprd] = [`interop-${randomUUID()}`, new DaprdOnTheWire(raw)];
    await ask(raw, `STREAM.CREATE.${stream}`, { name: stream, subjects: [`${stream}.>`] });
    await using world = await start({
      subscriptions: [
        { topic: `${stream}.*.temperature`, route: '/in' },
        { topic: `${stream}.cellar.>`, route: '/cellar' },
      ],
    });
    await daprd.publish(`${stream}.kitchen.temperature`, 21);
    await daprd.publish(`${stream}.kitchen.humidity`, 40);
    await world.publish(`${stream}.cellar.temperature`, 12);
    await world.publish(`${stream}.*.temperature`, 0);
    const got = await world.received('/in', 3);
    expect(got.map(({ data, headers }) => [data, headers['topic']])).toEqual([
      [21, `${stream}.kitchen.temperature`],
      [12, `${stream}.cellar.temperature`],
      [0, `${stream}.*.temperature`],
    ]);
    await world.received('/cellar', 1);
  });

  test('a subscription with wildcards over several streams, or none, says what to do', async () => {
    const prefix = `interop-${randomUUID()}`;
    for (const name of ['a', 'b'])
      await ask(raw, `STREAM.CREATE.${prefix}-${name}`, { name: `${prefix}-${name}`, subjects: [`${prefix}.${name}`] });
    const topics = [`${prefix}.*`, `${prefix}.none.*`];
    await using world = await start({ subscriptions: topics.map((topic) => ({ topic, route: '/in' })) });
    const log = (): string => JSON.stringify(world.logger.at('error'));
    await until('both are told', () => /several streams .* name one/.test(log()) && /no stream .* exists/.test(log()));
  });
});

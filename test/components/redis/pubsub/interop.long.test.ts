import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RedisArgument } from '../../../../src/components/redis/driver.ts';
import { redisPubSub } from '../../../../src/components/redis/index.ts';
import { acknowledge, Collector, textMessage } from '../../../../src/kit/collector.ts';
import { BrokerWorld, until } from '../../../support/broker-world.ts';
import { hasSharedRedis, sharedRedis } from '../given-redis.ts';
import { openPubSub, rawCommand } from './open-pubsub.ts';

/** An event as daprd writes it into the field `data`. */
const EVENT = {
  data: { orderId: 1 },
  datacontenttype: 'application/json',
  id: '5bb2a1a1-6b2a-4b0c-8a43-2d9f4cba7d14',
  pubsubname: 'pubsub',
  source: 'dapr-app',
  specversion: '1.0',
  time: '2026-01-01T00:00:00Z',
  topic: 'orders',
  traceid: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'a=b',
  type: 'com.dapr.event.sent',
};

describe.runIf(hasSharedRedis())('pub/sub in Redis beside a client that knows nothing of it', () => {
  let server: Awaited<ReturnType<typeof sharedRedis>>;
  let topic: string;
  beforeAll(async () => {
    server = await sharedRedis();
  });
  afterAll(() => server[Symbol.asyncDispose]());
  const command = (...words: readonly RedisArgument[]): Promise<unknown> => rawCommand(server.port, ...words);
  const define = (): ReturnType<typeof redisPubSub> =>
    redisPubSub('pubsub', { url: `redis://127.0.0.1:${server.port}` });
  const newTopic = (): string => {
    topic = `interop-${randomUUID()}`;
    return topic;
  };
  /** What daprd does with a message of its subscription. */
  const daprReads = async (group: string): Promise<readonly [string, readonly string[]][]> => {
    const reply = await command('XREADGROUP', 'GROUP', group, group, 'COUNT', '100', 'STREAMS', topic, '>');
    const [stream] = (reply ?? []) as [string, [string, string[]][]][];
    return stream?.[1] ?? [];
  };
  const daprWrites = (event: object, metadata = '{}'): Promise<unknown> =>
    command('XADD', topic, '*', 'data', JSON.stringify(event), 'metadata', metadata);

  test('an event is written with the fields of daprd, and one of ours', async () => {
    newTopic();
    await command('XGROUP', 'CREATE', topic, 'dapr-app', '0', 'MKSTREAM');
    await using world = await BrokerWorld.start({ component: define(), appId: 'orders' });
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const headers = { traceparent, 'content-type': 'application/json' };
    const query = 'metadata.color=red&metadata.ttlInSeconds=60';
    expect((await world.publish(topic, '{"orderId":1}', { query, headers })).status).toBe(204);
    const [[, fields = []] = []] = await daprReads('dapr-app');
    expect(fields.filter((_, index) => index % 2 === 0)).toEqual(['data', 'metadata', 'insidecar']);
    const [, data = '', , metadata = '', , header = ''] = fields;
    expect(JSON.parse(metadata)).toEqual({ color: 'red', ttlInSeconds: '60' });
    const event = JSON.parse(data) as typeof EVENT;
    expect(event).toMatchObject({ data: { orderId: 1 }, specversion: '1.0', source: 'orders', topic });
    expect(event.traceparent.slice(0, 35)).toBe(traceparent.slice(0, 35));
    expect(JSON.parse(header)).toMatchObject({ i: event.id });
  });

  test('without metadata, the field is an empty object; a raw payload is its bytes', async () => {
    newTopic();
    await command('XGROUP', 'CREATE', topic, 'dapr-app', '0', 'MKSTREAM');
    await using world = await BrokerWorld.start({ component: define() });
    await world.publish(topic, 'plain', { headers: { 'content-type': 'text/plain' } });
    await world.publish(topic, 'raw', { query: 'metadata.rawPayload=true' });
    const [[, event = []] = [], [, raw = []] = []] = await daprReads('dapr-app');
    expect(event.slice(2, 4)).toEqual(['metadata', '{}']);
    expect(raw.slice(0, 4)).toEqual(['data', 'raw', 'metadata', '{"rawPayload":"true"}']);
  });

  test('an event of daprd is delivered as it is, with its trace and metadata', async () => {
    newTopic();
    await daprWrites({ ...EVENT, topic }, '{"color":"red"}');
    await using component = Object.assign(await openPubSub(server.port), {
      [Symbol.asyncDispose]: () => component.close(),
    });
    const consumer = await Collector.join(component, { topic }, acknowledge);
    const [delivery] = await consumer.expect(1);
    expect(JSON.parse(Buffer.from(delivery?.message.data ?? []).toString())).toEqual({ ...EVENT, topic });
    expect(delivery?.message).toMatchObject({
      id: EVENT.id,
      raw: false,
      trace: { traceparent: EVENT.traceparent, tracestate: 'a=b' },
    });
    expect({ ...delivery?.message.metadata }).toEqual({ color: 'red' });
  });

  test('an entry without data is an object of its fields, with the ID of the entry', async () => {
    newTopic();
    const id = await command('XADD', topic, '*', 'sensor', '7', '__proto__', 'own');
    const component = await openPubSub(server.port);
    const consumer = await Collector.join(component, { topic }, acknowledge);
    const [delivery] = await consumer.expect(1);
    expect(consumer.texts).toEqual(['{"sensor":"7","__proto__":"own"}']);
    expect(delivery?.message).toMatchObject({ id, raw: true, contentType: 'application/json' });
    await component.close();
  });

  test.each([
    ['Dapr', true],
    ['this side', false],
  ])('50 messages each way, the group declared by %s first', async (_who, isDaprFirst) => {
    newTopic();
    const subscriptions = [{ topic, route: '/in' }];
    if (isDaprFirst) {
      await command('XGROUP', 'CREATE', topic, 'dapr-app', '0', 'MKSTREAM');
      await command('XGROUP', 'CREATE', topic, 'orders', '0', 'MKSTREAM');
    }
    await using world = await BrokerWorld.start({ component: define(), appId: 'orders', subscriptions });
    if (!isDaprFirst) await command('XGROUP', 'CREATE', topic, 'dapr-app', '0', 'MKSTREAM');
    for (let at = 0; at < 50; at++) await daprWrites({ ...EVENT, id: `d${at}`, topic });
    await world.received('/in', 50);
    for (let at = 0; at < 50; at++) await world.publish(topic, { at });
    expect(await daprReads('dapr-app')).toHaveLength(100);
    await world.received('/in', 100);
  });

  test('100 messages of one group are shared with daprd, each delivered once', async () => {
    newTopic();
    const component = await openPubSub(server.port);
    const consumer = await Collector.join(component, { topic, group: 'shared', maxInFlight: 5 });
    for (let at = 0; at < 100; at++) await daprWrites({ ...EVENT, id: `d${at}`, topic });
    const theirs: string[] = [];
    const ours = (): readonly string[] => consumer.deliveries.map(({ message }) => message.id);
    await until('each message is with somebody', async () => {
      const reply = await command('XREADGROUP', 'GROUP', 'shared', 'shared', 'COUNT', '5', 'STREAMS', topic, '>');
      for (const [, entries] of (reply ?? []) as [string, [string, string[]][]][])
        for (const [id, [, data = '']] of entries) {
          theirs.push((JSON.parse(data) as { id: string }).id);
          await command('XACK', topic, 'shared', id);
        }
      await Promise.all(consumer.deliveries.map((delivery) => delivery.ack()));
      return theirs.length + ours().length >= 100;
    });
    expect(new Set([...theirs, ...ours()]).size).toBe(100);
    expect(theirs.length + ours().length).toBe(100);
    expect(Math.min(theirs.length, ours().length)).toBeGreaterThan(0);
    await component.close();
  });

  test('what daprd has not acknowledged in time is taken over, and nothing of a message in process', async () => {
    newTopic();
    await command('XGROUP', 'CREATE', topic, 'g', '0', 'MKSTREAM');
    await daprWrites({ ...EVENT, topic });
    await daprReads('g');
    const component = await openPubSub(server.port, { processingTimeout: 3_000 });
    const consumer = await Collector.join(component, { topic, group: 'g' });
    await until('it is taken over', () => consumer.deliveries.length > 0);
    expect(consumer.deliveries[0]?.attempt).toBe(2);
    // Dapr takes over what is idle for its processing time, while the handler takes seven seconds.
    for (let look = 0; look < 70; look++) {
      const [, claimed] = (await command('XAUTOCLAIM', topic, 'g', 'g', '3000', '0')) as [string, unknown[]];
      expect(claimed).toEqual([]);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await consumer.deliveries[0]?.ack();
    expect(await command('XPENDING', topic, 'g')).toEqual([0, null, null, null]);
    await component.close();
  });

  test('a message that is returned at the end can be claimed by daprd at once', async () => {
    newTopic();
    const component = await openPubSub(server.port);
    const consumer = await Collector.join(component, { topic, group: 'g' });
    await component.publish([textMessage(topic, 'a')]);
    await consumer.expect(1);
    await component.close();
    const [, claimed] = (await command('XAUTOCLAIM', topic, 'g', 'g', '60000', '0')) as [string, unknown[]];
    expect(claimed).toHaveLength(1);
  });
});

import { randomUUID } from 'node:crypto';
import { connectAsync, type IClientOptions, type IPublishPacket, type MqttClient } from 'mqtt';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RouteSubscription } from '../../../src/index.ts';
import { BrokerWorld, until } from '../../support/broker-world.ts';
import { hasBroker, MqttTestBroker } from './mqtt-test-broker.ts';

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** What daprd's publish of `{"id":7}` puts on the wire: the bare event, with QoS 1 and nothing beside it. */
function daprEvent(topic: string): Record<string, unknown> {
  return {
    data: { id: 7 },
    datacontenttype: 'application/json',
    id: randomUUID(),
    pubsubname: 'pubsub',
    source: 'billing',
    specversion: '1.0',
    time: '2026-11-22T12:00:00Z',
    topic,
    traceid: TRACEPARENT,
    traceparent: TRACEPARENT,
    tracestate: '',
    type: 'com.dapr.event.sent',
  };
}

/** A client that knows nothing of our code, with what it has received. */
class Other implements AsyncDisposable {
  readonly got: { readonly topic: string; readonly payload: Buffer; readonly packet: IPublishPacket }[] = [];
  readonly #client: MqttClient;

  private constructor(client: MqttClient) {
    this.#client = client;
    client.on('message', (topic, payload, packet) => this.got.push({ topic, payload, packet }));
  }

  static async connect(url: string, options: IClientOptions): Promise<Other> {
    return new Other(await connectAsync(url, options));
  }

  async subscribe(filter: string): Promise<void> {
    await this.#client.subscribeAsync(filter, { qos: 1 });
  }

  async publish(topic: string, data: string | Buffer, options: Parameters<MqttClient['publishAsync']>[2] = {}) {
    await this.#client.publishAsync(topic, data, { qos: 1, ...options });
  }

  async first(): Promise<(typeof this.got)[number]> {
    await until('the other client got a message', () => this.got.length > 0);
    const [first] = this.got;
    if (first === undefined) throw new Error('nothing');
    return first;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#client.endAsync();
  }
}

describe.runIf(hasBroker())('MQTT with other programs', () => {
  let broker: MqttTestBroker;
  beforeAll(async () => {
    broker = await MqttTestBroker.start();
  });
  afterAll(() => broker[Symbol.asyncDispose]());

  /** As daprd: MQTT 3.1.1, its consumer ID as client ID, a persistent session, QoS 1. */
  const daprd = (): Promise<Other> =>
    Other.connect(broker.url, { protocolVersion: 4, clientId: `daprd-${randomUUID()}`, clean: false });
  const start = (
    protocolVersion: 4 | 5,
    subscriptions: readonly Omit<RouteSubscription, 'pubsubName'>[] = [],
    appId = `app-${randomUUID()}`,
  ): Promise<BrokerWorld> => BrokerWorld.start({ component: broker.define({ protocolVersion }), subscriptions, appId });

  describe.each([5, 4] as const)('protocol version %s', (protocolVersion) => {
    test('what is published reaches a subscriber as daprd is one: the bare event', async () => {
      const topic = `interop-${randomUUID()}`;
      await using other = await daprd();
      await other.subscribe(topic);
      await using world = await start(protocolVersion, [], 'shop');
      const headers = { traceparent: TRACEPARENT, 'content-type': 'application/json' };
      await world.publish(topic, '{"id":7}', { headers, query: 'metadata.ttlInSeconds=60&metadata.color=red' });
      const { topic: at, payload, packet } = await other.first();
      expect([at, packet.qos, packet.retain, packet.dup]).toEqual([topic, 1, false, false]);
      expect(JSON.parse(payload.toString())).toMatchObject({
        ...{ specversion: '1.0', data: { id: 7 }, datacontenttype: 'application/json', source: 'shop', topic },
        ...{ pubsubname: 'pubsub', type: expect.stringMatching(/event.sent$/), id: expect.any(String) },
        ...{ traceparent: expect.stringContaining('0af7651916cd43dd8448eb211c80319c'), expiration: expect.any(String) },
      });
    });

    test('a raw payload is published as its bytes', async () => {
      const topic = `interop-${randomUUID()}`;
      await using other = await daprd();
      await other.subscribe(topic);
      await using world = await start(protocolVersion);
      const bytes = Buffer.from([0, 255, 10, 0xc3, 0x28]);
      await world.publish(topic, bytes, { query: 'metadata.rawPayload=true' });
      expect((await other.first()).payload.equals(bytes)).toBe(true);
    });

    test('what daprd publishes arrives unchanged, with its trace', async () => {
      const [topic, rawTopic] = [`interop-${randomUUID()}`, `interop-${randomUUID()}`];
      await using world = await start(protocolVersion, [
        { topic, route: '/in' },
        { topic: rawTopic, route: '/raw', metadata: { rawPayload: 'true' } },
      ]);
      await using other = await daprd();
      const event = daprEvent(topic);
      await other.publish(topic, JSON.stringify(event));
      await other.publish(rawTopic, Buffer.from([1, 2, 255]));
      const [got] = await world.received('/in', 1);
      expect(got?.json).toEqual(event);
      expect(String(got?.headers['traceparent'])).toContain('0af7651916cd43dd8448eb211c80319c');
      expect([...((await world.received('/raw', 1))[0]?.bytes ?? [])]).toEqual([1, 2, 255]);
    });

    test('an expired event of daprd is dropped', async () => {
      const topic = `interop-${randomUUID()}`;
      await using world = await start(protocolVersion, [{ topic, route: '/in' }]);
      await using other = await daprd();
      await other.publish(topic, JSON.stringify({ ...daprEvent(topic), expiration: '2020-01-01T00:00:00Z' }));
      await other.publish(topic, JSON.stringify(daprEvent(topic)));
      expect(await world.received('/in', 1)).toHaveLength(1);
    });

    test('daprd and a sidecar with the same app ID each get every message, since client IDs cannot be shared', async () => {
      const [topic, appId] = [`interop-${randomUUID()}`, `app-${randomUUID()}`];
      await using other = await Other.connect(broker.url, { protocolVersion: 4, clientId: appId, clean: false });
      await other.subscribe(topic);
      await using world = await start(protocolVersion, [{ topic, route: '/in' }], appId);
      for (let id = 0; id < 50; id++) await world.publish(topic, { id });
      await world.received('/in', 50);
      await until('the other got them', () => other.got.length === 50);
    });

    test('a subscription with wildcards gets all topics that it matches, and each message tells its own', async () => {
      const prefix = `interop-${randomUUID()}`;
      await using world = await start(protocolVersion, [
        { topic: `${prefix}/+/temperature`, route: '/in', metadata: { rawPayload: 'true' } },
      ]);
      await using other = await daprd();
      await other.publish(`${prefix}/kitchen/temperature`, '21');
      await other.publish(`${prefix}/kitchen/humidity`, '40');
      await other.publish(`${prefix}/cellar/temperature`, '12');
      await world.received('/in', 2);
      const query = 'metadata.rawPayload=true&metadata.note=two%0Alines';
      await world.publish(`${prefix}/attic/temperature`, 9, { query });
      const got = await world.received('/in', 3);
      expect(got.map(({ text, headers }) => [text, headers['mqtt-topic']])).toEqual([
        ['21', `${prefix}/kitchen/temperature`],
        ['12', `${prefix}/cellar/temperature`],
        ['9', `${prefix}/attic/temperature`],
      ]);
    });

    test('with retain, a later subscriber gets the last message', async () => {
      const topic = `interop-${randomUUID()}`;
      await using world = await start(protocolVersion);
      for (const id of [1, 2]) await world.publish(topic, { id }, { query: 'metadata.retain=true' });
      await world.publish(topic, { id: 3 });
      await using other = await daprd();
      await other.subscribe(topic);
      const { payload, packet } = await other.first();
      expect([packet.retain, JSON.parse(payload.toString()).data]).toEqual([true, { id: 2 }]);
      const answer = await world.publish(topic, { id: 4 }, { query: 'metadata.retain=perhaps' });
      expect([answer.status, answer.text]).toEqual([500, expect.stringContaining('metadata retain is \\"perhaps\\"')]);
    });
  });

  test('MQTT 5 carries metadata as user properties, the content type and the expiry, in both directions', async () => {
    const topic = `interop-${randomUUID()}`;
    await using other = await Other.connect(broker.url, { protocolVersion: 5 });
    await other.subscribe(topic);
    await using world = await start(5, [{ topic, route: '/in', metadata: { rawPayload: 'true' } }]);
    await world.publish(topic, 'ours', {
      query: 'metadata.rawPayload=true&metadata.color=red&metadata.ttlInSeconds=60',
      headers: { 'content-type': 'text/x-own' },
    });
    const { properties } = (await other.first()).packet;
    expect(properties).toMatchObject({ contentType: 'text/x-own', userProperties: { color: 'red' } });
    expect(properties?.messageExpiryInterval).toBeGreaterThan(50);
    const userProperties = { color: ['blue', 'green'], 'content-type': 'not a header' };
    await other.publish(topic, 'theirs', { properties: { contentType: 'text/plain', userProperties } });
    const [, got] = await world.received('/in', 2);
    expect([got?.text, got?.headers['content-type'], got?.headers['color']]).toEqual(['theirs', 'text/plain', 'blue']);
  });

  test('metadata that nobody could publish do not keep a message from becoming a dead letter', async () => {
    const [topic, deadLetterTopic] = [`interop-${randomUUID()}`, `interop-${randomUUID()}`];
    await using world = await BrokerWorld.start({
      component: broker.define(),
      subscriptions: [
        { topic, route: '/in', deadLetterTopic, retry: { maxRetries: 0 } },
        { topic: deadLetterTopic, route: '/dead' },
      ],
      answer: ({ path }) => (path === '/in' ? { status: 500 } : {}),
    });
    await using other = await Other.connect(broker.url, { protocolVersion: 5 });
    const userProperties = { retain: 'perhaps', long: 'ü'.repeat(30_000), insidecar: '{"i":7}' };
    await other.publish(topic, JSON.stringify(daprEvent(topic)), { properties: { userProperties } });
    const [dead] = await world.received('/dead', 1);
    expect(dead?.data).toEqual({ id: 7 });
  });

  test.each([
    ['a/+/b', 'wildcards of subscriptions'],
    ['a/#', 'wildcards of subscriptions'],
    ['$share/group/topic', 'belong to the broker'],
    ['$SYS/broker', 'belong to the broker'],
    ['zero\0', 'a control character'],
    ['line\nbreak', 'a control character'],
    ['control\u0085', 'a control character'],
    ['none\ufffe', 'a noncharacter'],
    ['half\ud800', 'half of a surrogate pair'],
    ['x'.repeat(65_536), 'it has 65536 bytes: expected at most 65535'],
  ])('nothing is published to %.20j', async (topic, problem) => {
    const component = await broker.open();
    const message = { id: '1', data: Buffer.from('x'), contentType: 'text/plain', raw: true, metadata: {} };
    const failures = await component.publish([
      { ...message, topic },
      { ...message, topic: 'fine' },
    ]);
    expect(failures).toHaveLength(1);
    expect(failures[0]?.index).toBe(0);
    expect(failures[0]?.error.message).toContain(problem);
    await component.close();
  });

  test.each(['line\nbreak', 'none\ufffe', 'none\ufdd0', 'none\u{1ffff}', 'half\ud800'])(
    'metadata with %j and a content type with it do not end the connection',
    async (text) => {
      const component = await broker.open();
      const metadata = { [text]: 'value', name: text };
      const message = {
        id: '1',
        topic: 'fine',
        data: Buffer.from('x'),
        contentType: `text/${text}`,
        raw: true,
        metadata,
      };
      expect(await component.publish([message])).toEqual([]);
      await component.close();
    },
  );
});

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PubSubDefinition } from '../../src/kit/index.ts';
import { brokerOddities } from './broker-oddities.ts';
import { BrokerWorld, type BrokerWorldOptions, pause, until } from './broker-world.ts';
import { freePort } from './http.ts';
import { TcpProxy } from './tcp-proxy.ts';

/** A broker on which the features of the building block are tested. */
export interface BrokerUnderTest extends AsyncDisposable {
  /** Where it listens on 127.0.0.1. */
  readonly port: number;
  /** Makes the component `pubsub` for a broker on 127.0.0.1, at `port` or at another that leads to it. */
  define(options?: {
    readonly port?: number;
    readonly publishTimeout?: number;
    readonly allowedTopics?: readonly string[];
  }): PubSubDefinition;
  /** Publishes bytes as a program does that knows neither us nor Dapr. */
  publishForeign(topic: string, data: Uint8Array): Promise<void>;
  /** Prepares a topic before its first use, for brokers that need that. */
  createTopic?(topic: string): Promise<void>;
}

/** What a broker does not have. */
export interface BrokerLacks {
  /** Groups keep no messages while nobody consumes. */
  readonly retention?: true;
  /** Only the topic and the bytes of a message are carried. */
  readonly metadata?: true;
  /** Why consumers of one group do not share its messages. */
  readonly sharing?: string;
}

const RAW = { metadata: { rawPayload: 'true' } };
const QUICK = { delay: 20, maxDelay: 50 };

/** The features of the pub/sub building block on a broker, with a sidecar, over HTTP. */
export function brokerFeatures(name: string, open: () => Promise<BrokerUnderTest>, lacks: BrokerLacks = {}): void {
  describe(`pub/sub on ${name}`, () => {
    let broker: BrokerUnderTest;
    beforeAll(async () => {
      broker = await open();
    }, 90_000);
    afterAll(() => broker?.[Symbol.asyncDispose]());

    const newTopic = async (): Promise<string> => {
      const topic = `features-${randomUUID()}`;
      await broker.createTopic?.(topic);
      return topic;
    };
    const start = (
      options: Omit<BrokerWorldOptions, 'component'> & { component?: PubSubDefinition },
    ): Promise<BrokerWorld> => BrokerWorld.start({ component: broker.define(), ...options });

    test('an event reaches each application once, with its trace and metadata', async () => {
      const topic = await newTopic();
      await using billing = await start({ subscriptions: [{ topic, route: '/in' }] });
      await using shipping = await start({ subscriptions: [{ topic, route: '/in' }] });
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
      const headers = { traceparent, 'content-type': 'application/json' };
      const answer = await billing.publish(topic, '{"id":12345678901234567890}', {
        query: 'metadata.color=red',
        headers,
      });
      expect([answer.status, answer.text]).toEqual([204, '']);
      for (const world of [billing, shipping]) {
        const [got] = await world.received('/in', 1);
        const carried = lacks.metadata ? {} : { color: 'red' };
        expect(got?.headers).toMatchObject({ 'content-type': 'application/cloudevents+json', ...carried });
        expect(got?.text).toContain('12345678901234567890');
        expect(String(got?.json['traceparent'])).toContain('0af7651916cd43dd8448eb211c80319c');
      }
    });

    test.skipIf(lacks.sharing !== undefined)('two sidecars of one application share its messages', async () => {
      const [topic, appId] = [await newTopic(), `app-${randomUUID()}`];
      const options = { appId, subscriptions: [{ topic, route: '/in' }] };
      await using one = await start(options);
      await using other = await start(options);
      for (let id = 0; id < 40; id++) await one.publish(topic, { id });
      const all = (): number[] =>
        [...one.app.at('/in'), ...other.app.at('/in')].map(({ data }) => (data as { id: number }).id);
      await until('40 were delivered', () => all().length >= 40);
      await pause(200);
      expect(all().sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, id) => id));
    });

    test('with concurrency 1, order holds across retries', async () => {
      const topic = await newTopic();
      await using world = await start({
        subscriptions: [{ topic, route: '/in', concurrency: 1, retry: QUICK }],
        answer: ({ data }, nth) => ((data as { id: number }).id === 1 && nth < 4 ? { status: 500 } : {}),
      });
      for (let id = 0; id < 5; id++) await world.publish(topic, { id });
      const got = await world.received('/in', 7);
      expect(got.map(({ data }) => (data as { id: number }).id)).toEqual([0, 1, 1, 1, 2, 3, 4]);
    });

    test('a message that the application refuses comes again, and others do not wait for it', async () => {
      const topic = await newTopic();
      await using world = await start({
        subscriptions: [{ topic, route: '/in', concurrency: 2, retry: { delay: 600, maxDelay: 600 } }],
        answer: ({ data }, nth) => (data === 'refused' && nth === 1 ? { status: 500 } : {}),
      });
      await world.publish(topic, 'refused');
      await until('it was refused', () => world.app.at('/in').length === 1);
      await world.publish(topic, 'other');
      const got = await world.received('/in', 3);
      expect(got.map(({ data }) => data)).toEqual(['refused', 'other', 'refused']);
    });

    test.skipIf(lacks.retention)(
      'messages wait for a subscriber that is away, but not longer than their TTL',
      async () => {
        const [topic, appId] = [await newTopic(), `app-${randomUUID()}`];
        const options = { appId, subscriptions: [{ topic, route: '/in' }] };
        await (await start(options))[Symbol.asyncDispose]();
        await using publisher = await start({});
        await publisher.publish(topic, 'expires', { query: 'metadata.ttlInSeconds=1' });
        await publisher.publish(topic, 'stays');
        await publisher.publish(topic, 'stays too', { query: 'metadata.ttlInSeconds=600' });
        await pause(1_200);
        await using subscriber = await start(options);
        const got = await subscriber.received('/in', 2);
        expect(got.map(({ data }) => data)).toEqual(['stays', 'stays too']);
      },
    );

    test('entries of a bulk publish arrive in one bulk delivery or more', async () => {
      const topic = await newTopic();
      const bulkSubscribe = { enabled: true, maxMessagesCount: 10, maxAwaitDuration: 300 };
      await using world = await start({
        subscriptions: [{ topic, route: '/in', bulkSubscribe }],
        answer: ({ entries }) => ({
          body: { statuses: entries.map(({ entryId }) => ({ entryId, status: 'SUCCESS' })) },
        }),
      });
      const entries = ['a', 'b', 'c'].map((event) => ({ entryId: event, event, contentType: 'text/plain' }));
      expect((await world.publishBulk(topic, entries)).status).toBe(204);
      const events = (): unknown[] =>
        world.app.at('/in').flatMap((got) => got.entries.map(({ event }) => event['data']));
      await until('all entries arrived', () => events().length >= 3);
      expect(events()).toEqual(['a', 'b', 'c']);
    });

    test('a message that keeps failing becomes a dead letter with its bytes and its origin', async () => {
      const [topic, deadLetterTopic] = [await newTopic(), await newTopic()];
      await using world = await start({
        subscriptions: [
          { topic, route: '/in', deadLetterTopic, retry: { ...QUICK, maxRetries: 2 } },
          { topic: deadLetterTopic, route: '/dead' },
        ],
        answer: ({ path }) => (path === '/in' ? { status: 503 } : {}),
      });
      await world.publish(topic, { id: 1 });
      const [dead] = await world.received('/dead', 1);
      const attempts = await world.received('/in', 3);
      expect(dead?.text).toBe(attempts[0]?.text);
      if (lacks.metadata) return;
      expect(dead?.headers).toMatchObject({ 'sidecar-dead-letter-topic': topic, 'sidecar-dead-letter-attempts': '3' });
    });

    test('a raw payload arrives as bytes with its content type', async () => {
      const topic = await newTopic();
      await using world = await start({ subscriptions: [{ topic, route: '/in', ...RAW }] });
      const bytes = Buffer.from([0, 255, 10, 0xc3, 0x28]);
      const headers = { 'content-type': 'application/x-own' };
      await world.publish(topic, bytes, { query: 'metadata.rawPayload=true', headers });
      const [got] = await world.received('/in', 1);
      expect(got?.bytes.equals(bytes)).toBe(true);
      expect(got?.headers['content-type']).toBe(lacks.metadata ? 'application/octet-stream' : 'application/x-own');
    });

    test('bytes and events of other programs are delivered', async () => {
      const [topic, rawTopic] = [await newTopic(), await newTopic()];
      await using world = await start({
        subscriptions: [
          { topic, route: '/event' },
          { topic: rawTopic, route: '/raw', ...RAW },
        ],
      });
      const event = { specversion: '1.0', type: 'x', source: 'elsewhere', id: 'e1', data: { a: 1 } };
      await broker.publishForeign(topic, Buffer.from(JSON.stringify(event)));
      await broker.publishForeign(rawTopic, Buffer.from('hello'));
      expect((await world.received('/event', 1))[0]?.json).toEqual(event);
      expect((await world.received('/raw', 1))[0]?.text).toBe('hello');
    });

    test('with Dapr’s wire, a JSON object of another program is delivered as it is', async () => {
      const topic = await newTopic();
      await using world = await start({ subscriptions: [{ topic, route: '/in' }], options: { wire: 'dapr' } });
      await broker.publishForeign(topic, Buffer.from('{"orderId":7}'));
      const [got] = await world.received('/in', 1);
      expect([got?.headers['content-type'], got?.text]).toEqual(['application/cloudevents+json', '{"orderId":7}']);
    });

    test('scopes of topics hold', async () => {
      const topic = await newTopic();
      await using world = await start({ component: broker.define({ allowedTopics: [topic] }) });
      expect((await world.publish(topic, 'x')).status).toBe(204);
      expect((await world.publish(`${topic}-other`, 'x')).error).toEqual([403, 'ERR_PUBSUB_FORBIDDEN']);
    });

    test('a publish fails in time while the broker is silent, and works again afterwards', async () => {
      const topic = await newTopic();
      await using proxy = await TcpProxy.start(broker.port);
      await using world = await start({
        component: broker.define({ port: proxy.port, publishTimeout: 800 }),
        subscriptions: [{ topic, route: '/in' }],
      });
      expect((await world.publish(topic, 'before')).status).toBe(204);
      proxy.isBlackHole = true;
      const startedAt = performance.now();
      const answer = await world.publish(topic, 'lost in the hole');
      expect(answer.error).toEqual([500, 'ERR_PUBSUB_PUBLISH_MESSAGE']);
      expect(answer.text).toContain('800 ms');
      expect(performance.now() - startedAt).toBeLessThan(5_000);
      proxy.isBlackHole = false;
      proxy.cut();
      await until('publishes work again', async () => (await world.publish(topic, 'after')).status === 204, 30_000);
      await until('messages arrive again', () => world.app.at('/in').some(({ data }) => data === 'after'), 30_000);
    }, 60_000);

    test('a sidecar starts while the broker is down, and works when it is there', async () => {
      const [topic, port] = [await newTopic(), await freePort()];
      const startedAt = performance.now();
      await using world = await start({
        component: broker.define({ port, publishTimeout: 500 }),
        subscriptions: [{ topic, route: '/in' }],
      });
      expect(performance.now() - startedAt).toBeLessThan(10_000);
      const answer = await world.publish(topic, 'too early');
      expect(answer.error).toEqual([500, 'ERR_PUBSUB_PUBLISH_MESSAGE']);
      expect(answer.text).toMatch(/refused/i);
      await using proxy = await TcpProxy.start(broker.port, port);
      expect(proxy.port).toBe(port);
      await until('publishes work', async () => (await world.publish(topic, 'now')).status === 204, 30_000);
      // Again and again: brokers may drop what nobody has subscribed to yet.
      const arrives = async (): Promise<boolean> => {
        await world.publish(topic, 'now');
        return world.app.at('/in').some(({ data }) => data === 'now');
      };
      await until('messages arrive', arrives, 30_000);
    }, 60_000);

    brokerOddities(() => broker);
  });
}

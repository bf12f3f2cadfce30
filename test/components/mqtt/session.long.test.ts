import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { memoryState } from '../../../src/components/memory/memory-store.ts';
import { type MqttPubSubOptions, mqttPubSub } from '../../../src/components/mqtt/index.ts';
import type { ConsumerOptions, Delivery, PubSubComponent } from '../../../src/components/pubsub.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { pause, until } from '../../support/broker-world.ts';
import { freePort } from '../../support/http.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { hasBroker, MqttTestBroker } from './mqtt-test-broker.ts';
import { publishPacket, ScriptedBroker } from './scripted-broker.ts';

/** A consumer whose messages wait until a test settles them. */
class Holding {
  readonly deliveries: Delivery[] = [];

  async join(component: PubSubComponent, options: Partial<ConsumerOptions> = {}): Promise<this> {
    await component.subscribe({
      ...{ topic: 'topic', group: 'app', maxInFlight: 1_000, ordered: false, paused: false },
      ...options,
      deliver: (deliveries) => this.deliveries.push(...deliveries),
    });
    return this;
  }

  get texts(): string[] {
    return this.deliveries.map(({ message }) => Buffer.from(message.data).toString());
  }

  async first(count: number): Promise<readonly Delivery[]> {
    await until(`${count} messages were delivered`, () => this.deliveries.length >= count);
    return this.deliveries;
  }
}

function message(topic: string, text: string) {
  return { id: text, topic, data: Buffer.from(text), contentType: 'text/plain', raw: true, metadata: {} };
}

async function open(options: MqttPubSubOptions, logger = new RecordingLogger()): Promise<PubSubComponent> {
  const state = await memoryState().open({ clock: systemClock, logger });
  const definition = mqttPubSub('pubsub', options);
  return definition.open({ appId: 'app', clock: systemClock, logger, state, track: () => () => undefined });
}

let topics = 0;
const newTopic = (): string => `session-${process.pid}-${Date.now()}-${topics++}`;

describe.runIf(hasBroker())('a session on MQTT', () => {
  let broker: MqttTestBroker;
  beforeAll(async () => {
    broker = await MqttTestBroker.start();
  });
  afterAll(() => broker[Symbol.asyncDispose]());

  describe.each([5, 4] as const)('protocol version %s', (protocolVersion) => {
    test('a message in process is delivered once, though its connection breaks, and can be acknowledged after it', async () => {
      const topic = newTopic();
      await using proxy = await TcpProxy.start(broker.port);
      const logger = new RecordingLogger();
      const component = await open({ url: `mqtt://127.0.0.1:${proxy.port}`, protocolVersion }, logger);
      const consumer = await new Holding().join(component, { topic, maxInFlight: 1 });
      await component.publish(['a', 'b', 'c'].map((text) => message(topic, text)));
      const [first] = await consumer.first(1);
      proxy.cut();
      await until('it has connected again', () =>
        logger.at('info').some(({ message: text }) => text === 'connected to the server again'),
      );
      await pause(100);
      await first?.ack();
      await consumer.first(2);
      await consumer.deliveries[1]?.ack();
      await consumer.first(3);
      await component.close();
      expect(consumer.texts).toEqual(['a', 'b', 'c']);
      const after = await open({ url: broker.url, protocolVersion });
      const later = await new Holding().join(after, { topic });
      await later.first(1);
      await pause(100);
      expect(later.texts).toEqual(['c']);
      await after.close();
    });

    test('a message that is settled while there is no connection is not delivered again', async () => {
      const [topic, nowhere] = [newTopic(), await freePort()];
      await using proxy = await TcpProxy.start(broker.port);
      const component = await open({ url: `mqtt://127.0.0.1:${proxy.port}`, protocolVersion });
      const consumer = await new Holding().join(component, { topic });
      await component.publish([message(topic, 'a')]);
      const [first] = await consumer.first(1);
      proxy.target = nowhere;
      proxy.cut();
      await pause(100);
      await expect(first?.ack()).rejects.toThrow('connection');
      proxy.target = broker.port;
      await until('publishes work again', async () => (await component.publish([message(topic, 'b')])).length === 0);
      await consumer.first(2);
      await pause(200);
      expect(consumer.texts).toEqual(['a', 'b']);
      await consumer.deliveries[1]?.ack();
      await component.close();
      const after = await open({ url: broker.url, protocolVersion });
      const later = await new Holding().join(after, { topic });
      await pause(200);
      expect(later.texts).toEqual([]);
      await after.close();
    });

    test('a broker that falls silent is noticed, and a message that waits for its retry goes on waiting', async () => {
      const topic = newTopic();
      await using proxy = await TcpProxy.start(broker.port);
      const options = { url: `mqtt://127.0.0.1:${proxy.port}`, protocolVersion, keepAlive: 2_000 };
      const component = await open(options);
      const consumer = await new Holding().join(component, { topic });
      await component.publish([message(topic, 'a')]);
      const [first] = await consumer.first(1);
      await first?.retry(60_000);
      // The silent ones stay so; new ones are not.
      proxy.isBlackHole = true;
      await until('both connections are given up', () => proxy.connections === 0);
      proxy.isBlackHole = false;
      await until('publishes work again', async () => (await component.publish([message(topic, 'b')])).length === 0);
      await consumer.first(2);
      await component.close();
      expect(consumer.texts).toEqual(['a', 'b']);
    });

    test('messages are acknowledged in any order', async () => {
      const topic = newTopic();
      const component = await open({ url: broker.url, protocolVersion });
      const consumer = await new Holding().join(component, { topic });
      await component.publish(['a', 'b', 'c'].map((text) => message(topic, text)));
      const [, second, third] = await consumer.first(3);
      await third?.ack();
      await second?.ack();
      await component.close();
      const after = await open({ url: broker.url, protocolVersion });
      const later = await new Holding().join(after, { topic });
      await later.first(1);
      await pause(100);
      expect(later.texts).toEqual(['a']);
      await after.close();
    });

    test('two processes with one client ID: each says what to do, once, and they do not race', async () => {
      const topic = newTopic();
      const loggers = [new RecordingLogger(), new RecordingLogger()];
      const errors = (): number[] => loggers.map((logger) => logger.at('error').length);
      const both = await Promise.all(loggers.map((logger) => open({ url: broker.url, protocolVersion }, logger)));
      for (const component of both) await new Holding().join(component, { topic });
      await until('it is told', () => errors().some((count) => count > 0), 30_000);
      await pause(1_000);
      const lines = loggers.flatMap((logger) => logger.at('error'));
      expect(lines.length).toBeLessThanOrEqual(2);
      expect(lines[0]?.message).toContain('sharedSubscription');
      expect(lines[0]?.details).toMatchObject({ topic, clientId: expect.stringMatching(/^app-[0-9a-f]{22}$/) });
      await Promise.all(both.map((component) => component.close()));
    });

    test('the consumer ID stands for the app ID', async () => {
      const topic = newTopic();
      const options = { url: broker.url, protocolVersion, consumerId: newTopic() };
      const before = await open(options);
      await new Holding().join(before, { topic });
      await before.publish([message(topic, 'a')]);
      await before.close();
      const other = await open({ ...options, consumerId: newTopic() });
      const others = await new Holding().join(other, { topic });
      const after = await open(options);
      await (await new Holding().join(after, { topic })).first(1);
      expect(others.texts).toEqual([]);
      await Promise.all([other.close(), after.close()]);
    });
  });

  test('MQTT 5: the broker sends no more than receiveMaximum without an acknowledgement', async () => {
    const topic = newTopic();
    const component = await open({ url: broker.url, receiveMaximum: 5 });
    const consumer = await new Holding().join(component, { topic });
    await component.publish(Array.from({ length: 12 }, (_, index) => message(topic, String(index))));
    await consumer.first(5);
    await pause(100);
    expect(consumer.deliveries).toHaveLength(5);
    for (const delivery of consumer.deliveries.slice(0, 5)) await delivery.ack();
    await consumer.first(10);
    await component.close();
  });

  test('with cleanSession, a group keeps nothing while it is away', async () => {
    const topic = newTopic();
    const options = { url: broker.url, cleanSession: true };
    const before = await open(options);
    await new Holding().join(before, { topic });
    await before.close();
    const component = await open(options);
    await component.publish([message(topic, 'lost')]);
    const consumer = await new Holding().join(component, { topic });
    await component.publish([message(topic, 'kept')]);
    await consumer.first(1);
    expect(consumer.texts).toEqual(['kept']);
    await component.close();
  });
});

describe('a session on a broker with bad luck', () => {
  const RESUMED = { connack: (nth: number) => ({ sessionPresent: nth > 2 }) };

  test.each([
    ['the same message again', { dup: true, text: 'a', ...RESUMED }, ['a']],
    ['another message with its packet ID, though as a redelivery', { dup: true, text: 'b', ...RESUMED }, ['a', 'b']],
    ['an equal message, not a redelivery', { dup: false, text: 'a', ...RESUMED }, ['a', 'a']],
    ['an equal message after the session was lost', { dup: true, text: 'a' }, ['a', 'a']],
  ])('after a break: %s', async (_what, { dup, text, ...script }, expected) => {
    await using broker = await ScriptedBroker.start({
      ...script,
      protocolVersion: 4,
      subscribed: (visit, nth) => {
        visit.send(nth === 1 ? publishPacket(7, 'a') : publishPacket(7, text, dup));
        if (nth > 1) visit.send(publishPacket(8, 'end'));
      },
    });
    const component = await open({ url: broker.url, protocolVersion: 4 });
    const consumer = await new Holding().join(component);
    await consumer.first(1);
    (await broker.subscriber(1)).socket.destroy();
    await until('all has come', () => consumer.texts.includes('end'));
    expect(consumer.texts).toEqual([...expected, 'end']);
    await component.close();
  });

  test('no acknowledgement goes to another connection than that of the delivery', async () => {
    await using broker = await ScriptedBroker.start({
      protocolVersion: 4,
      connack: (nth) => ({ sessionPresent: nth > 2 }),
      subscribed: (visit, nth) => void (nth === 1 && visit.send(publishPacket(7, 'a'))),
    });
    const component = await open({ url: broker.url, protocolVersion: 4 });
    const consumer = await new Holding().join(component);
    const [first] = await consumer.first(1);
    (await broker.subscriber(1)).socket.destroy();
    const second = await broker.subscriber(2);
    await expect(first?.ack()).rejects.toThrow('connection');
    second.send(publishPacket(9, 'later'));
    await consumer.first(2);
    await consumer.deliveries[1]?.ack();
    await until('the acknowledgement is there', () => second.received.some(({ cmd }) => cmd === 'puback'));
    expect(second.received.filter(({ cmd }) => cmd === 'puback').map(({ messageId }) => messageId)).toEqual([9]);
    await component.close();
  });

  test('messages that a session sends before it is subscribed again are delivered and can be acknowledged', async () => {
    await using broker = await ScriptedBroker.start({ protocolVersion: 4, granted: 1 });
    const opening = open({ url: broker.url, protocolVersion: 4 });
    const component = await opening;
    const consumer = new Holding();
    const joined = consumer.join(component);
    await until('it has connected', () => broker.visits.length === 2);
    const visit = broker.visits[1];
    visit?.send(publishPacket(3, 'early'));
    await joined;
    const [first] = await consumer.first(1);
    await first?.ack();
    await until('the acknowledgement is there', () => visit?.received.some(({ cmd }) => cmd === 'puback') === true);
    await component.close();
  });

  test('a broker without a limit of its own fills no memory of a paused subscription', async () => {
    let sent = 0;
    await using broker = await ScriptedBroker.start({
      protocolVersion: 4,
      subscribed: (visit) => {
        const more = (): void => {
          while (sent < 60_000 && visit.send(publishPacket(++sent, 'x'.repeat(10_000))));
          if (sent < 60_000) visit.socket.once('drain', more);
        };
        more();
      },
    });
    const component = await open({ url: broker.url, protocolVersion: 4, receiveMaximum: 10 });
    await new Holding().join(component, { paused: true });
    let before = -1;
    await until('the broker can send no more', async () => {
      const stands = sent === before;
      before = sent;
      await pause(300);
      return stands;
    });
    expect(sent).toBeLessThan(5_000);
    await component.close();
  });

  test('a burst of QoS 0 beyond receiveMaximum: once it is settled, later messages come', async () => {
    await using broker = await ScriptedBroker.start({
      protocolVersion: 4,
      subscribed: (visit) => {
        for (let nth = 0; nth < 8; nth++)
          visit.send({ ...publishPacket(0, 'x'), qos: 0 } as Parameters<typeof visit.send>[0]);
      },
    });
    const component = await open({ url: broker.url, protocolVersion: 4, receiveMaximum: 5 });
    const consumer = await new Holding().join(component);
    for (const delivery of await consumer.first(8)) await delivery.ack();
    (await broker.subscriber(1)).send(publishPacket(9, 'later'));
    await consumer.first(9);
    expect(consumer.texts.at(-1)).toBe('later');
    await component.close();
  });

  test.each([
    [5, { granted: 135 }, 'refuses the subscription to "topic": not authorized (135)'],
    [4, { granted: 128 }, 'refuses the subscription to "topic": unspecified error (128)'],
    [5, { granted: 0 }, 'it grants QoS 0 only, which loses messages'],
    [4, { connack: () => ({ returnCode: 1 }) }, 'it does not speak this version of MQTT (132)'],
    [4, { connack: () => ({ returnCode: 2 }) }, 'the client ID is not valid (133)'],
    [5, { connack: () => ({ reasonCode: 135 }) }, 'refuses the connection: not authorized (135)'],
  ] as const)('version %s, %j: the error says why', async (protocolVersion, script, problem) => {
    await using broker = await ScriptedBroker.start({ protocolVersion, ...script });
    const component = await open({ url: broker.url, protocolVersion });
    await expect(new Holding().join(component)).rejects.toThrow(problem);
    await component.close();
  });

  test('a broker that ends sessions after a time is warned of', async () => {
    const connack = () => ({ properties: { sessionExpiryInterval: 3_600 } });
    await using broker = await ScriptedBroker.start({ protocolVersion: 5, connack });
    const logger = new RecordingLogger();
    const component = await open({ url: broker.url }, logger);
    await new Holding().join(component);
    expect(logger.at('warn')).toMatchObject([{ details: { topic: 'topic', seconds: 3_600 } }]);
    await component.close();
  });

  test('a dead letter that is too large with its origin is published without it', async () => {
    const connack = () => ({ properties: { maximumPacketSize: 2_000 } });
    await using broker = await ScriptedBroker.start({ protocolVersion: 5, connack });
    const component = await open({ url: broker.url });
    const deadLetter = {
      topic: 'orders',
      group: 'app',
      reason: 'x'.repeat(400),
      attempts: 3,
      deadAt: 1_750_000_000_000,
    };
    const published = component.publish([
      { ...message('topic', 'x'.repeat(1_700)), id: 'large', deadLetter },
      { ...message('topic', 'small'), deadLetter },
    ]);
    const packets = () => broker.visits[0]?.received.filter(({ cmd }) => cmd === 'publish') ?? [];
    await until('both were sent', () => packets().length === 2);
    for (const { messageId = 0 } of packets()) broker.visits[0]?.send({ cmd: 'puback', messageId });
    expect(await published).toEqual([]);
    expect(packets().map((packet) => JSON.stringify(packet).includes('orders'))).toEqual([false, true]);
    await component.close();
  });

  test('what a broker never confirms is sent again on the next connection, and not for ever', async () => {
    await using broker = await ScriptedBroker.start({ protocolVersion: 5 });
    const component = await open({ url: broker.url });
    const failures = component.publish([message('topic', 'a')]);
    for (let nth = 0; nth < 3; nth++) {
      await until('it was sent', () => broker.visits[nth]?.received.some(({ cmd }) => cmd === 'publish') === true);
      broker.visits[nth]?.socket.destroy();
    }
    expect((await failures)[0]?.error.message).toMatch(/cannot be reached|closed the connection/);
    await component.close();
  });
});

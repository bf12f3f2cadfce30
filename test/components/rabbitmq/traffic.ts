import { Socket } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { OutageLog } from '../../../src/components/outage-log.ts';
import { DelayQueues } from '../../../src/components/rabbitmq/delay-queues.ts';
import { loadAmqp } from '../../../src/components/rabbitmq/driver.ts';
import { RabbitConnection } from '../../../src/components/rabbitmq/rabbit-connection.ts';
import { RabbitTopology } from '../../../src/components/rabbitmq/rabbit-topology.ts';
import { RECONNECT } from '../../../src/components/reconnector.ts';
import { acknowledge, Collector, publishTexts, textMessage } from '../../../src/kit/collector.ts';
import { newTopic, numbers } from '../../../src/kit/pubsub-case.ts';
import { pause, until } from '../../support/broker-world.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { openComponent, queueState, serverAt, urlOf, withClient } from './broker.ts';

/** What happens to messages beside what every component does with them. */
export function traffic(port: () => number): void {
  describe('publishing', () => {
    test('a message to a topic without a queue is told of, and is no failure', async () => {
      const topic = newTopic();
      const { component, unsubscribed } = await openComponent(port());
      await publishTexts(component, topic, ['a', 'b']);
      expect(unsubscribed).toEqual([topic, topic]);
      await component.close();
    });

    test('what is published in one turn of the event loop goes out in few calls of the system', async () => {
      const topic = newTopic();
      const { component } = await openComponent(port());
      await publishTexts(component, topic, ['first']);
      const [one, many] = [vi.spyOn(Socket.prototype, '_write'), vi.spyOn(Socket.prototype, '_writev')];
      await publishTexts(component, topic, numbers(25));
      expect(one.mock.calls.length + many.mock.calls.length).toBeLessThan(12);
      one.mockRestore();
      many.mockRestore();
      await component.close();
    });

    test('a message that the broker refuses fails by itself', async () => {
      const [topic, other] = [newTopic(), newTopic()];
      const { component } = await openComponent(port());
      const consumer = await Collector.join(component, { topic: other }, acknowledge);
      const metadata = { maxLen: '1', queueType: 'classic' };
      await Collector.join(component, { topic, metadata, paused: true });
      // RabbitMQ confirms what it drops, unless the queue refuses it.
      await withClient(port(), async (connection) => {
        const channel = await connection.createChannel();
        const full = { 'x-max-length': 1, 'x-overflow': 'reject-publish' };
        await channel.assertQueue(`full-${topic}`, { arguments: full });
        await channel.bindQueue(`full-${topic}`, topic, '');
      });
      const failures = await component.publish([
        textMessage(topic, 'fits'),
        textMessage(topic, 'does not'),
        textMessage(other, 'x'),
      ]);
      expect(failures.map(({ index, error }) => [index, error.message])).toEqual([
        [1, expect.stringContaining('refuses the message')],
      ]);
      await consumer.expect(1);
      await component.close();
    });

    test('metadata that do not fit into a frame are a failure of that message', async () => {
      const topic = newTopic();
      const { component } = await openComponent(port());
      const consumer = await Collector.join(component, { topic }, acknowledge);
      const failures = await component.publish([
        textMessage(topic, 'large', { metadata: { much: 'x'.repeat(70_000) } }),
        textMessage(topic, 'small'),
      ]);
      expect(failures.map(({ index, error }) => [index, error.message])).toEqual([
        [0, expect.stringContaining('cannot be sent to RabbitMQ')],
      ]);
      await consumer.expect(1);
      await component.close();
    });

    test('an exchange that has gone is declared again, and nothing is lost', async () => {
      const [topic, other] = [newTopic(), newTopic()];
      const { component } = await openComponent(port());
      const consumer = await Collector.join(component, { topic: other }, acknowledge);
      await publishTexts(component, topic, ['first']);
      await withClient(port(), async (connection) => (await connection.createChannel()).deleteExchange(topic));
      const texts = numbers(50);
      const failures = await Promise.all(
        texts.map((text) => component.publish([textMessage(other, text), textMessage(topic, text)])),
      );
      expect(failures.flat()).toEqual([]);
      await until('all arrived', () => new Set(consumer.texts).size === 50);
      await withClient(port(), async (connection) => (await connection.createChannel()).checkExchange(topic));
      await component.close();
    });

    test('what a lost connection leaves unconfirmed is sent again', async () => {
      const topic = newTopic();
      await using proxy = await TcpProxy.start(port());
      const { component } = await openComponent(proxy.port);
      const subscriber = await openComponent(port());
      const consumer = await Collector.join(subscriber.component, { topic }, acknowledge);
      await publishTexts(component, topic, ['first']);
      proxy.answersLeft = 0;
      const published = component.publish([textMessage(topic, 'second')]);
      await pause(100);
      proxy.answersLeft = Number.POSITIVE_INFINITY;
      proxy.cut();
      expect(await published).toEqual([]);
      await until('it is there', () => consumer.texts.includes('second'));
      await component.close();
      await subscriber.component.close();
    });
  });

  describe('consuming', () => {
    test('a pause ends the consumption at the broker, where messages stay', async () => {
      const topic = newTopic();
      const { component } = await openComponent(port());
      const consumer = await Collector.join(component, { topic, group: 'orders' }, acknowledge);
      await until('it consumes', async () => (await queueState(port(), `orders-${topic}`)).consumerCount === 1);
      consumer.subscription.pause();
      await until('it does not', async () => (await queueState(port(), `orders-${topic}`)).consumerCount === 0);
      await publishTexts(component, topic, ['a', 'b', 'c']);
      expect(await queueState(port(), `orders-${topic}`)).toMatchObject({ messageCount: 3 });
      await component.close();
    });

    test('no more is fetched than can be taken soon', async () => {
      const topic = newTopic();
      const { component } = await openComponent(port());
      const consumer = await Collector.join(component, { topic, group: 'orders', maxInFlight: 3 });
      await publishTexts(component, topic, numbers(20));
      await consumer.expect(3);
      expect(await queueState(port(), `orders-${topic}`)).toMatchObject({ messageCount: 14 });
      await component.close();
    });

    test('messages that wait for a retry do not hold up others, however many they are', async () => {
      const topic = newTopic();
      const { component } = await openComponent(port());
      const consumer = await Collector.join(component, { topic, maxInFlight: 4 }, (delivery) => {
        void (Number(Buffer.from(delivery.message.data)) < 50 ? delivery.retry(30_000) : delivery.ack());
      });
      await publishTexts(component, topic, numbers(60));
      await until('the others arrived', () => consumer.deliveries.length >= 60);
      expect(consumer.texts.sort()).toEqual(numbers(60).sort());
      await component.close();
    });

    test('a message in process when the connection is lost is no second delivery', async () => {
      const topic = newTopic();
      await using proxy = await TcpProxy.start(port());
      const { component } = await openComponent(proxy.port);
      const consumer = await Collector.join(component, { topic, group: 'orders', maxInFlight: 2 });
      await publishTexts(component, topic, ['a', 'b', 'c', 'd']);
      const before = [...(await consumer.expect(2))];
      proxy.cut();
      await until('it consumes again', async () => (await queueState(port(), `orders-${topic}`)).consumerCount === 1);
      await consumer.expect(2);
      for (const delivery of before) await delivery.ack();
      const after = (await consumer.expect(4)).slice(2);
      expect(after.map(({ message, attempt }) => [message.id, attempt > 1])).toEqual([
        ['id-c', true],
        ['id-d', true],
      ]);
      for (const delivery of after) await delivery.ack();
      await component.close();
      expect(await queueState(port(), `orders-${topic}`)).toMatchObject({ messageCount: 0 });
    });

    test('a queue that is deleted is declared again', async () => {
      const topic = newTopic();
      const { component } = await openComponent(port());
      const consumer = await Collector.join(component, { topic, group: 'orders' }, acknowledge);
      await publishTexts(component, topic, ['a']);
      await consumer.expect(1);
      await withClient(port(), async (connection) => (await connection.createChannel()).deleteQueue(`orders-${topic}`));
      const arrives = async (): Promise<boolean> => {
        await publishTexts(component, topic, ['b']);
        return consumer.texts.includes('b');
      };
      await until('messages arrive again', arrives);
      await component.close();
    });

    test('a queue that another consumer has for itself is tried again with growing delays, until it is free', async () => {
      const topic = newTopic();
      const { component, logger } = await openComponent(port(), { queueType: 'classic' });
      const consumer = await Collector.join(component, { topic, group: 'orders', paused: true }, acknowledge);
      const refusals = () => logger.at('warn').filter(({ details }) => String(details['error']).includes('exclusive'));
      await withClient(port(), async (connection) => {
        const channel = await connection.createChannel();
        await channel.consume(`orders-${topic}`, () => undefined, { exclusive: true });
        const startedAt = performance.now();
        consumer.subscription.resume();
        await until('it has been refused five times', () => refusals().length >= 5);
        // The first time at once, then at least 50, 100 and 200 ms.
        expect(performance.now() - startedAt).toBeGreaterThan(340);
      });
      await publishTexts(component, topic, ['a']);
      await consumer.expect(1);
      await component.close();
    });

    test('a long retry waits at the broker, where it survives the process', async () => {
      const topic = newTopic();
      const { component } = await openComponent(port());
      const consumer = await Collector.join(component, { topic, group: 'orders' });
      await publishTexts(component, topic, ['a']);
      const [delivery] = await consumer.expect(1);
      await delivery?.retry(61_500);
      await component.close();
      expect(await queueState(port(), `orders-${topic}`)).toMatchObject({ messageCount: 0 });
      const waiting = `orders-${topic}.delay-62000`;
      await withClient(port(), async (connection) => {
        const channel = await connection.createChannel();
        const message = await channel.get(waiting);
        expect(message && [message.content.toString(), message.properties.headers?.['insidecar-attempts']]).toEqual([
          'a',
          1,
        ]);
        await channel.deleteQueue(waiting);
      });
    });

    test('the user of another program’s message is left out when it is sent again: RabbitMQ takes no other’s name', async () => {
      const topic = newTopic();
      const { component } = await openComponent(port());
      const consumer = await Collector.join(component, { topic, group: 'orders' });
      await withClient(port(), async (connection) => {
        const channel = await connection.createConfirmChannel();
        channel.publish(topic, '', Buffer.from('a'), { userId: 'guest', appId: 'other' });
        await channel.waitForConfirms();
        const [delivery] = await consumer.expect(1);
        await delivery?.retry(61_500);
        const message = await channel.get(`orders-${topic}.delay-62000`);
        expect(message && [message.properties.userId, message.properties.appId]).toEqual([undefined, 'other']);
        await channel.deleteQueue(`orders-${topic}.delay-62000`);
      });
      await component.close();
    });

    test('at the end, a message that cannot be sent again does not make another one come twice', async () => {
      const topic = newTopic();
      const { component } = await openComponent(port(), { queueType: 'classic' });
      const again = new Set<string>();
      await Collector.join(component, { topic, group: 'orders' }, (delivery) => {
        if (delivery.attempt === 1) return void delivery.retry(0);
        again.add(Buffer.from(delivery.message.data).toString());
      });
      await withClient(port(), async (connection) => {
        const channel = await connection.createConfirmChannel();
        // As long as the driver can send: there is no room for the number of its deliveries.
        channel.publish(topic, '', Buffer.from('long'), { headers: { x: 'x'.repeat(65_460) } });
        channel.publish(topic, '', Buffer.from('short'));
        await channel.waitForConfirms();
        await until('both came again', () => again.size === 2);
        await component.close();
        const texts: string[] = [];
        for (let message = await channel.get(`orders-${topic}`); message; ) {
          texts.push(message.content.toString());
          message = await channel.get(`orders-${topic}`);
        }
        expect(texts.sort()).toEqual(['long', 'short']);
      });
    });

    test('copies of a message that a lost connection leaves in process are all acknowledged', async () => {
      const topic = newTopic();
      await using proxy = await TcpProxy.start(port());
      const { component } = await openComponent(proxy.port);
      const consumer = await Collector.join(component, { topic, group: 'orders' });
      await withClient(port(), async (connection) => {
        const channel = await connection.createConfirmChannel();
        for (let copy = 0; copy < 2; copy++)
          channel.publish(topic, '', Buffer.from('a'), { headers: { 'insidecar-key': topic } });
        await channel.waitForConfirms();
      });
      await consumer.expect(2);
      proxy.cut();
      await until('it consumes again', async () => (await queueState(port(), `orders-${topic}`)).consumerCount === 1);
      await consumer.expect(2);
      await Promise.allSettled(consumer.deliveries.map((delivery) => delivery.ack()));
      await component.close();
      expect(await queueState(port(), `orders-${topic}`)).toMatchObject({ messageCount: 0 });
    });

    test('a delay queue hands its messages on when their time is over', async () => {
      const queue = newTopic();
      const server = serverAt({ url: urlOf(port()) });
      const amqp = await loadAmqp();
      const connection = new RabbitConnection({
        server: server.name,
        connect: () => amqp.connect(server.target, server.socket(amqp, 'test')),
        backoff: RECONNECT,
        random: Math.random,
        logger: new RecordingLogger(),
        outages: new OutageLog(new RecordingLogger(), server.name),
      });
      await connection.open();
      const delays = new DelayQueues(new RabbitTopology(connection), connection);
      await withClient(port(), async (client) => {
        const channel = await client.createConfirmChannel();
        await channel.assertQueue(queue, { arguments: { 'x-queue-type': 'quorum' } });
        const name = (await delays.queueFor(queue, 391)) ?? '';
        expect(name).toBe(`${queue}.delay-400`);
        const startedAt = performance.now();
        channel.sendToQueue(name, Buffer.from('x'));
        await channel.waitForConfirms();
        const found: string[] = [];
        await until('it is back', async () => {
          const message = await channel.get(queue);
          if (message) found.push(message.content.toString());
          return found.length > 0;
        });
        expect(performance.now() - startedAt).toBeGreaterThan(390);
        expect(found).toEqual(['x']);
      });
      await connection.close();
    });
  });
}

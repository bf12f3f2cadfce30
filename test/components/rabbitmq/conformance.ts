import { describe, expect, test } from 'vitest';
import { acknowledge, Collector, publishTexts, textMessage } from '../../../src/testing/collector.ts';
import { newTopic } from '../../../src/testing/pubsub-case.ts';
import { pubSubConformance } from '../../../src/testing/pubsub-conformance.ts';
import { openComponent } from './broker.ts';

/** What every component does, on both kinds of queues. */
export function conformance(port: () => number): void {
  describe.each(['quorum', 'classic'] as const)('conformance, %s queues', (queueType) => {
    const open = async () => (await openComponent(port(), { queueType })).component;
    // Names of AMQP have at most 255 bytes, those of that case more.
    for (const { name, needs, run } of pubSubConformance) test.skipIf(needs.includes('anyName'))(name, () => run(open));
  });

  describe('names', () => {
    const ODD = ['__proto__', 'constructor', 'a/b//c', 'grüße 🚀', '*', '>', '#', 'a.b', ' ', '%', "'"];

    test('topics and groups have any name of at most 255 bytes', async () => {
      const { component } = await openComponent(port());
      const prefix = newTopic();
      const topics = [...ODD.map((name) => prefix + name), prefix.padEnd(249, 'x')];
      const consumers = await Promise.all(
        topics.map((topic, index) => Collector.join(component, { topic, group: ODD[index] ?? 'group' }, acknowledge)),
      );
      for (const topic of topics) await publishTexts(component, topic, [topic]);
      await Promise.all(consumers.map((consumer) => consumer.expect(1)));
      expect(consumers.map(({ texts }) => texts)).toEqual(topics.map((topic) => [topic]));
      await component.close();
    });

    test.each([
      ['x'.repeat(256), 'the topic has 256 bytes of UTF-8: RabbitMQ takes at most 255'],
      ['a\0b', 'the topic contains a NUL character or a line break, which RabbitMQ does not take'],
      ['a\nb', 'the topic contains a NUL character or a line break, which RabbitMQ does not take'],
      ['a\rb', 'the topic contains a NUL character or a line break, which RabbitMQ does not take'],
    ])('refuses to publish and to subscribe to a topic that RabbitMQ cannot have', async (topic, message) => {
      const { component } = await openComponent(port());
      const [failure] = await component.publish([textMessage(topic, 'a')]);
      expect(failure?.error.message).toBe(message);
      await expect(Collector.join(component, { topic })).rejects.toThrow(message);
      await component.close();
    });

    test('a queue name that is too long asks for queueName, and a queue has that name', async () => {
      const { component } = await openComponent(port());
      const topic = newTopic().padEnd(255, 'x');
      await expect(Collector.join(component, { topic })).rejects.toThrow(
        /name of the queue has 259 bytes.*set queueName/,
      );
      const metadata = { queueName: `short-${newTopic()}` };
      const consumer = await Collector.join(component, { topic, metadata }, acknowledge);
      await publishTexts(component, topic, ['a']);
      await consumer.expect(1);
      await component.close();
    });
  });
}

import { describe, expect, test } from 'vitest';
import { acknowledge, Collector, publishTexts, textMessage } from '../../../src/kit/collector.ts';
import { newTopic } from '../../../src/kit/pubsub-case.ts';
import { pubSubConformance } from '../../../src/kit/pubsub-conformance.ts';
import { openComponent } from './broker.ts';

/** What every component does, on both kinds of queues. */
export function conformance(port: () => number): void {
  describe.each(['quorum', 'classic'] as const)('conformance, %s queues', (queueType) => {
    const open = async () => (await openComponent(port(), { queueType })).component;
    for (const { name, run } of pubSubConformance) test(name, () => run(open));
  });

  describe('names', () => {
    const ODD = ['__proto__', 'constructor', 'a/b//c', 'grüße 🚀', '*', '>', '#', 'a.b', ' ', '%', "'"];

    test('topics and groups have any name without NUL and line breaks', async () => {
      const { component } = await openComponent(port());
      const prefix = newTopic();
      const topics = [...ODD.map((name) => prefix + name), prefix.padEnd(249, 'x'), prefix.padEnd(700, 'ü')];
      const consumers = await Promise.all(
        topics.map((topic, index) => Collector.join(component, { topic, group: ODD[index] ?? 'group' }, acknowledge)),
      );
      for (const topic of topics) await publishTexts(component, topic, [topic]);
      await Promise.all(consumers.map((consumer) => consumer.expect(1)));
      expect(consumers.map(({ texts }) => texts)).toEqual(topics.map((topic) => [topic]));
      await component.close();
    });

    test.each([
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

    test('names of more than 255 bytes stand for themselves, those for dead letters and unsubscribed topics as well', async () => {
      const { component, unsubscribed } = await openComponent(port(), { deadLetterExchange: true });
      const topics = ['ü', 'ö'].map((end) => `${'ä'.repeat(150)}${newTopic()}${end}`);
      await publishTexts(component, topics[0] ?? '', ['lost']);
      expect(unsubscribed).toEqual([topics[0]]);
      const consumers = await Promise.all(topics.map((topic) => Collector.join(component, { topic }, acknowledge)));
      for (const topic of topics) await publishTexts(component, topic, [topic]);
      for (const consumer of consumers) await consumer.expect(1);
      expect(consumers.map(({ texts }) => texts)).toEqual(topics.map((topic) => [topic]));
      await component.close();
    });
  });
}

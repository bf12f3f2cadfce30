import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kafkaBinding } from '../../../src/components/kafka/index.ts';
import { bindingsWorld } from '../../support/bindings-world.ts';
import { brokerBindingTests } from '../../support/broker-bindings.ts';
import { until } from '../../support/stores-world.ts';
import { hasBroker, KafkaTestBroker } from './kafka-test-broker.ts';

describe.runIf(hasBroker())('bindings.kafka', () => {
  let broker: KafkaTestBroker;
  beforeAll(async () => {
    broker = await KafkaTestBroker.start();
  });
  afterAll(() => broker[Symbol.asyncDispose]());

  brokerBindingTests({
    define: (name, topic, options = {}) =>
      kafkaBinding(name, {
        ...{ brokers: broker.brokers, topics: [topic], publishTopic: topic, initialOffset: 'oldest' },
        ...options,
      }),
    unreachable: (port) =>
      kafkaBinding('events', {
        ...{ brokers: [`127.0.0.1:${port}`], publishTopic: 'a', publishTimeout: 300, direction: ['output'] },
        sasl: { mechanism: 'plain', username: 'user', password: 'hidden' },
      }),
    carriesMetadata: true,
  });

  test('partitionKey and key are the key of the record; an event tells its place', async () => {
    const topic = `insidecar-binding-${randomUUID()}`;
    const components = [
      kafkaBinding('events', {
        ...{ brokers: broker.brokers, topics: [topic], publishTopic: topic, initialOffset: 'oldest' },
        direction: ['input', 'output'],
      }),
    ];
    await using world = await bindingsWorld({ components });
    for (const metadata of [{ key: 'k1', colour: 'green' }, { partitionKey: 'k2' }])
      expect((await world.invoke('events', { operation: 'create', data: 1, metadata })).status).toBe(204);
    await until(
      () => world.delivered.length >= 2,
      () => `${world.delivered.length} events`,
    );
    const [first, second] = world.delivered;
    expect(first?.headers).toMatchObject({ __key: 'k1', colour: 'green', __topic: topic, __offset: '0' });
    expect(second?.headers).toMatchObject({ __key: 'k2' });
  });

  test('without publishTopic, calls fail; without topics, nothing is read', async () => {
    const options = { brokers: broker.brokers, direction: ['input', 'output'] as const };
    await using world = await bindingsWorld({ components: [kafkaBinding('events', options)] });
    const { status, text } = await world.invoke('events', { operation: 'create', data: 1 });
    expect([status, text.includes('the binding has no publishTopic')]).toEqual([500, true]);
    expect(world.logger.at('warn')).toEqual([]);
  });
});

test('refuses wrong options', () => {
  const brokers = ['a:9092'];
  expect(() => kafkaBinding('events', {} as never)).toThrow('brokers');
  expect(() => kafkaBinding('events', { brokers, topics: ['a b'] })).toThrow('topics');
  expect(() => kafkaBinding('events', { brokers, publishTopic: 'a b' })).toThrow('publishTopic');
});

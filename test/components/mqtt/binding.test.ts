import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mqttBinding } from '../../../src/components/mqtt/index.ts';
import { bindingsWorld } from '../../support/bindings-world.ts';
import { brokerBindingTests } from '../../support/broker-bindings.ts';
import { until } from '../../support/stores-world.ts';
import { hasBroker, MqttTestBroker } from './mqtt-test-broker.ts';

describe.runIf(hasBroker())('bindings.mqtt3', () => {
  let broker: MqttTestBroker;
  beforeAll(async () => {
    broker = await MqttTestBroker.start();
  });
  afterAll(() => broker[Symbol.asyncDispose]());

  brokerBindingTests({
    define: (name, topic, options = {}) => mqttBinding(name, { url: broker.url, topic, ...options }),
    unreachable: (port) =>
      mqttBinding('events', { url: `mqtt://user:hidden@127.0.0.1:${port}`, topic: 'a', publishTimeout: 300 }),
    carriesMetadata: false,
  });

  test('a wildcard is read; a call names its topic; an event tells its own', async () => {
    const base = `insidecar-binding-${randomUUID()}`;
    const direction = ['input', 'output'] as const;
    const components = [mqttBinding('events', { url: broker.url, topic: `${base}/+/t`, direction })];
    await using world = await bindingsWorld({ components });
    const create = (topic?: string) =>
      world.invoke('events', { operation: 'create', data: 21.5, metadata: topic === undefined ? {} : { topic } });
    await until(
      async () => {
        expect((await create(`${base}/kitchen/t`)).status).toBe(204);
        return world.delivered.length > 0;
      },
      () => 'an event',
    );
    expect(world.delivered[0]).toMatchObject({ body: '21.5', headers: { mqtttopic: `${base}/kitchen/t` } });
    for (const [topic, problem] of [
      [undefined, 'wildcards'],
      ['a/#', 'wildcards'],
      ['$SYS/a', 'belong to the broker'],
    ] as const) {
      const { status, text } = await create(topic);
      expect([status, text.includes(problem)]).toEqual([500, true]);
    }
  });
});

test('refuses wrong options', () => {
  const url = 'mqtt://a';
  expect(() => mqttBinding('events', { url } as never)).toThrow('topic');
  expect(() => mqttBinding('events', { url, topic: 'a#' })).toThrow('wildcard');
  expect(() => mqttBinding('events', { url: 'http://user:hidden@a', topic: 'a' })).toThrow(/^(?!.*hidden).*url/s);
  expect(() => mqttBinding('events', { url, topic: 'a', concurrency: 0 })).toThrow('concurrency');
});

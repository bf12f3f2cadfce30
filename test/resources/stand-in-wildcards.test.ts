import { expect, test } from 'vitest';
import { Sidecar } from '../../src/index.ts';
import { component, load, metadata } from './files.ts';

test.each([
  ['pubsub.mqtt3', 'pubsub.in-memory', 'sensors/+/heat', 'sensors/1/heat'],
  ['pubsub.mqtt5', 'pubsub.in-memory', 'sensors/#', 'sensors/1/heat'],
  ['pubsub.jetstream', 'pubsub.in-memory', 'sensors.>', 'sensors.1.heat'],
  ['pubsub.mqtt3', 'pubsub.durable', 'sensors/+/heat', 'sensors/1/heat'],
  ['pubsub.redis', 'pubsub.in-memory', 'sensors*', 'sensors.1'],
])('%s as %s: a subscription to %s gets what is published to %s', async (type, standIn, subscribed, topic) => {
  const yaml = component('pubsub', type, metadata({ url: 'mqtt://nowhere' }));
  const { options } = await load(yaml, { substitute: { [type]: standIn } });
  const sidecar = new Sidecar({ ...options, appId: 'shop' });
  await sidecar.start();
  const received: unknown[] = [];
  await sidecar.pubsub.subscribe('pubsub', subscribed, ({ data }) => void received.push(data));
  await sidecar.pubsub.publish('pubsub', topic, { topic });
  await expect.poll(() => received).toEqual([{ topic }]);
  await sidecar.stop();
});

import { expect, test } from 'vitest';
import { startWorld } from '../../../support/world.ts';

test('topics without subscribers: one warning each, counted in metadata, up to 1,000 of them', async () => {
  await using world = await startWorld({ discovery: [] });
  const warnings = (): number => world.logger.at('warn').length;
  for (let n = 0; n < 999; n++) await world.sidecar.pubsub.publish('pubsub', `topic-${n}`, 'x');
  for (let n = 0; n < 3; n++) await world.sidecar.pubsub.publish('pubsub', '__proto__', 'x');
  expect(warnings()).toBe(1_001);
  for (let n = 0; n < 100; n++) await world.sidecar.pubsub.publish('pubsub', `more-${n}`, 'x');
  expect(warnings()).toBe(1_001);
  const { json } = await world.send('GET', '/v1.0/metadata');
  const { messages } = json['unhandled'] as { messages: unknown[] };
  expect([messages.length, messages.at(-1)]).toEqual([1_000, { pubsubname: 'pubsub', topic: '__proto__', count: 3 }]);
});

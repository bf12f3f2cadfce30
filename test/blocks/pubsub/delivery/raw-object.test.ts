import { expect, test } from 'vitest';
import { rawObjectAsEvent } from '../../../../src/blocks/pubsub/delivery/raw-object.ts';
import type { Delivery } from '../../../../src/components/pubsub.ts';

function deliveryOf(text: string, more: Partial<Delivery> = {}): Delivery {
  const message = { id: '1', topic: 't', data: Buffer.from(text), contentType: 'text/plain', raw: true, metadata: {} };
  return { message, attempt: 2, ack: async () => {}, retry: async () => {}, ...more };
}

test('a raw JSON object as an event keeps its bytes, its attempt and the interruptions of its deliveries', () => {
  const delivery = deliveryOf('{"id":1}', { interruptions: 3 });
  const event = rawObjectAsEvent(delivery);
  expect(event).toMatchObject({ attempt: 2, interruptions: 3 });
  expect(event.message).toMatchObject({ raw: false, contentType: 'application/cloudevents+json' });
  expect(event.message.data).toBe(delivery.message.data);
});

test.each(['[1]', '{"id":', 'text', ''])('%j stays raw', (text) => {
  const delivery = deliveryOf(text);
  expect(rawObjectAsEvent(delivery)).toBe(delivery);
});

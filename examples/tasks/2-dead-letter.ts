/**
 * Retries, a dead letter, and its way back once the fault is mended.
 * Run with `npx tsx examples/tasks/2-dead-letter.ts`.
 */
import { defineSubscription, defineTopic, memoryPubSub, Sidecar } from 'insidecar';
import { virtualClock } from 'insidecar/testing';

const orders = defineTopic<{ id: number }>('orders');
let isMended = false;
const options = { deadLetterTopic: 'dead-orders', retry: { maxRetries: 2, delay: '1s' } } as const;
const shipping = defineSubscription(orders, options, (order, { attempt }) => {
  console.log(`order ${order.id}, attempt ${attempt}`);
  if (!isMended) throw new Error('no carrier');
});

const clock = virtualClock(); // an hour takes milliseconds
const sidecar = new Sidecar({ appId: 'shop', components: [memoryPubSub('pubsub')], clock, logger: 'silent' });
sidecar.register(shipping);
await sidecar.start();
await sidecar.pubsub.publish(orders, { id: 1 });
await clock.advance('1h');
for await (const { data, reason } of sidecar.pubsub.deadLetters()) console.log(data, reason);
isMended = true;
console.log(`${await sidecar.pubsub.redeliverAll()} redelivered`);
await clock.settled();
await sidecar.stop();

/**
 * In order for each customer, customers beside each other: as many topics as there are lanes, one message of each at a
 * time. Run with `npx tsx examples/tasks/3-in-order.ts`.
 */
import { createHash } from 'node:crypto';
import { defineSubscription, defineTopic, memoryPubSub, Sidecar } from 'insidecar';

interface Payment {
  readonly customer: string;
  readonly amount: number;
}

// Their number stays: another one would send a customer's next message to another lane.
const lanes = Array.from({ length: 8 }, (_lane, number) => defineTopic<Payment>(`payments-${number}`));
const laneOf = (customer: string) => lanes[(createHash('sha1').update(customer).digest()[0] ?? 0) % lanes.length];

const sidecar = new Sidecar({ appId: 'shop', components: [memoryPubSub('pubsub')] });
for (const lane of lanes)
  sidecar.register(
    defineSubscription(lane, { concurrency: 1 }, ({ customer, amount }) => console.log(`${customer} pays ${amount}`)),
  );
await sidecar.start();
for (const payment of [
  { customer: 'Ada', amount: 1 },
  { customer: 'Ada', amount: 2 },
  { customer: 'Bob', amount: 3 },
]) {
  const lane = laneOf(payment.customer);
  if (lane !== undefined) await sidecar.pubsub.publish(lane, payment);
}
await sidecar.stop();

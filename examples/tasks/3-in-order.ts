/**
 * In order for each customer, customers beside each other: their payments have a key. Run with
 * `npx tsx examples/tasks/3-in-order.ts`.
 */
import { defineSubscription, defineTopic, memoryPubSub, Sidecar } from 'insidecar';

interface Payment {
  readonly customer: string;
  readonly amount: number;
}

const payments = defineTopic<Payment>('payments');
const pay = defineSubscription(payments, { order: 'key' }, ({ customer, amount }) =>
  console.log(`${customer} pays ${amount}`),
);

const sidecar = new Sidecar({ appId: 'shop', components: [memoryPubSub('pubsub')] });
sidecar.register(pay);
await sidecar.start();
for (const payment of [
  { customer: 'Ada', amount: 1 },
  { customer: 'Ada', amount: 2 },
  { customer: 'Bob', amount: 3 },
])
  await sidecar.pubsub.publish(payments, payment, { key: payment.customer });
await sidecar.stop();

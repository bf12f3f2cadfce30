/** A message with a type, from publish to handler. Run with `npx tsx examples/tasks/1-typed-message.ts`. */
import { defineSubscription, defineTopic, memoryPubSub, Sidecar } from 'insidecar';

const orders = defineTopic<{ id: number }>('orders');
const shipping = defineSubscription(orders, {}, (order) => console.log(`order ${order.id}`));

const sidecar = new Sidecar({ appId: 'shop', components: [memoryPubSub('pubsub')] });
sidecar.register(shipping);
await sidecar.start();
await sidecar.pubsub.publish(orders, { id: 1 });
await sidecar.stop();

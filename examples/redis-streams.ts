/**
 * Pub/sub on Redis Streams, in the form in which Dapr keeps messages there. Another program, which knows Redis only,
 * writes an order into the stream as Dapr does; the shop publishes two more. Billing and shipping get all three, and
 * billing refuses one once. At the end the stream is shown as Redis has it.
 *
 * Run with `npx tsx examples/redis-streams.ts redis://127.0.0.1:6379` (`npm install redis`). It uses a stream of its own,
 * and deletes it.
 */
import { type Logger, Sidecar } from 'insidecar';
import { redisPubSub } from 'insidecar/redis';
import { createClient } from 'redis';

interface Order {
  readonly id: number;
}

const [url = 'redis://127.0.0.1:6379'] = process.argv.slice(2);
const topic = `orders-${process.pid}`;
/** The output of this program tells the same as the log would. */
const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} };
let open = 6;
let allAreDone = (): void => {};
const done = new Promise<void>((resolve) => {
  allAreDone = resolve;
});

/** A service, with a consumer group of its own. */
async function start(appId: string, take: (order: Order, attempt: number) => void): Promise<Sidecar> {
  const sidecar = new Sidecar({ appId, components: [redisPubSub('pubsub', { url })], logger: quiet });
  await sidecar.start();
  await sidecar.pubsub.subscribe<Order>('pubsub', topic, ({ data }, { attempt }) => {
    take(data ?? { id: 0 }, attempt);
    console.log(`${appId} has taken order ${data?.id} at attempt ${attempt}`);
    if (--open === 0) allAreDone();
  });
  return sidecar;
}

const redis = await createClient({ url }).connect();
try {
  const billing = await start(`billing-${process.pid}`, ({ id }, attempt) => {
    if (id === 2 && attempt === 1) throw new Error('no connection to the bank');
  });
  const shipping = await start(`shipping-${process.pid}`, () => {});
  const event = { specversion: '1.0', id: 'from-elsewhere', source: 'elsewhere', type: 'order', data: { id: 1 } };
  await redis.sendCommand(['XADD', topic, '*', 'data', JSON.stringify(event), 'metadata', '{}']);
  for (const id of [2, 3]) await billing.pubsub.publish('pubsub', topic, { id });
  await done;
  await Promise.all([billing.stop(), shipping.stop()]);
  console.log('the stream, as other programs see it:');
  for (const { id, message } of (await redis.xRange(topic, '-', '+')) ?? []) console.log(`  ${id} ${message['data']}`);
  for (const { name, pending } of await redis.xInfoGroups(topic))
    console.log(`  group ${name}: ${pending} unprocessed`);
} finally {
  await redis.del(topic);
  redis.destroy();
}

/**
 * Pub/sub on RabbitMQ with dead letters. The shop publishes three orders; billing cannot process one of them, which
 * becomes a dead letter after two retries, with its origin. A program that knows AMQP only reads what is published, too.
 *
 * Run with `npx tsx examples/rabbitmq.ts amqp://127.0.0.1` (`npm install amqplib`). It uses exchanges and queues of its
 * own, and deletes them.
 */
import { connect } from 'amqplib';
import { type Logger, Sidecar } from 'insidecar';
import { rabbitmqPubSub } from 'insidecar/rabbitmq';

interface Order {
  readonly id: number;
}

const [url = 'amqp://127.0.0.1'] = process.argv.slice(2);
const [appId, topic, deadTopic] = [`billing-${process.pid}`, `orders-${process.pid}`, `dead-orders-${process.pid}`];
/** The output of this program tells the same as the log would. */
const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} };
let open = 3;
let allAreDone = (): void => {};
const done = new Promise<void>((resolve) => {
  allAreDone = resolve;
});

function settled(what: string): void {
  console.log(what);
  if (--open === 0) allAreDone();
}

const connection = await connect(url);
const channel = await connection.createChannel();
try {
  const sidecar = new Sidecar({ appId, components: [rabbitmqPubSub('pubsub', { url })], logger: quiet });
  await sidecar.start();
  await sidecar.pubsub.subscribe<Order>(
    'pubsub',
    topic,
    ({ data }, { attempt }) => {
      if (data?.id === 2) throw new Error(`order 2 has no price (attempt ${attempt})`);
      settled(`billed order ${data?.id}`);
    },
    { deadLetterTopic: deadTopic, retry: { maxRetries: 2, delay: 50 } },
  );
  await sidecar.pubsub.subscribe<Order>('pubsub', deadTopic, ({ data }, { deadLetter }) =>
    settled(`dead letter: order ${data?.id} of ${deadLetter?.group}: ${deadLetter?.reason}`),
  );
  // The subscription has made the exchange. Any program can bind a queue of its own to it.
  const { queue } = await channel.assertQueue('', { exclusive: true });
  await channel.bindQueue(queue, topic, '');
  await channel.consume(queue, (message) => console.log(`seen by AMQP: ${message?.content}`), { noAck: true });
  for (const id of [1, 2, 3]) await sidecar.pubsub.publish('pubsub', topic, { id });
  await done;
  await sidecar.stop();
} finally {
  for (const name of [topic, deadTopic]) {
    await channel.deleteQueue(`${appId}-${name}`);
    await channel.deleteExchange(name);
  }
  await connection.close();
}

/**
 * A night's failures: orders fail while nobody looks. In the morning somebody sees what failed and why, tries it again,
 * mends one order and drops another. Uses a temporary directory and ends by itself. Run with `npx tsx examples/night.ts`.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DeadLetter, durablePubSub, type Logger, Sidecar } from 'insidecar';
import { embeddedState } from 'insidecar/embedded';

interface Order {
  readonly id: number;
  readonly price: unknown;
}

const path = await mkdtemp(join(tmpdir(), 'insidecar-night-'));
/** The output of this program tells the same as the log would. */
const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const IDS = [1, 2, 3, 4, 5];

/** Starts the shop. Its bank answers, or does not. */
async function open(bankIsUp: () => boolean): Promise<Sidecar> {
  const sidecar = new Sidecar({
    appId: 'shop',
    components: [durablePubSub('pubsub')],
    state: embeddedState(path),
    logger: quiet,
  });
  await sidecar.start();
  await sidecar.pubsub.subscribe<Order>(
    'pubsub',
    'orders',
    ({ data }) => {
      if (typeof data?.price !== 'number') throw new Error(`the price is ${JSON.stringify(data?.price)}`);
      if (!bankIsUp()) throw new Error('the bank does not answer');
      console.log(`  order ${data.id} is paid: ${data.price}`);
    },
    { deadLetterTopic: 'orders-failed', retry: { maxRetries: 2, delay: 10 } },
  );
  // Another group: what is redelivered to the shop must not be counted again.
  await sidecar.pubsub.subscribe<Order>('pubsub', 'orders', ({ data }) => console.log(`  counted ${data.id}`), {
    group: 'statistics',
  });
  return sidecar;
}

async function until(isSo: (sidecar: Sidecar) => Promise<boolean>, sidecar: Sidecar): Promise<void> {
  while (!(await isSo(sidecar))) await new Promise((resolve) => setTimeout(resolve, 10));
}

const isQuiet = async ({ pubsub }: Sidecar): Promise<boolean> =>
  (await pubsub.queues.list({ topic: 'orders' })).every(
    ({ ready, delayed, inFlight }) => ready + delayed + inFlight === 0,
  );

console.log('02:30, the bank is down:');
const night = await open(() => false);
for (const id of IDS) await night.pubsub.publish('pubsub', 'orders', { id, price: id === 4 ? '4O.00' : id * 10 });
await until(isQuiet, night);
await night.stop();

console.log('08:00, what has happened?');
const morning = await open(() => true);
const { pubsub } = morning;
for (const { topic, group, ready, consumers } of await pubsub.queues.list())
  console.log(`  ${topic} → ${group}: ${ready} messages, ${consumers} consumers`);
const letters = new Map<number, DeadLetter<Order>>();
for await (const letter of pubsub.deadLetters<Order>()) {
  letters.set(letter.data.id, letter);
  console.log(`  order ${letter.data.id}: ${letter.reason}, ${letter.attempts} attempts`);
}

console.log('order 2 was cancelled, and the bank answers again:');
await letters.get(2)?.discard();
const redelivered = await pubsub.redeliverAll({ reason: 'the bank' });
await until(isQuiet, morning);
console.log(`  redelivered: ${redelivered}`);

console.log('the price of order 4 was a misprint:');
await letters.get(4)?.redeliver({ data: { id: 4, price: 40 } });
await until(isQuiet, morning);
let left = 0;
for await (const _ of pubsub.deadLetters()) left++;
console.log(`  ${left} dead letters are left`);
await morning.stop();
await rm(path, { recursive: true });

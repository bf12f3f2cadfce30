// One life of an application that saves orders with an outbox, and says what it did. The first argument is the directory
// of its state; the second one, if there is one, that of the orders: their events are then relayed.
//   C <n>           the transaction of order <n> was acknowledged
//   E <n> <id>      its event was delivered
import { durablePubSub, keyValueStore, Sidecar } from 'insidecar';
import { embeddedState } from 'insidecar/embedded';
import { last, life, logger, path, say } from './life.mjs';

const [, ordersPath] = process.argv.slice(2);

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const sidecar = new Sidecar({
  appId: 'crash',
  state: embeddedState({ path }),
  logger,
  components: [
    keyValueStore('orders', {
      outbox: { pubsubName: 'pubsub', topic: 'placed' },
      ...(ordersPath && { store: embeddedState({ path: ordersPath }) }),
    }),
    durablePubSub('pubsub'),
  ],
});
/** How often nothing has come while this process ran: a busy machine keeps it waiting, too. */
let quiet = 0;
await sidecar.start();
await sidecar.pubsub.subscribe(
  'pubsub',
  'placed',
  ({ data, id }) => {
    quiet = 0;
    say(`E ${data.n} ${id}`);
  },
  // Kills that hit a delivery by chance must not count as its fault.
  { maxCrashes: 0 },
);
say('ready');

if (last) {
  while (quiet++ < 40) await sleep(50);
  // What was acknowledged is there, and its two keys belong together.
  for (let after; ; ) {
    const page = await sidecar.state.query('orders', { limit: 1_000, ...(after && { token: after }) });
    for (const { key, value } of page.results) say(`V ${key} ${value.n}`);
    after = page.token;
    if (after === undefined) break;
  }
  await sidecar.stop();
} else {
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    for (let count = 0; ; count++) {
      const n = `${life}-${writer}-${count}`;
      await sidecar.state.transact('orders', [
        { operation: 'upsert', key: `order-${n}`, value: { n } },
        { operation: 'upsert', key: `last-${writer}`, value: { n }, metadata: { subject: 'last' } },
      ]);
      say(`C ${n}`);
      if (count % 5 === 4) await sleep(2);
    }
  });
  await Promise.all(writers);
}

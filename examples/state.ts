/**
 * An order service: it reserves stock under ETags, saves order and stock in one transaction whose event tells shipping,
 * and goes on after it was ended and started again. Uses a temporary directory and ends by itself. Run with
 * `npx tsx examples/state.ts`.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { durablePubSub, isSidecarError, keyValueStore, type Logger, Sidecar } from 'insidecar';
import { embeddedState } from 'insidecar/embedded';

interface Stock {
  readonly left: number;
}

interface Order {
  readonly item: string;
  readonly customer: string;
}

const path = await mkdtemp(join(tmpdir(), 'insidecar-state-'));
/** The output of this program tells the same as the log would. */
const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} };

async function startShop(): Promise<Sidecar> {
  const sidecar = new Sidecar({
    appId: 'shop',
    state: embeddedState(path),
    // Every transaction on `orders` publishes what it saves: decided in its commit, so that none is lost.
    components: [
      keyValueStore('orders', { outbox: { pubsubName: 'pubsub', topic: 'saved' } }),
      durablePubSub('pubsub'),
    ],
    logger: quiet,
  });
  await sidecar.start();
  return sidecar;
}

/** Places an order if there is stock. Who was slower than another customer tries again with the stock that is left. */
async function place({ state }: Sidecar, orderId: string, order: Order): Promise<boolean> {
  for (;;) {
    const stock = await state.get<Stock>('orders', `stock-${order.item}`);
    if (stock === undefined || stock.value.left === 0) return false;
    const hidden = { 'outbox.projection': 'true' };
    try {
      await state.transact('orders', [
        { operation: 'upsert', key: `order-${orderId}`, value: order, metadata: { subject: orderId } },
        // Subscribers need not know the customer.
        { operation: 'upsert', key: `order-${orderId}`, value: { item: order.item }, metadata: hidden },
        { operation: 'upsert', key: `stock-${order.item}`, value: { left: stock.value.left - 1 }, etag: stock.etag },
      ]);
      return true;
    } catch (error) {
      if (!isSidecarError(error) || error.status !== 409) throw error;
    }
  }
}

async function openShop(): Promise<void> {
  await using shop = await startShop();
  // Shipping is there, and cannot do anything today.
  await shop.pubsub.subscribe('pubsub', 'saved', () => 'RETRY', { retry: { maxDelay: 200 } });
  await shop.state.set('orders', 'stock-lamp', { left: 3 });
  const customers = ['ada', 'bob', 'cyd', 'dan', 'eve'];
  const placed = await Promise.all(
    customers.map((customer, index) => place(shop, String(index), { item: 'lamp', customer })),
  );
  console.log(`${placed.filter(Boolean).length} of ${customers.length} orders placed, 3 lamps in stock`);
}

async function reopenShop(): Promise<void> {
  await using shop = await startShop();
  const stock = await shop.state.get<Stock>('orders', 'stock-lamp');
  console.log(`after the restart: ${stock?.value.left} lamps left`);
  const orders = await shop.state.query<Order>('orders', { filter: { EQ: { item: 'lamp' } } });
  console.log(`${orders.results.length} orders are stored`);
  const parcels = new Map<string, unknown>();
  let shipAll: () => void = () => undefined;
  const allShipped = new Promise<void>((resolve) => {
    shipAll = resolve;
  });
  await shop.pubsub.subscribe<{ readonly item?: string }>('pubsub', 'saved', (event) => {
    // Once at least: a repeated event has the same ID.
    if (event.data?.item !== undefined) parcels.set(event.id, event.data);
    if (parcels.size === orders.results.length) shipAll();
  });
  await allShipped;
  console.log(`${parcels.size} parcels shipped, told by ${JSON.stringify([...parcels.values()][0])}`);
}

try {
  await openShop();
  await reopenShop();
} finally {
  await rm(path, { recursive: true });
}

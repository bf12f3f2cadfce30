import { defineActivity, defineWorkflow, type Sidecar } from '../../src/index.ts';
import { Basket } from './actors.ts';
import type { SceneClock } from './scene-clock.ts';
import { approval, packOrder } from './workflows.ts';
import { FAILED, TOKEN, type World } from './world.ts';

/** Lets two minutes of a shop pass: enough of everything for a picture of each page. */
export async function playScene(world: World, clock: SceneClock): Promise<void> {
  const { shop } = world;
  await shop.pubsub.subscribe('pubsub', 'shipments', () => clock.spend(12), { group: 'shop', concurrency: 4 });
  await shop.pubsub.subscribe('pubsub', 'shipments', () => clock.spend(3), { group: 'statistics' });
  await shop.pubsub.queues.addGroup({ pubsubName: 'pubsub', topic: 'orders', group: 'archive' });
  registerWorkflows(shop, clock);
  await startWorkflows(shop);
  await scheduleJobs(shop);
  await fillStores(world);
  await fillBaskets(shop);
  for (let second = 0; second < 110; second++) {
    await playSecond(world, clock, second);
    await clock.advance(1_000);
    // The series of the overview are by the second.
    await fetch(`${world.origin}/api/v1/overview`, { headers: { authorization: `Bearer ${TOKEN}` } });
  }
  await finish(world, clock);
}

async function playSecond(world: World, clock: SceneClock, second: number): Promise<void> {
  const { shop, billing } = world;
  const shipments = Math.round(4 + 3 * Math.sin(second / 9) + 2 * Math.sin(second / 3.7));
  for (let at = 0; at < shipments; at++) {
    const id = `shipment-${4000 + second * 10 + at}`;
    const event = { cloudEvent: { id } };
    await shop.pubsub.publish('pubsub', 'shipments', { order: 7000 + second, carrier: 'north', weightKg: at }, event);
  }
  if (second % 7 === 3) await world.order({ id: 7000 + second, price: 49.5, isFlaky: second % 2 === 0 });
  if (second % 31 === 30) await world.order({ id: 7000 + second, price: '4O.00' });
  if (second % 5 === 4) {
    await shop.invocation.invoke('billing', 'charge', { method: 'POST', body: { order: 7000 + second } });
    await shop.invocation.invoke('carrier', `parcels/${second}`, { method: second % 15 === 14 ? 'POST' : 'GET' });
    clock.spend(9);
  }
  if (second % 12 === 5) await billing.pubsub.publish('ledger', 'invoices', { total: second });
}

async function finish({ shop }: World, clock: SceneClock): Promise<void> {
  const event = { cloudEvent: { id: 'parcel-118', type: 'big' } };
  await shop.pubsub.publish('pubsub', 'parcels', { weightKg: 118, to: 'Turin' }, event);
  await shop.pubsub.publish('pubsub', FAILED.topic, { id: 6900 }, { cloudEvent: { id: 'order-6900' } });
  await shop.jobs.run('report');
  await shop.jobs.run('sync-stock');
  await clock.advance(3_000);
}

async function scheduleJobs({ jobs }: Sidecar): Promise<void> {
  const drop = { retry: { maxRetries: 0 } };
  await jobs.schedule('report', { schedule: '0 30 2 * * *', data: { pages: 3, to: 'the board' }, ...drop });
  await jobs.schedule('sync-stock', { schedule: '@every 1h' });
  await jobs.schedule('newsletter', { schedule: '0 0 9 * * mon' });
  await jobs.schedule('remind-7003', { dueTime: '48h', data: { order: 7003 } });
  await jobs.pause('newsletter');
}

async function fillStores(world: World): Promise<void> {
  const { state, locks } = world.shop;
  for (let id = 7001; id < 7010; id++) {
    const items = Array.from({ length: (id % 4) + 1 }, (_, at) => ({
      article: `A-${id + at * 17}`,
      count: 1 + (at % 3),
    }));
    const login = { user: `customer-${id % 7}`, sessionToken: `t-${id}` };
    await state.set('carts', `cart/${id}`, { items, login }, id % 3 === 0 ? {} : { ttl: '2h' });
  }
  await state.set('carts', 'prices/A-7001', { net: 41.6, gross: 49.5 });
  await state.set('vault', 'card-7001', { number: '4000' });
  await locks.tryLock('locks', 'nightly-report', { ttl: '10m', owner: 'worker-1' });
  await locks.tryLock('locks', 'sync-stock', { ttl: '5m' });
  await world.watchSettings();
}

async function fillBaskets({ actors }: Sidecar): Promise<void> {
  const customers = ['dora', 'emil', 'frida', 'gustav', 'hedwig'];
  for (const [at, customer] of customers.entries())
    for (const article of ['apple', 'pear', 'quince'].slice(at % 3)) await actors.get(Basket, customer).put(article);
}

interface Order {
  readonly order: number;
  readonly isDeclined?: boolean;
}

function registerWorkflows({ workflows }: Sidecar, clock: SceneClock): void {
  const tries = new Map<number, number>();
  const step = (name: string, ms: number) =>
    defineActivity(name, async ({ order }: Order) => {
      clock.spend(ms);
      return `${name} of ${order}`;
    });
  const reserve = step('reserveStock', 64);
  const invoice = step('sendInvoice', 38);
  const ship = step('shipParcel', 120);
  const release = step('releaseStock', 30);
  const charge = defineActivity('chargeCard', async ({ order, isDeclined = false }: Order) => {
    clock.spend(180);
    const attempt = (tries.get(order) ?? 0) + 1;
    tries.set(order, attempt);
    if (isDeclined) throw new Error('the card was declined');
    if (attempt < 3) throw new Error('the bank does not answer');
    return `payment of ${order}`;
  });
  const placeOrder = defineWorkflow('placeOrder', async (ctx, order: Order) => {
    await ctx.callActivity(reserve, order);
    ctx.setCustomStatus('charging');
    try {
      await ctx.callActivity(charge, order, { retry: { maxRetries: 2, delay: 400 } });
    } catch (error) {
      await ctx.callActivity(release, order);
      throw error;
    }
    await Promise.all([ctx.callActivity(invoice, order), ctx.sleep(600)]);
    return ctx.callActivity(ship, order);
  });
  workflows.register(reserve, invoice, ship, release, charge, placeOrder);
}

async function startWorkflows({ workflows }: Sidecar): Promise<void> {
  for (const order of [7001, 7002, 7003, 7004])
    await workflows.start('placeOrder', { order, isDeclined: order === 7003 }, { instanceId: `order-${order}` });
  await workflows.start(packOrder, { parcels: 3 }, { instanceId: 'pack-7001' });
  await workflows.start(approval, { amount: 1200 }, { instanceId: 'approval-7002' });
}

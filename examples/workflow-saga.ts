/**
 * A saga: an order reserves stock, charges a card and ships. When a step fails for good, what was done is undone, last
 * first. Each step is kept: with `state: embeddedState(path)` a crash between any two of them loses nothing.
 * Run with `npx tsx examples/workflow-saga.ts`.
 */
import { defineActivity, defineWorkflow, Sidecar } from 'insidecar';

interface Order {
  readonly id: string;
  readonly amount: number;
  readonly country: string;
}

const step = <Input, Output>(name: string, work: (input: Input) => Output) =>
  defineActivity(name, async (input: Input) => {
    console.log(`  ${name} ${JSON.stringify(input)}`);
    return work(input);
  });

const reserve = step('reserve', ({ id }: Order) => `reservation of ${id}`);
const release = step('release', (reservation: string) => reservation);
const charge = step('charge', ({ id, amount }: Order) => {
  if (amount > 500) throw new Error('the card was declined');
  return `payment of ${id}`;
});
const refund = step('refund', (payment: string) => payment);
const ship = step('ship', ({ id, country }: Order) => {
  if (country === 'Atlantis') throw new Error('no carrier goes there');
  return `parcel of ${id}`;
});

const placeOrder = defineWorkflow('placeOrder', async (ctx, order: Order) => {
  const undo: (() => Promise<unknown>)[] = [];
  try {
    const reservation = await ctx.callActivity(reserve, order);
    undo.push(() => ctx.callActivity(release, reservation));
    const payment = await ctx.callActivity(charge, order);
    undo.push(() => ctx.callActivity(refund, payment));
    return await ctx.callActivity(ship, order, { retry: { maxRetries: 2, delay: 10 } });
  } catch (error) {
    for (const compensate of undo.reverse()) await compensate();
    return `cancelled: ${error instanceof Error ? error.message : 'no reason'}`;
  }
});

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const sidecar = new Sidecar({ appId: 'shop', logger: silent });
sidecar.workflows.register(placeOrder, reserve, release, charge, refund, ship);
await sidecar.start();

for (const order of [
  { id: 'o-1', amount: 100, country: 'Italy' },
  { id: 'o-2', amount: 900, country: 'Italy' },
  { id: 'o-3', amount: 100, country: 'Atlantis' },
]) {
  console.log(`order ${order.id}`);
  const run = await sidecar.workflows.start(placeOrder, order, { instanceId: order.id });
  const { status, output } = await run.ended();
  console.log(`${status}: ${output}`);
}
await sidecar.stop();

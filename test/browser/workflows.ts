import { defineActivity, defineWorkflow } from '../../src/index.ts';

interface Order {
  readonly order: number;
  readonly card: 'good' | 'stolen';
}

/** How often each order was charged. */
const charged = new Map<number, number>();

const reserve = defineActivity('reserve', async ({ order }: Order) => `reservation of ${order}`);

/** Works at the second attempt; with a stolen card never. */
const charge = defineActivity('charge', async ({ order, card }: Order) => {
  const attempt = (charged.get(order) ?? 0) + 1;
  charged.set(order, attempt);
  if (card === 'stolen') throw new Error('the card was declined');
  if (attempt === 1) throw new Error('the bank does not answer');
  return `payment of ${order}`;
});

const ship = defineActivity('ship', async ({ order }: Order) => `parcel of ${order}`);

/** Completes after a retry, or fails. */
export const checkout = defineWorkflow('checkout', async (ctx, order: Order) => {
  await ctx.callActivity(reserve, order);
  await ctx.callActivity(charge, order, { retry: { maxRetries: 1, delay: 10 } });
  return ctx.callActivity(ship, order);
});

/** Waits for an event, for a day at most. */
export const approval = defineWorkflow('approval', async (ctx, _input: { readonly amount: number }) => {
  ctx.setCustomStatus('waiting for the boss');
  return ctx.waitForEvent<string>('approved', { timeout: 86_400_000 });
});

const packParcel = defineWorkflow('packParcel', async (_ctx, parcel: number) => `parcel ${parcel}`);

/** Has children. */
export const packOrder = defineWorkflow('packOrder', async (ctx, { parcels }: { readonly parcels: number }) => {
  const packed = Array.from({ length: parcels }, (_, at) => ctx.callChild(packParcel, at + 1));
  return Promise.all(packed);
});

/** Does many steps, 100 at a time: each adds two events to the history. */
export const countUp = defineWorkflow('countUp', async (ctx, steps: number) => {
  for (let step = 0; step < steps; step += 100)
    await Promise.all(Array.from({ length: 100 }, (_, at) => ctx.callActivity(count, step + at)));
});

const count = defineActivity('count', async (step: number) => step);

export const WORKFLOWS = [reserve, charge, ship, count, checkout, approval, packParcel, packOrder, countUp] as const;

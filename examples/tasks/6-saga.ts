/**
 * A saga with an approval: what was done is undone when a step fails, when nobody approves in time, and when the run is
 * canceled. Run with `npx tsx examples/tasks/6-saga.ts`.
 */
import { defineActivity, defineEvent, defineWorkflow, EventTimeoutError, Sidecar } from 'insidecar';
import { virtualClock } from 'insidecar/testing';

const reserve = defineActivity('reserve', (order: string) => `reservation of ${order}`);
const release = defineActivity('release', (reservation: string) => console.log(`released: ${reservation}`));
const charge = defineActivity('charge', { timeout: '30s', retry: { maxRetries: 2, delay: '1s' } }, (order: string) => {
  if (order === 'o-2') throw new Error('the card was declined');
  return `payment of ${order}`;
});
const decided = defineEvent<{ isApproved: boolean; by: string }>('decided');

const placeOrder = defineWorkflow('placeOrder', async (ctx, order: string) => {
  const reservation = await ctx.callActivity(reserve, order);
  try {
    ctx.setCustomStatus('waits for a decision');
    const { isApproved, by } = await ctx.waitForEvent(decided, { timeout: '3d' });
    if (!isApproved) throw new Error(`refused by ${by}`);
    return await ctx.callActivity(charge, order);
  } catch (error) {
    await ctx.callActivity(release, reservation); // when it is canceled, too
    if (error instanceof EventTimeoutError) return 'nobody has decided';
    throw error;
  }
});

const clock = virtualClock();
const sidecar = new Sidecar({ appId: 'shop', clock, logger: 'silent' });
sidecar.register(placeOrder, reserve, release, charge);
await sidecar.start();
const orders = ['o-1', 'o-2', 'o-3', 'o-4'];
const runs = await Promise.all(orders.map((id) => sidecar.workflows.start(placeOrder, id)));
await clock.settled();
for (const run of runs.slice(0, 2)) await run.raise(decided, { isApproved: true, by: 'Ada' });
await runs[2]?.cancel();
await clock.advance('4d');
for (const [at, run] of runs.entries())
  console.log(orders[at], await run.result().catch((error: Error) => `failed: ${error.message}`));
await sidecar.stop();

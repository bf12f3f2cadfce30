/**
 * A test of a workflow that waits for two days, with another activity in place of the real one.
 * Run with `npx tsx examples/tasks/9-tested.ts`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineActivity, defineWorkflow, Sidecar } from 'insidecar';
import { replaceActivities, virtualClock } from 'insidecar/testing';

const charge = defineActivity('charge', async (_id: number): Promise<string> => {
  throw new Error('nobody pays for a test');
});
const checkout = defineWorkflow('checkout', async (ctx, id: number) => {
  await ctx.sleep('2d');
  return ctx.callActivity(charge, id);
});

test('an order is charged after two days', async () => {
  const clock = virtualClock();
  await using sidecar = new Sidecar({ appId: 'shop', clock, logger: 'silent' });
  sidecar.register(checkout, charge);
  replaceActivities(sidecar, [charge, async (id) => `receipt ${id}`]);
  await sidecar.start();
  const run = await sidecar.workflows.start(checkout, 1);
  await clock.advance('2d');
  assert.equal(await run.result(), 'receipt 1');
});

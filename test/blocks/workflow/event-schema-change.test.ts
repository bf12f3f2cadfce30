/** An event that was raised under one schema, and is waited for by code with another one. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineEvent, type EventDefinition, TaskFailedError } from '../../../src/index.ts';
import { type Registering, type WorkflowWorld, workflowWorld } from '../../support/workflow-world.ts';

const before = defineEvent('placed', { schema: z.object({ id: z.number() }) });

/** A workflow that comes to its wait an hour after the event. */
const waitsFor =
  <Input, Output>(event: EventDefinition<Input, Output>): Registering =>
  (sidecar) =>
    sidecar.workflows.register('order', async (ctx) => {
      await ctx.sleep('1h');
      try {
        return await ctx.waitForEvent(event);
      } catch (error) {
        return error instanceof TaskFailedError ? error.failure.errorType : 'another error';
      }
    });

async function raisedBefore(): Promise<WorkflowWorld> {
  const world = await workflowWorld(waitsFor(before));
  await world.run('order');
  await world.sidecar.workflows.run('one').raise(before, { id: 7 });
  await world.pass('30m');
  return world;
}

test('fails the wait if it does not fit the new one, and the code can go on', async () => {
  await using world = await raisedBefore();
  await world.restart(waitsFor(defineEvent('placed', { schema: z.object({ orderId: z.number() }) })));
  expect(await world.pass('1h')).toMatchObject({ status: 'COMPLETED', output: 'InvalidDataError' });
});

test('is what a schema for both makes of it', async () => {
  await using world = await raisedBefore();
  const both = z.union([
    z.object({ orderId: z.number() }),
    z.object({ id: z.number() }).transform(({ id }) => ({ orderId: id })),
  ]);
  await world.restart(waitsFor(defineEvent('placed', { schema: both })));
  expect(await world.pass('1h')).toMatchObject({ status: 'COMPLETED', output: { orderId: 7 } });
});

test('that was received before the change is read anew with the new one in a replay', async () => {
  const receives =
    <Input, Output>(event: EventDefinition<Input, Output>): Registering =>
    (sidecar) =>
      sidecar.workflows.register('order', async (ctx) => {
        const data = await ctx.waitForEvent(event);
        await ctx.sleep('1h');
        return data;
      });
  await using world = await workflowWorld(receives(before));
  await world.run('order');
  await world.sidecar.workflows.run('one').raise(before, { id: 7 });
  await world.pass('30m');
  const added = z.object({ id: z.number(), by: z.string().default('nobody') });
  await world.restart(receives(defineEvent('placed', { schema: added })));
  expect(await world.pass('1h')).toMatchObject({ status: 'COMPLETED', output: { id: 7, by: 'nobody' } });
});

/** An instance tells which events it waits for, and which ones it has got and not waited for. */
import { expect, test } from 'vitest';
import type { WorkflowFunction } from '../../../src/index.ts';
import { type WorkflowWorld, workflowWorld } from '../../support/workflow-world.ts';

const worldOf = (code: WorkflowFunction<unknown>): Promise<WorkflowWorld> =>
  workflowWorld(({ workflows }) => workflows.register('flow', code));

test('the event that it waits for, and one that came with another name', async () => {
  await using world = await worldOf((ctx) => ctx.waitForEvent('Paid'));
  expect(await world.run('flow')).toMatchObject({ awaitedEvents: ['Paid'], status: 'RUNNING' });
  expect(await world.raise('payd')).toMatchObject({ awaitedEvents: ['Paid'], unreadEvents: ['payd'] });
  const { instances } = await world.sidecar.workflows.listPage();
  expect(instances).toMatchObject([{ awaitedEvents: ['Paid'], unreadEvents: ['payd'] }]);
  const ended = await world.raise('PAID');
  expect(ended.status).toBe('COMPLETED');
  expect(ended).not.toHaveProperty('awaitedEvents');
  expect(ended).not.toHaveProperty('unreadEvents');
});

test('each name once, in whatever case, as long as the wait has not timed out', async () => {
  await using world = await worldOf(async (ctx) => {
    const waits = [ctx.waitForEvent('Go'), ctx.waitForEvent('GO'), ctx.waitForEvent('late', { timeout: 1_000 })];
    await ctx.all(waits.map((wait) => wait.catch(() => undefined)));
  });
  expect((await world.run('flow')).awaitedEvents).toEqual(['Go', 'late']);
  expect((await world.pass('1s')).awaitedEvents).toEqual(['Go']);
  expect((await world.raise('go')).awaitedEvents).toEqual(['Go']);
  expect((await world.raise('go')).status).toBe('COMPLETED');
});

test('at most 100 names', async () => {
  await using world = await worldOf(async (ctx) => {
    await ctx.race(Array.from({ length: 150 }, (_, index) => ctx.waitForEvent(`event-${index}`)));
  });
  await world.run('flow');
  for (let index = 0; index < 150; index++) await world.sidecar.workflows.raiseEvent('one', `other-${index}`);
  const { awaitedEvents, unreadEvents } = await world.settle();
  expect([awaitedEvents?.length, unreadEvents?.length]).toEqual([100, 100]);
});

test('nothing of an instance that waits for no event, and of one that is not in memory', async () => {
  await using world = await worldOf((ctx, name) =>
    typeof name === 'string' ? ctx.waitForEvent(name) : ctx.sleep('1h'),
  );
  expect(await world.run('flow')).not.toHaveProperty('awaitedEvents');
  await world.run('flow', 'go', 'two');
  await world.restart();
  expect(await world.settle('two')).not.toHaveProperty('awaitedEvents');
  expect((await world.raise('gone', 1, 'two')).awaitedEvents).toEqual(['go']);
});

import { expect, test } from 'vitest';
import { workflowWorld } from '../../../support/workflow-world.ts';

test('more instances than are kept in memory sleep, and each wakes in time', async () => {
  const COUNT = 5_000;
  await using world = await workflowWorld(
    ({ workflows }) => workflows.register('flow', (ctx) => ctx.sleep(60_000).then(() => ctx.now())),
    { workflows: { maxIdleInstances: 100 } },
  );
  const { workflows } = world.sidecar;
  const ids = Array.from({ length: COUNT }, (_, index) => `i${index}`);
  await Promise.all(ids.map((instanceId) => workflows.start('flow', undefined, { instanceId })));
  const at = world.clock.now();
  await world.clock.advance(59_999);
  expect((await workflows.listPage({ status: 'COMPLETED' })).instances).toEqual([]);
  await world.clock.advance(1);
  await world.clock.settled();
  let done = 0;
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const page: Awaited<ReturnType<typeof workflows.listPage>> = await workflows.listPage({
      limit: 1_000,
      ...(cursor === '' ? {} : { cursor }),
    });
    for (const { output } of page.instances) if (output === at + 60_000) done++;
    cursor = page.cursor;
  }
  expect(done).toBe(COUNT);
}, 180_000);

test('a history without end fails the instance, which is told to continue as new', async () => {
  await using world = await workflowWorld(({ workflows }) =>
    workflows.register('flow', async (ctx) => {
      for (;;) {
        const events = Array.from({ length: 3_000 }, () => ctx.waitForEvent('never', { timeout: 1 }));
        await Promise.allSettled(events);
      }
    }),
  );
  await world.run('flow');
  const { status, failure } = await world.pass(30);
  expect([status, failure?.errorType, failure?.message]).toEqual([
    'FAILED',
    'HistoryLimitError',
    expect.stringContaining('continue as new'),
  ]);
}, 120_000);

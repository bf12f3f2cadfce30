/** What is kept of an instance that has failed is enough to let it go on from there. */
import { describe, expect, test } from 'vitest';
import { asyncProgram } from '../../../../src/blocks/workflow/authoring/async-program.ts';
import { Registry } from '../../../../src/blocks/workflow/authoring/registry.ts';
import type { Turn } from '../../../../src/blocks/workflow/model/events.ts';
import { Core } from '../../../../src/blocks/workflow/replay/core.ts';
import { eventsAgain } from '../../../../src/blocks/workflow/replay/cut-history.ts';
import { Drain } from '../../../../src/blocks/workflow/replay/microtask-drain.ts';
import { InstanceStore } from '../../../../src/blocks/workflow/storage/instance-store.ts';
import { WorkflowLayout } from '../../../../src/blocks/workflow/storage/layout.ts';
import { defineActivity, defineWorkflow, type WorkflowFunction } from '../../../../src/index.ts';
import { RecordingLogger } from '../../../support/logger.ts';
import { type WorkflowWorld, workflowWorld } from '../../../support/workflow-world.ts';

const order: WorkflowFunction<unknown> = async (ctx, id) => {
  const reserved = await ctx.callActivity('reserve', id);
  const slow = ctx.callActivity('slow', id);
  const { by } = await ctx.waitForEvent<{ by: string }>('approved');
  await ctx.sleep('1s');
  const shipped = await ctx.callActivity('ship', { reserved, by }, { retry: { maxRetries: 1 } });
  return [shipped, await slow];
};

/** A world whose activity `ship` fails, and whose activity `slow` waits for its code. */
function failing(code: WorkflowFunction<unknown>): Promise<WorkflowWorld> {
  return workflowWorld(({ workflows }, world) => {
    workflows.register(
      defineWorkflow('order', code),
      defineActivity('reserve', (id: string) => {
        world.seen.push('reserve');
        return `reserved ${id}`;
      }),
      defineActivity('ship', () => {
        throw new RangeError('no lorry');
      }),
    );
  });
}

/** The activity `slow` ends. */
async function endSlow({ sidecar, clock }: WorkflowWorld): Promise<void> {
  sidecar.workflows.register(defineActivity('slow', () => 'slowly'));
  await clock.settled();
}

/** The history before the turn in which the instance failed, and from it on. */
async function historyOf(world: WorkflowWorld): Promise<{ kept: Turn[]; dropped: Turn[]; executionId: string }> {
  const store = new InstanceStore(world.store.memory, new WorkflowLayout('shop'), world.logger);
  const { record } = (await store.read('one')) ?? {};
  if (record?.failedChunk === undefined) throw new Error('the record does not say where it failed');
  const turns: Turn[] = [];
  for await (const turn of store.turns('one')) turns.push(turn);
  const { executionId, failedChunk } = record;
  return { kept: turns.slice(0, failedChunk), dropped: turns.slice(failedChunk), executionId };
}

/** Code on the history that is kept, with what comes again. */
async function goneOn(world: WorkflowWorld, code: WorkflowFunction<unknown>): Promise<Core> {
  const { kept, dropped, executionId } = await historyOf(world);
  const nothing = (): void => undefined;
  const core = new Core({
    instanceId: 'one',
    executionId,
    workflowName: 'order',
    program: asyncProgram(code, new Registry(nothing, nothing)),
    logger: new RecordingLogger(),
    drain: new Drain(),
    isRerun: false,
    onStray: nothing,
  });
  for (const turn of kept) await core.replay(turn);
  core.endReplay(false);
  for (const event of eventsAgain(kept, dropped)) await core.apply(event, world.clock.now());
  if (kept.length === 0) await core.apply({ type: 'begun' }, world.clock.now());
  return core;
}

describe('the history of an instance that has failed', () => {
  test('is whole up to the failure and with it, also after results that came later and a restart', async () => {
    await using world = await failing(order);
    await world.run('order', 'a');
    await world.raise('approved', { by: 'Ada' });
    expect((await world.pass('2s')).status).toBe('FAILED');
    await endSlow(world);
    const history = await world.history();
    const failure = expect.objectContaining({ errorType: 'RangeError', message: 'no lorry' });
    expect(history).toMatchObject([
      { type: 'started', data: 'a' },
      { type: 'activityScheduled', sequence: 1, name: 'reserve', attempt: 1, data: 'a' },
      { type: 'activityCompleted', sequence: 1, data: 'reserved a' },
      { type: 'activityScheduled', sequence: 2, name: 'slow', data: 'a' },
      { type: 'eventRaised', name: 'approved', data: { by: 'Ada' } },
      { type: 'timerCreated', sequence: 3 },
      { type: 'timerFired', sequence: 3 },
      { type: 'activityScheduled', sequence: 4, name: 'ship', attempt: 1, data: { reserved: 'reserved a', by: 'Ada' } },
      { type: 'activityFailed', sequence: 4, failure },
      { type: 'timerCreated', sequence: 5 },
      { type: 'timerFired', sequence: 5 },
      { type: 'activityScheduled', sequence: 6, name: 'ship', attempt: 2, data: { reserved: 'reserved a', by: 'Ada' } },
      { type: 'activityFailed', sequence: 6, failure },
      { type: 'activityCompleted', sequence: 2, data: 'slowly' },
    ]);
    await world.restart(() => undefined);
    expect(await world.history()).toEqual(history);
  });

  test('cut before the failure has what failed open again, and nothing else', async () => {
    await using world = await failing(order);
    await world.run('order', 'a');
    await world.raise('approved', { by: 'Ada' });
    await world.pass('2s');
    await endSlow(world);
    const core = await goneOn(world, order);
    expect(core.outcome).toBeUndefined();
    expect(core.activities()).toMatchObject([
      { name: 'ship', sequence: 6, attempt: 2, input: '{"reserved":"reserved a","by":"Ada"}' },
    ]);
    await core.apply({ type: 'activityCompleted', sequence: 6, output: '"shipped"' }, world.clock.now());
    expect(core.outcome).toEqual({ kind: 'completed', output: '["shipped","slowly"]' });
  });

  test('cut before an error of the code lets mended code go on, with what came in that turn', async () => {
    const code =
      (isMended: boolean): WorkflowFunction<unknown> =>
      async (ctx, id) => {
        const reserved = await ctx.callActivity('reserve', id);
        const { by } = await ctx.waitForEvent<{ by: string }>('approved');
        if (!isMended) throw new TypeError('a mistake');
        return [reserved, by];
      };
    await using world = await failing(code(false));
    await world.run('order', 'a');
    expect((await world.raise('approved', { by: 'Ada' })).status).toBe('FAILED');
    const core = await goneOn(world, code(true));
    expect(core.outcome).toEqual({ kind: 'completed', output: '["reserved a","Ada"]' });
    expect(world.seen).toEqual(['reserve']);
  });

  test('of one that failed in its first turn, only the start comes again', async () => {
    await using world = await failing((ctx, id) => {
      void ctx.callActivity('slow', id);
      throw new Error('at once');
    });
    expect((await world.run('order', 'a')).status).toBe('FAILED');
    await endSlow(world);
    const core = await goneOn(world, async (_ctx, id) => id);
    expect(core.outcome).toEqual({ kind: 'completed', output: '"a"' });
  });
});

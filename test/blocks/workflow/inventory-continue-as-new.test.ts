/** What Dapr's own tests of continue-as-new show. */
import { describe, expect, test } from 'vitest';
import { defineActivity, defineWorkflow, type Sidecar } from '../../../src/index.ts';
import { type WorkflowWorld, workflowWorld } from '../../support/workflow-world.ts';

interface Chat {
  readonly said: readonly unknown[];
  readonly turns: number;
}

function register(sidecar: Sidecar, world: WorkflowWorld): void {
  const note = defineActivity('note', (text: string) => void world.seen.push(text));
  sidecar.workflows.register(
    note,
    defineWorkflow('countdown', async (ctx, n: number) => {
      await ctx.callActivity(note, String(n));
      return n === 0 ? 'lift-off' : ctx.continueAsNew(n - 1);
    }),
    defineWorkflow('tight', (ctx, n: number) => (n === 0 ? 'done' : ctx.continueAsNew(n - 1))),
    defineWorkflow('falsy', (ctx, input: unknown) => {
      if (input === 'start') return ctx.continueAsNew(0);
      if (input === 0) return ctx.continueAsNew(false);
      if (input === false) return ctx.continueAsNew('');
      if (input === '') return ctx.continueAsNew(null);
      return input === null ? ctx.continueAsNew() : typeof input;
    }),
    defineWorkflow('agent', async (ctx, { said, turns }: Chat) => {
      const message = await ctx.waitForEvent('message');
      await ctx.callActivity(note, `answer to ${String(message)}`);
      const next = [...said, message];
      return turns === 1 ? next : ctx.continueAsNew({ said: next, turns: turns - 1 });
    }),
    defineWorkflow('forgetful', async (ctx, round: number) => {
      if (round === 2) return ctx.waitForEvent('kept', { timeout: 0 }).catch(() => 'nothing kept');
      await ctx.waitForEvent('go');
      return ctx.continueAsNew(2, { keepEvents: false });
    }),
    defineWorkflow('abandoning', async (ctx, round: number) => {
      if (round === 2) {
        await ctx.sleep('2h');
        return 'second round';
      }
      void ctx.sleep('1h').then(() => ctx.callActivity(note, 'from the first round'));
      return ctx.continueAsNew(2);
    }),
    defineWorkflow('statusful', async (ctx, round: number) => {
      ctx.setCustomStatus(`round ${round}`);
      await ctx.sleep('1m');
      return ctx.continueAsNew(round + 1);
    }),
    defineWorkflow('parent', (ctx, n: number) => ctx.callChild('countdown', n)),
  );
}

describe('continue as new', () => {
  test('the same instance, another input, an empty history', async () => {
    await using world = await workflowWorld(register);
    expect(await world.run('countdown', 5)).toMatchObject({ status: 'COMPLETED', output: 'lift-off', input: 0 });
    expect(world.seen).toEqual(['5', '4', '3', '2', '1', '0']);
    expect((await world.history()).filter(({ type }) => type === 'activityScheduled').length).toBe(1);
  });

  test('falsy inputs arrive', async () => {
    await using world = await workflowWorld(register);
    expect((await world.run('falsy', 'start')).output).toBe('undefined');
  });

  test('a thousand rounds without a wait come to an end', async () => {
    await using world = await workflowWorld(register);
    expect((await world.run('tight', 1_000)).output).toBe('done');
  });

  test('an endless loop without a wait holds nothing else up, and can be terminated', async () => {
    await using world = await workflowWorld((sidecar, at) => {
      register(sidecar, at);
      sidecar.workflows.register(defineWorkflow('endless', (ctx) => ctx.continueAsNew()));
    });
    await world.sidecar.workflows.start('endless', undefined, { instanceId: 'loop' });
    const { instanceId: id } = await world.sidecar.workflows.start('countdown', 2);
    const status = async (instanceId: string): Promise<unknown> =>
      (await world.sidecar.workflows.get(instanceId))?.status;
    await expect.poll(() => status(id)).toBe('COMPLETED');
    await world.sidecar.workflows.terminate('loop');
    await expect.poll(() => status('loop')).toBe('TERMINATED');
  });

  test('events that nobody has waited for go along, in order', async () => {
    await using world = await workflowWorld(register);
    await world.sidecar.workflows.start('agent', { said: [], turns: 4 }, { instanceId: 'one' });
    await Promise.all(['a', 'b', 'c'].map((message) => world.sidecar.workflows.raiseEvent('one', 'message', message)));
    expect((await world.settle()).status).toBe('RUNNING');
    expect((await world.raise('message', 'd')).output).toEqual(['a', 'b', 'c', 'd']);
    expect(world.seen).toEqual(['a', 'b', 'c', 'd'].map((message) => `answer to ${message}`));
  });

  test('and are dropped when that is asked for', async () => {
    await using world = await workflowWorld(register);
    await world.run('forgetful', 1);
    await world.raise('kept', 1);
    expect((await world.raise('go')).output).toBe('nothing kept');
  });

  test('events that were raised while the instance was paused are kept', async () => {
    await using world = await workflowWorld(({ workflows }) =>
      workflows.register('collector', async (ctx, said: readonly unknown[]) => {
        const next = [...said, await ctx.waitForEvent('message')];
        return next.length === 3 ? next : ctx.continueAsNew(next);
      }),
    );
    await world.run('collector', []);
    await world.sidecar.workflows.pause('one');
    for (const message of ['a', 'b', 'c']) await world.raise('message', message);
    await world.sidecar.workflows.resume('one');
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: ['a', 'b', 'c'] });
  });

  test('timers of the round before have no effect', async () => {
    await using world = await workflowWorld(register);
    await world.run('abandoning', 1);
    await world.pass('90m');
    expect(world.seen).toEqual([]);
    expect((await world.pass('30m')).output).toBe('second round');
  });

  test('over restarts between rounds', async () => {
    await using world = await workflowWorld(register);
    await world.run('statusful', 1);
    for (const round of [2, 3, 4]) {
      await world.restart();
      expect((await world.pass('1m')).customStatus).toBe(`round ${round}`);
    }
    await world.sidecar.workflows.terminate('one');
    expect((await world.settle()).status).toBe('TERMINATED');
  });

  test('of a child: its parent waits for the last round', async () => {
    await using world = await workflowWorld(register);
    expect((await world.run('parent', 3)).output).toBe('lift-off');
  });
});

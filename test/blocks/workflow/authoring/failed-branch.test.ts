/** A branch that fails, and that no code waits for, fails its instance: the process goes on. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { asyncProgram } from '../../../../src/blocks/workflow/authoring/async-program.ts';
import { Registry } from '../../../../src/blocks/workflow/authoring/registry.ts';
import type { HistoryEvent } from '../../../../src/blocks/workflow/model/events.ts';
import { Core } from '../../../../src/blocks/workflow/replay/core.ts';
import { Drain } from '../../../../src/blocks/workflow/replay/microtask-drain.ts';
import { defineActivity, defineWorkflow, type WorkflowContext, type WorkflowFunction } from '../../../../src/index.ts';
import { RecordingLogger } from '../../../support/logger.ts';
import { type WorkflowWorld, workflowWorld } from '../../../support/workflow-world.ts';

const turnOf = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** What Node would have ended the process for. */
let unhandled: unknown[] = [];
let runner: NodeJS.UnhandledRejectionListener[] = [];
const keep = (error: unknown): void => void unhandled.push(error);

beforeEach(() => {
  unhandled = [];
  runner = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  process.on('uncaughtException', keep);
});

afterEach(() => {
  process.off('uncaughtException', keep);
  for (const listener of runner) process.on('unhandledRejection', listener);
});

const boom = defineActivity('boom', () => {
  throw new RangeError('no stock');
});
const ok = defineActivity('ok', (value: unknown) => value);

function worldOf(run: WorkflowFunction): Promise<WorkflowWorld> {
  return workflowWorld(({ workflows }) => workflows.register(defineWorkflow('flow', run), boom, ok));
}

const BRANCHES: readonly (readonly [
  what: string,
  branch: (ctx: WorkflowContext) => Promise<unknown>,
  reason: string,
])[] = [
  ['an activity that failed', (ctx) => ctx.callActivity(boom).then(() => 1), 'activity "boom" failed: no stock'],
  ['an event that did not come', (ctx) => ctx.waitForEvent('go', { timeout: 0 }).then(() => 1), 'event "go" failed'],
  [
    'an error made of it',
    async (ctx) => {
      await ctx.callActivity(boom).catch((cause: unknown) => {
        throw new TypeError('cannot audit', { cause });
      });
    },
    'cannot audit',
  ],
  [
    'an error that is thrown again after another step',
    async (ctx) => {
      try {
        await ctx.callActivity(boom);
      } catch (error) {
        await ctx.callActivity(ok, 'undone');
        throw error;
      }
    },
    'activity "boom" failed: no stock',
  ],
  [
    'Promise.any of nothing but failures',
    (ctx) => Promise.any([ctx.callActivity(boom), ctx.callActivity(boom)]),
    'All promises were rejected',
  ],
];

describe('a branch that no code waits for', () => {
  test.each(BRANCHES)('fails the instance: %s', async (_what, branch, reason) => {
    await using world = await worldOf(async (ctx) => {
      void branch(ctx);
      await ctx.sleep('1h');
      return 'done';
    });
    const failed = {
      status: 'FAILED',
      failure: { errorType: 'UnhandledBranchError', message: expect.stringContaining(reason) },
    };
    expect(await world.run('flow')).toMatchObject(failed);
    await world.restart();
    expect(await world.pass('2h')).toMatchObject(failed);
    expect(unhandled).toEqual([]);
    const lines = world.logger.at('warn').filter(({ message }) => message === 'a workflow failed');
    expect(lines).toMatchObject([{ details: { instanceId: 'one', workflowName: 'flow' } }]);
  });

  test('fails it in the turn in which it failed, so that it can be run again from there', async () => {
    let isMended = false;
    await using world = await workflowWorld(({ workflows }) =>
      workflows.register(
        defineActivity('boom', () => {
          if (!isMended) throw new RangeError('no stock');
        }),
        defineWorkflow('flow', async (ctx) => {
          void ctx.callActivity('boom').then(() => undefined);
          await ctx.sleep('1h');
          return 'done';
        }),
      ),
    );
    expect(await world.run('flow')).toMatchObject({ status: 'FAILED' });
    isMended = true;
    await world.sidecar.workflows.rerun('one', { from: 'failure', instanceId: 'two' });
    expect(await world.pass('1h', 'two')).toMatchObject({ status: 'COMPLETED', output: 'done' });
  });

  test('fails no instance whose code handles the error, at once or in the same step', async () => {
    await using world = await worldOf(async (ctx) => {
      const late = ctx.all([ctx.callActivity(boom)]);
      void ctx.callActivity(boom);
      const caught = await ctx.callActivity(boom).catch(() => 'caught');
      await ctx.sleep('1h');
      return [caught, await late.catch(() => 'caught late')];
    });
    await world.run('flow');
    expect(await world.pass('1h')).toMatchObject({ status: 'COMPLETED', output: ['caught', 'caught late'] });
    expect(unhandled).toEqual([]);
  });

  test('changes nothing in a run that began under an earlier release, as its history may go on', async () => {
    const none = (): void => undefined;
    const run: WorkflowFunction<unknown> = async (ctx) => {
      void ctx.callActivity('boom').then(() => undefined);
      await ctx.waitForEvent('go');
      return ctx.callActivity('ok');
    };
    const logger = new RecordingLogger();
    const core = new Core({
      instanceId: 'one',
      executionId: 'run',
      workflowName: 'flow',
      program: asyncProgram(run, new Registry(none, none)),
      logger,
      drain: new Drain(),
      isRerun: false,
      onStray: none,
    });
    const action = { type: 'activityScheduled', input: undefined, attempt: 1 } as const;
    const failure = { errorType: 'RangeError', message: 'no stock' };
    const begun: HistoryEvent[] = [{ type: 'started', input: undefined }, { type: 'begun' }];
    await core.replay({ at: 1, events: [...begun, { ...action, name: 'boom', sequence: 1, activityId: 1 }] });
    await core.replay({ at: 2, events: [{ type: 'activityFailed', sequence: 1, failure }] });
    await core.replay({
      at: 3,
      events: [
        { type: 'eventRaised', name: 'go', data: undefined },
        { ...action, name: 'ok', sequence: 2, activityId: 2 },
      ],
    });
    core.endReplay(false);
    expect(core.outcome).toBeUndefined();
    expect(unhandled).toEqual([]);
  });

  test('leaves the rejections of other code to Node, also while it is asked', async () => {
    const foreign = new Error('not of a workflow');
    await using world = await workflowWorld(({ workflows }) =>
      workflows.register(
        defineActivity('boom', () => {
          throw new RangeError('no stock');
        }),
        defineWorkflow('flow', async (ctx) => {
          await ctx.callActivity('boom').catch(() => undefined);
          // In the same step, but not from a task.
          void Promise.reject(foreign);
          await ctx.sleep('1h');
        }),
      ),
    );
    expect(await world.run('flow')).toMatchObject({ status: 'RUNNING' });
    await turnOf();
    expect(unhandled).toEqual([foreign]);
    expect(process.listenerCount('unhandledRejection')).toBe(0);
  });
});

/** A cancellation: what the code waits for rejects, the code cleans up, and the instance ends. */
import { describe, expect, test } from 'vitest';
import type { HistoryEvent, ReplayRules, Turn } from '../../../src/blocks/workflow/model/events.ts';
import {
  type ActivityContext,
  CanceledError,
  defineActivity,
  defineWorkflow,
  TaskFailedError,
  type WorkflowContext,
  type WorkflowFunction,
} from '../../../src/index.ts';
import { replayed } from '../../support/replayed.ts';
import { type Registering, type WorkflowWorld, workflowWorld } from '../../support/workflow-world.ts';

/** An order whose steps are undone, last first, whatever ends it. */
const saga =
  (wait: (ctx: WorkflowContext) => Promise<unknown>): Registering =>
  ({ workflows }, { seen }) => {
    const step = defineActivity('step', (name: string) => void seen.push(name));
    const hang = defineActivity('hang', (_input, { signal }) => {
      seen.push('begins');
      return new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => {
          seen.push(`signal: ${(signal.reason as Error).name}`);
          reject(signal.reason);
        }),
      );
    });
    const brittle = defineActivity('brittle', () => {
      throw new Error('not yet');
    });
    const order = defineWorkflow('order', async (ctx) => {
      await ctx.callActivity(step, 'reserve');
      try {
        await wait(ctx);
        return 'shipped';
      } catch (error) {
        seen.push(`caught ${(error as Error).name}`);
        await ctx.callActivity(step, 'release');
        await ctx.sleep('1m');
        throw error;
      } finally {
        await ctx.callActivity(step, 'close');
      }
    });
    const kid = defineWorkflow('kid', async (ctx) => {
      try {
        await ctx.waitForEvent('never');
      } finally {
        await ctx.callActivity(step, 'kid cleans up');
      }
    });
    workflows.register(step, hang, brittle, order, kid);
  };

const WAITS: readonly (readonly [what: string, wait: (ctx: WorkflowContext) => Promise<unknown>])[] = [
  ['a timer', (ctx) => ctx.sleep('72h')],
  ['an event', (ctx) => ctx.waitForEvent('go')],
  ['an event with a limit', (ctx) => ctx.waitForEvent('go', { timeout: 3_600_000_000 })],
  [
    'an activity that is tried again',
    (ctx) => ctx.callActivity('brittle', 1, { retry: { maxRetries: 8, delay: 3_600_000 } }),
  ],
  ['an activity without code', (ctx) => ctx.callActivity('missing')],
  ['a child', (ctx) => ctx.callChild('kid')],
  ['all of several', (ctx) => Promise.all([ctx.sleep('72h'), ctx.callChild('kid'), ctx.waitForEvent('go')])],
  ['the first of several', (ctx) => ctx.race([ctx.sleep('72h'), ctx.waitForEvent('go')])],
];

async function begun(registering: Registering): Promise<WorkflowWorld> {
  const world = await workflowWorld(registering);
  await world.run('order');
  return world;
}

describe.each(WAITS)('an instance that waits for %s', (_what, wait) => {
  test('cleans up and is canceled, over restarts at each step', async () => {
    await using world = await begun(saga(wait));
    await world.restart();
    world.seen.length = 0;
    await world.sidecar.workflows.cancel('one');
    expect(await world.settle()).toMatchObject({ status: 'RUNNING' });
    expect(world.seen.filter((line) => !line.startsWith('kid'))).toEqual(['caught CanceledError', 'release']);
    await world.restart();
    const state = await world.pass('1m');
    expect(state).toMatchObject({ status: 'CANCELED' });
    expect([state.failure, state.output]).toEqual([undefined, undefined]);
    expect(world.seen.filter((line) => line === 'release' || line === 'close')).toEqual(['release', 'close']);
    const types = (await world.history()).map(({ type }) => type);
    expect(types.filter((type) => type === 'cancelRequested')).toHaveLength(1);
    expect(await world.size()).toBeGreaterThan(0);
    await world.sidecar.workflows.purge('one');
  });

  test('rejects its result', async () => {
    await using world = await begun(saga(wait));
    const run = world.sidecar.workflows.run('one');
    const error = run.result().catch((rejected: unknown) => rejected);
    await run.cancel();
    await world.clock.advance('1m');
    expect(await error).toMatchObject({
      code: 'ERR_WORKFLOW_CANCELED',
      message: 'workflow "order" with the ID "one" was canceled',
    });
  });
});

describe('an instance that waits for an activity', () => {
  test('ends it by its signal, and is canceled', async () => {
    await using world = await workflowWorld(saga((ctx) => ctx.callActivity('hang')));
    await world.sidecar.workflows.start('order', undefined, { instanceId: 'one' });
    await expect.poll(() => world.seen).toContain('begins');
    await world.sidecar.workflows.cancel('one');
    const state = await world.pass('1m');
    expect([state.status, world.seen.slice(2)]).toEqual([
      'CANCELED',
      ['caught CanceledError', 'signal: CanceledError', 'release', 'close'],
    ]);
  });
});

describe('code that is canceled', () => {
  test('has completed if it returns, and failed if it throws something else', async () => {
    await using world = await workflowWorld(({ workflows }) => {
      workflows.register('calm', (ctx: WorkflowContext) => ctx.sleep('1h').catch((error: Error) => error.message));
      workflows.register('cross', async (ctx: WorkflowContext) => {
        await ctx.sleep('1h').catch((cause: unknown) => {
          throw new TypeError('cannot undo it', { cause });
        });
      });
    });
    for (const name of ['calm', 'cross']) {
      await world.run(name, undefined, name);
      await world.sidecar.workflows.cancel(name);
    }
    expect(await world.settle('calm')).toMatchObject({ status: 'COMPLETED', output: 'the workflow was canceled' });
    expect(await world.settle('cross')).toMatchObject({ status: 'FAILED', failure: { errorType: 'TypeError' } });
  });

  test('knows the error from that of a task', async () => {
    const seen: boolean[] = [];
    await using world = await workflowWorld(({ workflows }) => {
      workflows.register('flow', async (ctx: WorkflowContext) => {
        const error: unknown = await ctx.sleep('1h').catch((caught: unknown) => caught);
        seen.push(error instanceof CanceledError, error instanceof TaskFailedError);
      });
    });
    await world.run('flow');
    await world.sidecar.workflows.cancel('one');
    expect([(await world.settle()).status, seen]).toEqual(['COMPLETED', [true, false]]);
  });

  test('may go on for good, until it is terminated', async () => {
    await using world = await workflowWorld(({ workflows }) => {
      workflows.register('stubborn', async (ctx: WorkflowContext) => {
        await ctx.sleep('1h').catch(() => undefined);
        await ctx.waitForEvent('never');
      });
    });
    await world.run('stubborn');
    await world.sidecar.workflows.cancel('one');
    await world.sidecar.workflows.cancel('one');
    expect((await world.settle()).status).toBe('RUNNING');
    await world.sidecar.workflows.terminate('one');
    expect((await world.settle()).status).toBe('TERMINATED');
  });

  test('has no failure of a branch that no code waits for', async () => {
    await using world = await workflowWorld(({ workflows }) => {
      workflows.registerActivity('undo', () => 'undone');
      workflows.register('branches', async (ctx: WorkflowContext) => {
        const branch = async (): Promise<void> => {
          await ctx.sleep('2h');
        };
        void branch();
        return ctx.sleep('1h').catch(() => ctx.callActivity('undo'));
      });
    });
    await world.run('branches');
    await world.sidecar.workflows.cancel('one');
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: 'undone' });
    await world.restart();
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: 'undone' });
  });

  test('fires the signals of activities under way only, and calls others with one that does not', async () => {
    const signals: AbortSignal[] = [];
    await using world = await workflowWorld(({ workflows }) => {
      workflows.registerActivity('hang', (_input, { signal }: ActivityContext) => {
        signals.push(signal);
        if (signals.length === 2) return 'undone';
        return new Promise((_resolve, reject) => signal.addEventListener('abort', reject));
      });
      workflows.register('flow', async (ctx: WorkflowContext) => {
        await ctx.callActivity('hang').catch(() => ctx.callActivity('hang'));
      });
    });
    await world.sidecar.workflows.start('flow', undefined, { instanceId: 'one' });
    await expect.poll(() => signals).toHaveLength(1);
    await world.sidecar.workflows.cancel('one');
    await world.settle();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    expect(signals[0]?.reason).toBeInstanceOf(CanceledError);
  });
});

test('an activity that asks for its signal after the cancellation gets one that has fired', async () => {
  let goOn = (): void => undefined;
  const canceled = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const reasons: unknown[] = [];
  await using world = await workflowWorld(({ workflows }, { seen }) => {
    workflows.registerActivity('late', async (_input, ctx: ActivityContext) => {
      seen.push('begins');
      await canceled;
      reasons.push(ctx.signal.reason);
    });
    workflows.register('flow', async (ctx: WorkflowContext) => {
      await ctx.callActivity('late').catch(() => ctx.waitForEvent('never'));
    });
  });
  await world.sidecar.workflows.start('flow', undefined, { instanceId: 'one' });
  await expect.poll(() => world.seen).toEqual(['begins']);
  await world.sidecar.workflows.cancel('one');
  goOn();
  await world.settle();
  expect(reasons).toEqual([expect.any(CanceledError)]);
});

describe('an instance', () => {
  test('that has not begun ends without running', async () => {
    await using world = await workflowWorld(saga((ctx) => ctx.sleep('1h')));
    await world.sidecar.workflows.start('order', undefined, { instanceId: 'one', startAt: world.clock.now() + 5_000 });
    await world.sidecar.workflows.cancel('one');
    expect((await world.settle()).status).toBe('CANCELED');
    await world.restart();
    await world.pass('1h');
    expect([(await world.settle()).status, world.seen]).toEqual(['CANCELED', []]);
  });

  test('that is paused is canceled when it goes on', async () => {
    await using world = await begun(saga((ctx) => ctx.sleep('72h')));
    await world.sidecar.workflows.pause('one');
    await world.sidecar.workflows.cancel('one');
    await world.restart();
    expect([(await world.settle()).status, world.seen]).toEqual(['SUSPENDED', ['reserve']]);
    await world.sidecar.workflows.resume('one');
    expect((await world.pass('1m')).status).toBe('CANCELED');
  });

  test('that is over stays as it is', async () => {
    await using world = await workflowWorld(({ workflows }) => workflows.register('echo', (_ctx, input) => input));
    await world.run('echo', 'said');
    await world.sidecar.workflows.cancel('one');
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: 'said' });
    expect(await world.sidecar.workflows.cancel('none')).toBe(false);
  });

  test('cancels its children, those of earlier runs and of the same turn too, and theirs', async () => {
    await using world = await workflowWorld((sidecar, { seen }) => {
      saga((ctx) => ctx.callChild('kid', undefined, { instanceId: 'grandchild' }))(sidecar, { seen } as WorkflowWorld);
      sidecar.workflows.register('parent', async (ctx: WorkflowContext, round: number) => {
        if (round === 0) {
          void ctx.callChild('kid', undefined, { instanceId: 'of-an-earlier-run' });
          await ctx.sleep('1s');
          return ctx.continueAsNew(1);
        }
        try {
          await ctx.callChild('order', undefined, { instanceId: 'child' });
        } finally {
          await ctx.callChild('echo', 'from the clean-up', { instanceId: 'afterwards' });
        }
      });
      sidecar.workflows.register('echo', (_ctx, input) => input);
    });
    await world.run('parent', 0);
    await world.pass('2s');
    await world.sidecar.workflows.cancel('one');
    await world.pass('2m');
    const ids = ['one', 'child', 'grandchild', 'of-an-earlier-run', 'afterwards'];
    const states = await Promise.all(ids.map((id) => world.settle(id)));
    expect(states.map(({ status }) => status)).toEqual(['CANCELED', 'CANCELED', 'CANCELED', 'CANCELED', 'COMPLETED']);
    expect(world.seen.filter((line) => line === 'kid cleans up')).toHaveLength(2);
  });

  describe.each([
    ['ends as canceled', (error: unknown) => Promise.reject(error)],
    ['returns all the same', () => 'done'],
    ['fails in its clean-up', () => Promise.reject(new Error('no way back'))],
  ] as const)('whose child %s', (_what, end) => {
    const family: Registering = ({ workflows }, { seen }) => {
      const note = defineActivity('note', (line: string) => void seen.push(line));
      const child = defineWorkflow('child', async (ctx) => {
        try {
          return await ctx.waitForEvent('never');
        } catch (error) {
          await ctx.sleep('1h');
          await ctx.callActivity(note, 'the child is clean');
          return end(error);
        }
      });
      const parent = defineWorkflow('parent', async (ctx) => {
        try {
          return await ctx.callChild(child, undefined, { instanceId: 'child', retry: { maxRetries: 3 } });
        } catch (error) {
          await ctx.callActivity(note, `the parent cleans up: ${(error as Error).name}`);
          throw error;
        }
      });
      workflows.register(note, child, parent);
    };

    test('cleans up after the child, over restarts', async () => {
      await using world = await workflowWorld(family);
      await world.run('parent');
      await world.sidecar.workflows.cancel('one');
      expect(await world.pass('59m')).toMatchObject({ status: 'RUNNING' });
      await world.restart();
      expect(world.seen).toEqual([]);
      expect(await world.pass('1m')).toMatchObject({ status: 'CANCELED' });
      expect(world.seen).toEqual(['the child is clean', 'the parent cleans up: CanceledError']);
      await world.restart();
      expect((await world.history()).filter(({ type }) => type === 'childStarted')).toHaveLength(1);
    });

    test('can be terminated meanwhile, and the child with it', async () => {
      await using world = await workflowWorld(family);
      await world.run('parent');
      await world.sidecar.workflows.cancel('one');
      await world.clock.settled();
      await world.sidecar.workflows.terminate('one');
      const states = [await world.pass('2h'), await world.settle('child')];
      expect(states.map(({ status }) => status)).toEqual(['TERMINATED', 'TERMINATED']);
      expect(world.seen).toEqual([]);
    });
  });

  test('whose child waits for its code cleans up once the child is terminated', async () => {
    await using world = await begun(saga((ctx) => ctx.callChild('missing', undefined, { instanceId: 'child' })));
    await world.sidecar.workflows.cancel('one');
    expect(await world.pass('1h')).toMatchObject({ status: 'RUNNING' });
    await world.sidecar.workflows.terminate('child');
    expect(await world.pass('1m')).toMatchObject({ status: 'CANCELED' });
    expect(world.seen).toContain('release');
  });

  test('whose child is canceled alone gets an error of that task', async () => {
    await using world = await workflowWorld((sidecar, own) => {
      saga((ctx) => ctx.sleep('72h'))(sidecar, own);
      sidecar.workflows.register('parent', (ctx: WorkflowContext) =>
        ctx.callChild('kid', undefined, { instanceId: 'kid' }),
      );
    });
    await world.run('parent');
    await world.sidecar.workflows.cancel('kid');
    const { status, failure } = await world.settle();
    expect([status, failure?.message]).toEqual(['FAILED', 'child workflow "kid" failed: workflow "kid" was canceled']);
  });

  test('that was canceled runs again from the start', async () => {
    await using world = await begun(saga((ctx) => ctx.waitForEvent('go')));
    await world.sidecar.workflows.cancel('one');
    await world.pass('1m');
    const again = await world.sidecar.workflows.rerun('one', { instanceId: 'two' });
    await world.raise('go', undefined, 'two');
    expect(await again.result()).toBe('shipped');
  });
});

describe('a run whose child is canceled with it', () => {
  const run: WorkflowFunction<never> = async (ctx) => {
    try {
      await ctx.callChild('kid', undefined, { instanceId: 'kid' });
    } finally {
      await ctx.callActivity('release');
    }
  };
  const release = { type: 'activityScheduled', sequence: 2, name: 'release', input: undefined, attempt: 1 } as const;
  const ended = { type: 'childFailed', sequence: 1, failure: { errorType: 'CanceledError', message: 'no' } } as const;

  /** Turns of which the first one begins the child, by these rules. */
  function turns(rules: ReplayRules | undefined, ...rest: readonly (readonly HistoryEvent[])[]): readonly Turn[] {
    const begins = rules === undefined ? ({ type: 'begun' } as const) : ({ type: 'begun', rules } as const);
    const child = { type: 'childStarted', sequence: 1, name: 'kid', instanceId: 'kid', input: undefined } as const;
    const events: readonly (readonly HistoryEvent[])[] = [
      [{ type: 'started', input: undefined }, begins, child],
      ...rest,
    ];
    return events.map((of, index) => ({ at: index + 1, events: of }));
  }
  const cleanUp: HistoryEvent = { ...release, activityId: 2 };
  const atOnce = [[{ type: 'cancelRequested' }, cleanUp], [ended]] as const;
  const afterChild = [[{ type: 'cancelRequested' }], [ended, cleanUp]] as const;

  test('of an earlier release is replayed as it was recorded: its clean-up began at once', async () => {
    for (const rules of [undefined, 1] as const) {
      expect((await replayed(run, ...turns(rules, ...atOnce))).outcome).toBeUndefined();
      expect((await replayed(run, ...turns(rules, ...afterChild))).isNonDeterministic).toBe(true);
    }
  });

  test('of this one waits for the end of the child', async () => {
    expect((await replayed(run, ...turns(2, ...afterChild))).outcome).toBeUndefined();
    expect((await replayed(run, ...turns(2, ...atOnce))).isNonDeterministic).toBe(true);
  });
});

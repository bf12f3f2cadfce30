/** The time limit of an attempt of an activity: its signal fires, and the attempt has failed. */
import { describe, expect, test } from 'vitest';
import { type ActivityContext, type Duration, defineActivity, defineWorkflow } from '../../../src/index.ts';
import { type WorkflowWorld, workflowWorld } from '../../support/workflow-world.ts';

const LONG = 'a function has not returned for five minutes: it counts as running until it does';
const LATE =
  'a function has not returned within its time-out: its signal has fired, and it counts as failed, even if it still runs';

/** A workflow whose activity never returns; it notes each attempt, and when its signal fires. */
function hangingWorld(timeout?: Duration): Promise<WorkflowWorld> {
  return workflowWorld(({ workflows }, world) => {
    const note = (what: string): number => world.seen.push(`${what} at ${secondsOf(world)}`);
    const hang = defineActivity('hang', (_input, { attempt, signal }: ActivityContext) => {
      note(`${attempt} begins`);
      signal.addEventListener('abort', () => note(`${attempt} is told`));
      return new Promise<string>(() => undefined);
    });
    const flow = defineWorkflow('flow', (ctx) =>
      ctx.callActivity(hang, undefined, {
        retry: { maxRetries: 1, delay: 10_000 },
        timeout: timeout ?? 0,
      }),
    );
    workflows.register(hang, flow);
  });
}

function secondsOf({ clock }: WorkflowWorld): number {
  return (clock.now() - Date.parse('2026-01-01T00:00:00Z')) / 1_000;
}

describe('an activity that takes longer than its time limit', () => {
  test('fails, and its signal fires: it is tried again, and then the workflow fails', async () => {
    await using world = await hangingWorld('3s');
    await world.sidecar.workflows.start('flow', undefined, { instanceId: 'one' });
    await world.clock.advance('1h');
    const { status, failure } = await world.settle();
    expect(world.seen).toEqual(['1 begins at 0', '1 is told at 3', '2 begins at 13', '2 is told at 16']);
    expect(status).toBe('FAILED');
    expect(failure?.message).toBe('activity "hang" failed: no result within 3000 ms');
  });

  test('has a failure of its own type, without the stack of the engine', async () => {
    await using world = await hangingWorld('PT3S');
    await world.sidecar.workflows.start('flow', undefined, { instanceId: 'one' });
    await world.clock.advance('1m');
    await world.settle();
    const failures = (await world.history()).filter((event) => event.type === 'activityFailed');
    const failure = { errorType: 'ActivityTimeoutError', message: 'no result within 3000 ms' };
    expect(failures.map((event) => event.failure)).toEqual([failure, failure]);
  });

  test('is told in the log and in the events', async () => {
    await using world = await hangingWorld('3s');
    await world.sidecar.workflows.start('flow', undefined, { instanceId: 'one' });
    await world.clock.advance('5s');
    expect(world.logger.at('warn').filter(({ message }) => message === LATE)).toEqual([
      { level: 'warn', message: LATE, details: { instanceId: 'one', activity: 'hang', attempt: 1, timeoutMs: 3_000 } },
    ]);
    const [failed] = world.emitted('activityFailed');
    expect(failed).toMatchObject({
      activityName: 'hang',
      attempt: 1,
      durationMs: 3_000,
      reason: 'no result within 3000 ms',
    });
    await world.clock.advance('1h');
  });

  test('gives its place to another one, and what it returns later is not used', async () => {
    let end: (output: string) => void = () => undefined;
    await using world = await workflowWorld(
      ({ workflows }) => {
        workflows.register(
          defineActivity('slow', () => new Promise<string>((resolve) => (end = resolve))),
          defineActivity('quick', () => 'quick'),
          defineWorkflow('flow', async (ctx) => {
            const slow = ctx.callActivity('slow', undefined, { timeout: '1s' }).catch(() => 'too late');
            return [await slow, await ctx.callActivity('quick')];
          }),
        );
      },
      { workflows: { maxConcurrentActivities: 1 } },
    );
    await world.sidecar.workflows.start('flow', undefined, { instanceId: 'one' });
    const { output } = await world.pass('1s');
    expect(output).toEqual(['too late', 'quick']);
    end('late');
    await world.clock.settled();
    expect((await world.history()).filter(({ type }) => type === 'activityCompleted')).toHaveLength(1);
  });

  test('whose function heeds the signal: the time limit is its failure, not what the function throws for it', async () => {
    await using world = await workflowWorld(({ workflows }) => {
      workflows.register(
        defineActivity('fetch', async (_input, { signal }) => {
          await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
        }),
        defineWorkflow('flow', (ctx) => ctx.callActivity('fetch', undefined, { timeout: 500 })),
      );
    });
    await world.sidecar.workflows.start('flow', undefined, { instanceId: 'one' });
    expect((await world.pass('1s')).failure?.message).toBe('activity "fetch" failed: no result within 500 ms');
  });
});

describe('an activity without a time limit', () => {
  test('is told in the log once, after five minutes', async () => {
    await using world = await hangingWorld();
    await world.sidecar.workflows.start('flow', undefined, { instanceId: 'one' });
    await world.clock.advance('299999ms');
    const told = (): readonly object[] => world.logger.at('warn').filter(({ message }) => message === LONG);
    expect(told()).toEqual([]);
    await world.clock.advance('1h');
    const details = { instanceId: 'one', activity: 'hang', attempt: 1, runningMs: 300_000 };
    expect(told()).toEqual([{ level: 'warn', message: LONG, details }]);
    expect(world.seen).toEqual(['1 begins at 0']);
  });

  test('leaves no timer behind when the sidecar has stopped', async () => {
    const world = await hangingWorld();
    await world.sidecar.workflows.start('flow', undefined, { instanceId: 'one' });
    await world.clock.advance('1s');
    await world.stop();
    expect(world.clock.pendingTimers).toBe(0);
  });

  test('that returns leaves no timer behind', async () => {
    await using world = await workflowWorld(({ workflows }) => {
      workflows.register(
        defineActivity('quick', () => 1),
        defineWorkflow('flow', (ctx) => ctx.callActivity('quick', undefined, { timeout: '1m' })),
      );
    });
    expect((await world.run('flow')).output).toBe(1);
    expect(world.clock.pendingTimers).toBe(0);
  });
});

test.each(['1 day', '-1s', -1, Number.NaN, Number.POSITIVE_INFINITY, '', 'P1M', {}])(
  'a time limit of %j is refused',
  async (timeout) => {
    await using world = await hangingWorld(timeout as Duration);
    expect((await world.run('flow')).failure?.message).toMatch(
      /^timeout is .*: expected a duration: a number of milliseconds, or a text such as 500ms, 1h30m, 3d, 2w, PT1H30M or P1D$/,
    );
  },
);

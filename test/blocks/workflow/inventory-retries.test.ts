/** What Dapr's own tests of retries show: how often, when, for what, and over a restart. */
import { describe, expect, test } from 'vitest';
import { defineActivity, defineWorkflow, type RetryOptions, type WorkflowFailure } from '../../../src/index.ts';
import { type WorkflowWorld, workflowWorld } from '../../support/workflow-world.ts';

class Busy extends Error {}

interface Trying {
  /** How many attempts fail. */
  readonly failures: number;
  readonly policy: Omit<RetryOptions<WorkflowFailure>, 'retryIf'>;
  readonly handled?: string;
}

/** A workflow that calls an activity, or a child, which fails so often. Notes the second of each attempt. */
async function retryWorld(kind: 'activity' | 'child'): Promise<WorkflowWorld> {
  let tried = 0;
  const begin = Date.parse('2026-01-01T00:00:00Z');
  const attempt = (world: WorkflowWorld, failures: number): string => {
    world.seen.push(String((world.clock.now() - begin) / 1000));
    if (++tried <= failures) throw new Busy(`attempt ${tried}`);
    return `succeeded at ${tried}`;
  };
  return workflowWorld((sidecar, world) => {
    sidecar.workflows.register(
      defineActivity('try', (failures: number) => attempt(world, failures)),
      defineWorkflow('tryChild', (ctx, failures: number) => ctx.callActivity('try', failures)),
      defineWorkflow('trying', async (ctx, { failures, policy, handled }: Trying) => {
        const retryIf = (failure: WorkflowFailure): boolean => failure.errorType === handled;
        const retry = handled === undefined ? policy : { ...policy, retryIf };
        return kind === 'activity'
          ? ctx.callActivity('try', failures, { retry })
          : ctx.callChild('tryChild', failures, { retry });
      }),
    );
  });
}

describe('jitter', () => {
  test('spreads the attempts of instances that fail together, and none comes later than without it', async () => {
    const waits: number[] = [];
    await using world = await workflowWorld(({ workflows }, { clock }) => {
      const begin = Date.parse('2026-01-01T00:00:00Z');
      workflows.register(
        defineActivity('busy', (_input, { attempt }) => {
          if (attempt === 1) throw new Busy('all at once');
          waits.push(clock.now() - begin);
        }),
        defineWorkflow('jittery', (ctx) =>
          ctx.callActivity('busy', undefined, { retry: { maxRetries: 1, delay: 10_000, jitter: 0.5 } }),
        ),
      );
    });
    const ids = Array.from({ length: 50 }, (_, index) => `one-${index}`);
    for (const instanceId of ids) await world.sidecar.workflows.start('jittery', undefined, { instanceId });
    await world.clock.settled();
    // A replay gets the same instants.
    const timers = (): Promise<readonly (number | undefined)[]> =>
      Promise.all(
        ids.map(async (id) => (await world.history(id)).find((event) => event.type === 'timerCreated')?.dueAt),
      );
    const planned = await timers();
    await world.restart();
    await world.clock.advance('10s');
    expect(await timers()).toEqual(planned);
    expect(waits).toHaveLength(50);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(5_000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(10_000);
    expect(new Set(waits).size).toBeGreaterThan(40);
    const begin = Date.parse('2026-01-01T00:00:00Z');
    expect(waits.toSorted()).toEqual(planned.map((at) => (at ?? 0) - begin).toSorted());
  });

  test.each([-0.1, 1.1, Number.NaN])('of %d is refused', async (jitter) => {
    await using world = await workflowWorld(({ workflows }) =>
      workflows.register('flow', (ctx) => ctx.callActivity('any', undefined, { retry: { maxRetries: 1, jitter } })),
    );
    expect((await world.run('flow')).failure?.message).toBe(`retry.jitter is ${jitter}: expected a number from 0 to 1`);
  });
});

describe.each(['activity', 'child'] as const)('retries of an %s', (kind) => {
  test.each<[what: string, trying: Trying, seconds: readonly number[], result: string]>([
    ['no failure, one attempt', { failures: 0, policy: { maxRetries: 4 } }, [0], 'succeeded at 1'],
    ['one attempt in all', { failures: 9, policy: { maxRetries: 0 } }, [0], 'FAILED'],
    ['1 s, then twice as long each time', { failures: 3, policy: { maxRetries: 8 } }, [0, 1, 3, 7], 'succeeded at 4'],
    ['the attempts are used up', { failures: 9, policy: { maxRetries: 2 } }, [0, 1, 3], 'FAILED'],
    ['constant', { failures: 3, policy: { maxRetries: 3, delay: 5_000, factor: 1 } }, [0, 5, 10, 15], 'succeeded at 4'],
    [
      'at most so long',
      { failures: 4, policy: { maxRetries: 4, factor: 10, maxDelay: 20_000 } },
      [0, 1, 11, 31, 51],
      'succeeded at 5',
    ],
    ['three by default', { failures: 9, policy: {} }, [0, 1, 3, 7], 'FAILED'],
    [
      'without limit',
      { failures: 9, policy: { maxRetries: 'unlimited', factor: 1 } },
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
      'succeeded at 10',
    ],
    ['at once', { failures: 2, policy: { maxRetries: 2, delay: 0 } }, [0, 0, 0], 'succeeded at 3'],
  ])('%s', async (_what, trying, seconds, result) => {
    await using world = await retryWorld(kind);
    await world.run('trying', trying);
    const { status, output } = await world.pass('10m');
    expect(world.seen).toEqual(seconds.map(String));
    expect(output ?? status).toBe(result);
  });

  test('a failure that is not worth another attempt', async () => {
    await using world = await retryWorld(kind);
    const handled = kind === 'activity' ? 'Busy' : 'TaskFailedError';
    await world.run('trying', { failures: 1, policy: { maxRetries: 2 }, handled });
    expect((await world.pass('1m')).output).toBe('succeeded at 2');
    await using other = await retryWorld(kind);
    await other.run('trying', { failures: 1, policy: { maxRetries: 2 }, handled: 'SomethingElse' });
    expect((await other.pass('1m')).status).toBe('FAILED');
    expect(other.seen.length).toBe(1);
  });

  test('no delay stays none, however fast it grows', async () => {
    await using world = await retryWorld(kind);
    const policy = { maxRetries: 4, delay: 0, factor: 1e200 };
    expect((await world.run('trying', { failures: 4, policy })).output).toBe('succeeded at 5');
    const delays = (await world.history()).filter((event) => event.type === 'timerCreated').map(({ dueAt }) => dueAt);
    expect(delays).toEqual(Array(4).fill(world.clock.now()));
  });

  test('the waits are durable: over restarts the attempts and their times stay', async () => {
    await using world = await retryWorld(kind);
    await world.run('trying', { failures: 3, policy: { maxRetries: 3, delay: 60_000 } });
    await world.pass('30s');
    await world.restart();
    await world.pass('30s');
    await world.restart();
    expect((await world.pass('10m')).output).toBe('succeeded at 4');
    expect(world.seen).toEqual(['0', '60', '180', '420']);
  });

  test('terminated while it waits for the next attempt: none comes', async () => {
    await using world = await retryWorld(kind);
    await world.run('trying', { failures: 9, policy: { maxRetries: 8 } });
    await world.sidecar.workflows.terminate('one');
    expect((await world.pass('1h')).status).toBe('TERMINATED');
    expect(world.seen).toEqual(['0']);
  });
});

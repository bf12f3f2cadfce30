/** What Dapr's own tests of external events and timers show. */
import { describe, expect, test } from 'vitest';
import { type Duration, defineWorkflow, type Sidecar } from '../../../src/index.ts';
import { type WorkflowWorld, workflowWorld } from '../../support/workflow-world.ts';

const MINUTE_MS = 60_000;

function register(sidecar: Sidecar): void {
  sidecar.workflows.register(
    defineWorkflow('collect', async (ctx, names: readonly string[]) => {
      const events: unknown[] = [];
      for (const name of names) events.push(await ctx.waitForEvent(name));
      return events;
    }),
    defineWorkflow('limited', async (ctx, timeoutMs: number) => {
      try {
        return ['came', await ctx.waitForEvent('go', { timeout: timeoutMs })];
      } catch (error) {
        return ['late', (error as Error).name];
      }
    }),
    defineWorkflow('limitedTwice', async (ctx) => {
      const first = await ctx.waitForEvent('go', { timeout: MINUTE_MS });
      await ctx.sleep('2m');
      return [first, await ctx.waitForEvent('go', { timeout: MINUTE_MS })];
    }),
    defineWorkflow('both', async (ctx) => {
      const events = [ctx.waitForEvent('x'), ctx.waitForEvent('x'), ctx.waitForEvent('y')];
      return Promise.all(events);
    }),
    defineWorkflow('until', async (ctx, until: Duration | `${number}-${number}-${number}T${string}`) => {
      await ctx.sleep(typeof until === 'string' && until.endsWith('Z') ? new Date(until) : until);
      return ctx.now();
    }),
    defineWorkflow('first', async (ctx) => {
      const slow = ctx.sleep('1h').then(() => 'slow');
      const quick = ctx.sleep('1m').then(() => 'quick');
      return ctx.race([slow, quick]);
    }),
    defineWorkflow('many', async (ctx) => {
      const order: number[] = [];
      await Promise.all(
        [5, 3, 9, 1, 7].map(async (minutes) => {
          await ctx.sleep(minutes * MINUTE_MS);
          order.push(minutes);
        }),
      );
      return order;
    }),
  );
}

describe.each(['', ' over restarts'])('events%s', (restarted) => {
  const restart = async (world: WorkflowWorld): Promise<void> => {
    if (restarted !== '') await world.restart();
  };

  test('in any case, early ones in order, each once', async () => {
    await using world = await workflowWorld(register);
    await world.run('collect', ['B', 'a', 'A', 'b']);
    await world.raise('a', 1);
    await restart(world);
    await world.raise('A', 2);
    await world.raise('unknown', 'x');
    await restart(world);
    expect((await world.raise('b', 3)).status).toBe('RUNNING');
    await restart(world);
    expect(await world.raise('B', 4)).toMatchObject({ status: 'COMPLETED', output: [3, 1, 2, 4] });
  });

  test('two waits for one name are served in their order', async () => {
    await using world = await workflowWorld(register);
    await world.run('both');
    await world.raise('y', 'third');
    await restart(world);
    await world.raise('x', 'first');
    expect((await world.raise('x', 'second')).output).toEqual(['first', 'second', 'third']);
  });

  test('in time: its timer is gone, and wakes nothing later', async () => {
    await using world = await workflowWorld(register);
    await world.run('limited', MINUTE_MS);
    await restart(world);
    await world.pass('59s');
    expect((await world.raise('go', 1)).output).toEqual(['came', 1]);
    const { lastUpdatedAt } = await world.settle();
    expect(await world.pass('1h')).toMatchObject({ lastUpdatedAt, output: ['came', 1] });
  });

  test('not in time: the wait fails, at its time and not before', async () => {
    await using world = await workflowWorld(register);
    await world.run('limited', MINUTE_MS);
    expect((await world.pass('59s')).status).toBe('RUNNING');
    await restart(world);
    expect((await world.pass('1s')).output).toEqual(['late', 'EventTimeoutError']);
  });

  test('the limit of one wait does not end another for the same name', async () => {
    await using world = await workflowWorld(register);
    await world.run('limitedTwice');
    await world.raise('go', 1);
    await restart(world);
    await world.pass('2m');
    expect((await world.settle()).status).toBe('RUNNING');
    await world.pass('30s');
    expect(await world.raise('go', 2)).toMatchObject({ status: 'COMPLETED', output: [1, 2] });
  });
});

test('a limit of 0: over at once, unless the event is there already', async () => {
  await using world = await workflowWorld((sidecar) => {
    register(sidecar);
    sidecar.workflows.register(
      defineWorkflow('look', async (ctx) => {
        const look = (): Promise<unknown> => ctx.waitForEvent('go', { timeout: 0 }).catch(() => 'nothing');
        const before = await look();
        await ctx.waitForEvent('look');
        return [before, await look(), await look()];
      }),
    );
  });
  await world.run('look');
  await world.raise('go', 1);
  expect((await world.raise('look')).output).toEqual(['nothing', 1, 'nothing']);
});

test('a hundred events in a row, raised at once', async () => {
  await using world = await workflowWorld((sidecar) => {
    sidecar.workflows.register(
      defineWorkflow('count', async (ctx) => {
        const seen: unknown[] = [];
        while (seen.length < 100) seen.push(await ctx.waitForEvent('n'));
        return seen;
      }),
    );
  });
  await world.run('count');
  const numbers = Array.from({ length: 100 }, (_, number) => number);
  await Promise.all(numbers.map((number) => world.sidecar.workflows.raiseEvent('one', 'n', number)));
  expect((await world.settle()).output).toEqual(numbers);
});

describe('timers', () => {
  test.each<[until: string | number, atMs: number]>([
    [1, 1],
    [0.4, 1],
    [0, 0],
    [-5, 0],
    ['90s', 90_000],
    ['2026-01-01T00:00:01Z', 1_000],
    ['2020-01-01T00:00:00Z', 0],
    ['720h', 30 * 24 * 3_600_000],
  ])('sleep(%j) ends %i ms later and never before', async (until, atMs) => {
    await using world = await workflowWorld(register);
    const startedAt = world.clock.now();
    let state = await world.run('until', until);
    if (atMs > 0) {
      state = await world.pass(atMs - 1);
      expect(state.status).toBe('RUNNING');
      state = await world.pass(1);
    }
    expect([state.status, state.output]).toEqual(['COMPLETED', startedAt + atMs]);
  });

  test('fire in the order of their instants, whatever the order of their making', async () => {
    await using world = await workflowWorld(register);
    await world.run('many');
    expect((await world.pass('10m')).output).toEqual([1, 3, 5, 7, 9]);
  });

  test('what came due while the process was down fires at the next start, in order', async () => {
    await using world = await workflowWorld(register);
    await world.run('many');
    await world.pass('2m');
    await world.restart(undefined, '1h');
    expect((await world.settle()).output).toEqual([1, 3, 5, 7, 9]);
  });

  test('a timer that lost a race wakes nothing', async () => {
    await using world = await workflowWorld(register);
    await world.run('first');
    expect((await world.pass('1m')).output).toBe('quick');
    const { lastUpdatedAt } = await world.settle();
    expect((await world.pass('2h')).lastUpdatedAt).toBe(lastUpdatedAt);
  });

  test('startAt: nothing runs before, over a restart', async () => {
    await using world = await workflowWorld(register);
    const startAt = new Date(world.clock.now() + 60 * MINUTE_MS);
    await world.sidecar.workflows.start('until', 0, { instanceId: 'one', startAt });
    expect((await world.pass('59m')).status).toBe('PENDING');
    await world.restart();
    expect((await world.settle()).status).toBe('PENDING');
    expect(await world.pass('1m')).toMatchObject({ status: 'COMPLETED', output: startAt.getTime() });
  });
});

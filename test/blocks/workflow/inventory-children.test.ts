/** What Dapr's own tests of child workflows show. */
import { describe, expect, test } from 'vitest';
import { defineActivity, defineWorkflow, EventTimeoutError, type Sidecar } from '../../../src/index.ts';
import { type WorkflowWorld, workflowWorld } from '../../support/workflow-world.ts';

function register(sidecar: Sidecar, world: WorkflowWorld): void {
  const count = defineActivity('count', (text: string) => world.seen.push(text));
  sidecar.workflows.register(
    count,
    defineWorkflow('child', async (ctx, input: unknown) => {
      await ctx.callActivity(count, `child ${ctx.instanceId}`);
      return { child: input };
    }),
    defineWorkflow('waiting', (ctx) => ctx.waitForEvent('go')),
    defineWorkflow('failing', (_ctx, input: unknown) => {
      throw new RangeError(`child says ${String(input)}`);
    }),
    defineWorkflow('one', async (ctx, input: unknown) => ctx.callChild('child', input)),
    defineWorkflow('named', async (ctx, instanceId: string) => ctx.callChild('waiting', undefined, { instanceId })),
    defineWorkflow('several', async (ctx, n: number) =>
      Promise.all(Array.from({ length: n }, (_, index) => ctx.callChild('child', index))),
    ),
    defineWorkflow('waitingForTwo', async (ctx) =>
      Promise.all([
        ctx.callChild('waiting', undefined, { instanceId: 'kid-a' }),
        ctx.callChild('waiting', undefined, { instanceId: 'kid-b' }),
      ]),
    ),
    defineWorkflow('caught', async (ctx, input: unknown) => {
      try {
        return await ctx.callChild('failing', input);
      } catch (error) {
        const { name, message, failure } = error as Error & { failure: { errorType: string } };
        return [name, message, failure.errorType];
      }
    }),
    defineWorkflow(
      'nested',
      async (ctx, depth: number): Promise<unknown> =>
        depth === 0 ? ctx.instanceId : ctx.callChild('nested', depth - 1),
    ),
    defineWorkflow('failingParent', async (ctx) => {
      void ctx.callChild('waiting', undefined, { instanceId: 'kid' });
      await ctx.waitForEvent('fail');
      throw new RangeError('no more');
    }),
    defineWorkflow('twiceTheSame', async (ctx) => {
      const first = ctx.callChild('waiting', undefined, { instanceId: 'kid' });
      const second = await ctx.callChild('waiting', undefined, { instanceId: 'kid' }).catch((error: unknown) => error);
      const { failure } = second as { failure: { errorType: string } };
      return [failure.errorType, await first];
    }),
  );
}

describe('child workflows', () => {
  test.each<[what: string, end: (world: WorkflowWorld) => Promise<unknown>]>([
    ['fails', (world) => world.raise('fail', undefined, 'p')],
    ['is paused', (world) => world.sidecar.workflows.pause('p')],
  ])('go on when their parent %s', async (_what, end) => {
    await using world = await workflowWorld(register);
    await world.run('failingParent', undefined, 'p');
    await end(world);
    expect(await world.settle('kid')).toMatchObject({ status: 'RUNNING', parentId: 'p' });
    expect(await world.raise('go', 1, 'kid')).toMatchObject({ status: 'COMPLETED', output: 1 });
  });

  test('input and output; the child is an instance of its own', async () => {
    await using world = await workflowWorld(register);
    expect((await world.run('one', { n: 0 }, 'p')).output).toEqual({ child: { n: 0 } });
    expect(await world.settle('p-0001')).toMatchObject({ name: 'child', status: 'COMPLETED', parentId: 'p' });
  });

  test('many side by side, each with its own ID and its own result', async () => {
    await using world = await workflowWorld(register);
    const { output } = await world.run('several', 50);
    expect(output).toEqual(Array.from({ length: 50 }, (_, child) => ({ child })));
    expect(new Set(world.seen).size).toBe(50);
  });

  test('a chain of ten', async () => {
    await using world = await workflowWorld(register);
    expect((await world.run('nested', 10, 'r')).output).toBe(`r${'-0001'.repeat(10)}`);
  });

  test('a failure reaches the parent with its type', async () => {
    await using world = await workflowWorld(register);
    expect((await world.run('caught', 'no')).output).toEqual([
      'TaskFailedError',
      'child workflow "failing" failed: child says no',
      'RangeError',
    ]);
  });

  test('an event that a child or an activity did not get in time is no timeout of the parent', async () => {
    await using world = await workflowWorld(({ workflows }) =>
      workflows.register(
        defineWorkflow('hasty', (ctx) => ctx.waitForEvent('go', { timeout: 0 })),
        defineActivity('hasty', () => {
          throw new EventTimeoutError('event "go"', { errorType: 'Error', message: 'no' });
        }),
        defineWorkflow('waitingForThem', async (ctx) => {
          const calls = [ctx.callChild('hasty'), ctx.callActivity('hasty')];
          const isTheirs = ({ status, ...end }: PromiseSettledResult<unknown>): unknown =>
            status === 'rejected' && 'reason' in end && [end.reason.name, end.reason.failure.errorType];
          return (await Promise.allSettled(calls)).map(isTheirs);
        }),
      ),
    );
    const theirs = ['TaskFailedError', 'EventTimeoutError'];
    expect((await world.run('waitingForThem')).output).toEqual([theirs, theirs]);
  });

  test('an ID that is in use fails the call, and leaves the other one alone', async () => {
    await using world = await workflowWorld(register);
    await world.run('waiting', undefined, 'taken');
    expect(await world.run('named', 'taken')).toMatchObject({
      status: 'FAILED',
      failure: { message: expect.stringContaining('taken') },
    });
    expect((await world.raise('go', 'still there', 'taken')).output).toBe('still there');
  });

  test('the same ID twice in one parent: the second call fails, the first goes on', async () => {
    await using world = await workflowWorld(register);
    await world.run('twiceTheSame');
    await world.raise('go', 'x', 'kid');
    expect((await world.settle()).output).toEqual(['WorkflowInstanceAlreadyExists', 'x']);
  });

  test('a child that nobody waits for goes on when its parent is done', async () => {
    await using world = await workflowWorld((sidecar, at) => {
      register(sidecar, at);
      sidecar.workflows.register(
        defineWorkflow('leaving', (ctx) => {
          void ctx.callChild('waiting', undefined, { instanceId: 'kid' });
          return 'gone';
        }),
      );
    });
    expect((await world.run('leaving')).output).toBe('gone');
    await world.restart();
    expect((await world.raise('go', 1, 'kid')).output).toBe(1);
    expect((await world.settle()).output).toBe('gone');
  });
});

describe('child workflows over a restart', () => {
  test('each completion counts once, in whatever order they come', async () => {
    await using world = await workflowWorld(register);
    await world.run('waitingForTwo');
    await world.restart();
    await world.raise('go', 'b', 'kid-b');
    await world.restart();
    expect((await world.settle()).status).toBe('RUNNING');
    await world.raise('go', 'a', 'kid-a');
    expect((await world.settle()).output).toEqual(['a', 'b']);
    expect((await world.history()).filter(({ type }) => type === 'childCompleted').length).toBe(2);
  });

  test('a child is started once, however often the parent is replayed', async () => {
    await using world = await workflowWorld((sidecar, at) => {
      register(sidecar, at);
      sidecar.workflows.register(
        defineWorkflow('later', async (ctx) => {
          await ctx.callChild('child', 1);
          await ctx.waitForEvent('go');
          return ctx.callChild('child', 2);
        }),
      );
    });
    await world.run('later');
    await world.restart();
    await world.restart();
    expect((await world.raise('go')).output).toEqual({ child: 2 });
    expect(world.seen.length).toBe(2);
  });
});

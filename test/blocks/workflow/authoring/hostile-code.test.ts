import { nextTick } from 'node:process';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { defineActivity, defineWorkflow, type TaskFailedError, type WorkflowContext } from '../../../../src/index.ts';
import { workflowWorld } from '../../../support/workflow-world.ts';

const turnOf = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Rejections that nobody handled while something was done. */
async function unhandledDuring(work: () => Promise<void>): Promise<unknown[]> {
  const unhandled: unknown[] = [];
  const listen = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', listen);
  try {
    await work();
    await turnOf();
  } finally {
    process.off('unhandledRejection', listen);
  }
  return unhandled;
}

describe('parts of the code that nobody waits for', () => {
  test('end with the workflow: a result that comes later wakes nothing', async () => {
    const calls: string[] = [];
    const unhandled = await unhandledDuring(async () => {
      await using world = await workflowWorld(({ workflows }) =>
        workflows.register(
          defineActivity('note', (text: string) => calls.push(text)),
          defineWorkflow('flow', async (ctx) => {
            const beside = async (): Promise<void> => {
              await ctx.callActivity('note', 'first');
              calls.push('woken');
              await ctx.callActivity('note', 'second');
            };
            void beside();
            return 'done';
          }),
        ),
      );
      expect(await world.run('flow')).toMatchObject({ status: 'COMPLETED', output: 'done' });
      await world.clock.settled();
    });
    expect([calls, unhandled]).toEqual([['first'], []]);
  });

  test('and that the world wakes do no harm to the process', async () => {
    const woken: string[] = [];
    const unhandled = await unhandledDuring(async () => {
      await using world = await workflowWorld(({ workflows }) =>
        workflows.register('flow', async (ctx) => {
          const beside = async (): Promise<void> => {
            await turnOf();
            woken.push('once');
            await ctx.callActivity('any');
            woken.push('twice');
          };
          void beside();
          await ctx.waitForEvent('never');
        }),
      );
      await world.sidecar.workflows.start('flow', undefined, { instanceId: 'one' });
      await turnOf();
      await turnOf();
      expect(await world.settle()).toMatchObject({ status: 'FAILED', failure: { errorType: 'WorkflowAwaitError' } });
    });
    expect([woken, unhandled]).toEqual([['once'], []]);
  });
});

test('code that the world wakes while it is replayed fails, and leaves nothing in memory', async () => {
  await using world = await workflowWorld(({ workflows }) =>
    workflows.register('flow', (ctx) => ctx.waitForEvent('go')),
  );
  await world.run('flow');
  await world.restart(({ workflows }) =>
    workflows.register('flow', async (ctx) => {
      const beside = async (): Promise<void> => {
        await turnOf();
        await ctx.callActivity('any');
      };
      void beside();
      return ctx.waitForEvent('go');
    }),
  );
  // The history is read for so long that a turn of the event loop, and a commit, would come through meanwhile.
  const { memory } = world.store;
  const scan = memory.scan.bind(memory);
  memory.scan = async (range) => {
    for (let turns = 0; turns < 20; turns++) await turnOf();
    return scan(range);
  };
  await world.sidecar.workflows.raiseEvent('one', 'go');
  expect(await world.settle()).toMatchObject({ status: 'FAILED' });
  expect(world.sidecar.workflows.service.liveCount).toBe(0);
});

describe('a name that is no text', () => {
  const calls: Record<string, (ctx: WorkflowContext) => unknown> = {
    'name of the activity': (ctx) => ctx.callActivity({} as never),
    'name of a patch': (ctx) => ctx.isPatched(undefined as never),
  };
  for (const [what, call] of Object.entries(calls))
    test(`fails the workflow, which can still be read after a restart: ${what}`, async () => {
      await using world = await workflowWorld(({ workflows }) => workflows.register('flow', async (ctx) => call(ctx)));
      const failed = { status: 'FAILED', failure: { message: expect.stringContaining(what) } };
      expect(await world.run('flow')).toMatchObject(failed);
      await world.restart();
      expect(await world.settle()).toMatchObject(failed);
      expect((await world.history()).map(({ type }) => type)).toEqual(['started']);
    });

  test('is refused for an event, and the workflow goes on', async () => {
    await using world = await workflowWorld(({ workflows }) =>
      workflows.register('flow', (ctx) => ctx.waitForEvent('go')),
    );
    await world.run('flow');
    await expect(world.sidecar.workflows.raiseEvent('one', 5 as never)).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
      message: expect.stringContaining('a number'),
    });
    expect(await world.raise('go', 1)).toMatchObject({ status: 'COMPLETED', output: 1 });
  });
});

test('activities that wait for room when the workflow continues as new are dropped with the rest of the run', async () => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await using world = await workflowWorld(
    ({ workflows }, { seen }) =>
      workflows.register(
        defineActivity('hold', () => held),
        defineActivity('note', (text: string) => {
          seen.push(text);
          return text;
        }),
        defineWorkflow('holder', (ctx) => ctx.callActivity('hold')),
        defineWorkflow('flow', async (ctx, round: number) => {
          if (round === 1) {
            void ctx.callActivity('note', 'of the first run');
            await ctx.waitForEvent('go');
            return ctx.continueAsNew(2);
          }
          return await ctx.callActivity('note', 'of the second run');
        }),
      ),
    { workflows: { maxConcurrentActivities: 1 } },
  );
  await world.sidecar.workflows.start('holder', undefined, { instanceId: 'holder' });
  await world.sidecar.workflows.start('flow', 1, { instanceId: 'one' });
  await world.sidecar.workflows.raiseEvent('one', 'go');
  for (let turns = 0; turns < 10; turns++) await turnOf();
  release();
  expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: 'of the second run' });
  expect(world.seen).toEqual(['of the second run']);
});

describe('what activities throw', () => {
  const thrown: Record<string, () => unknown> = {
    'an error whose message is no text': () => Object.assign(new Error(), { message: { code: 1 } }),
    'an error whose name and stack are no text': () => Object.assign(new Error('no'), { name: 7, stack: 8 }),
    'an error without a constructor': () => Object.assign(new Error('no'), { constructor: undefined }),
    'an error that cannot be looked at': () =>
      Object.defineProperty(new Error('no'), 'message', {
        get: () => {
          throw new Error('hands off');
        },
      }),
    'an object that has no text': () => Object.assign(Object.create(null), { big: 1n }),
    'a proxy that is revoked': () => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      return proxy;
    },
    'a symbol': () => Symbol('no'),
    nothing: () => undefined,
  };
  for (const [what, make] of Object.entries(thrown))
    test(`${what} fails the call, and the workflow goes on`, async () => {
      const unhandled = await unhandledDuring(async () => {
        await using world = await workflowWorld(({ workflows }) =>
          workflows.register(
            defineActivity('fail', () => {
              throw make();
            }),
            defineWorkflow('flow', (ctx) =>
              ctx
                .callActivity('fail')
                .catch(({ failure }: TaskFailedError) => [typeof failure.errorType, typeof failure.message]),
            ),
          ),
        );
        await world.sidecar.workflows.start('flow', undefined, { instanceId: 'one' });
        for (let turns = 0; turns < 10; turns++) await turnOf();
        expect(await world.sidecar.workflows.get('one')).toMatchObject({ output: ['string', 'string'] });
      });
      expect(unhandled).toEqual([]);
    });

  test('an error of another realm keeps its type and message', async () => {
    await using world = await workflowWorld(({ workflows }) =>
      workflows.register(
        defineActivity('fail', () => {
          throw runInNewContext('new RangeError("too far")');
        }),
        defineWorkflow('flow', (ctx) => ctx.callActivity('fail')),
      ),
    );
    expect((await world.run('flow')).failure).toMatchObject({
      errorType: 'TaskFailedError',
      message: expect.stringContaining('too far'),
    });
    const failed = (await world.history()).find((event) => event.type === 'activityFailed');
    expect(failed?.failure).toMatchObject({ errorType: 'RangeError', message: 'too far' });
  });
});

test('long chains of promises are not taken for the world in whatever phase of the process a workflow is started', async () => {
  await using world = await workflowWorld(({ workflows }) =>
    workflows.register('flow', async (ctx) => {
      for (let index = 0; index < 50; index++) await null;
      await ctx.sleep(1);
      return 'through';
    }),
  );
  const { workflows } = world.sidecar;
  const start = (instanceId: string): unknown => workflows.start('flow', undefined, { instanceId });
  // The second one begins in the queue of ticks, when the first one waits there already.
  await Promise.resolve().then(() => {
    start('one');
    nextTick(() => start('two'));
  });
  await turnOf();
  await world.pass(1);
  for (const id of ['one', 'two'])
    expect(await world.settle(id)).toMatchObject({ status: 'COMPLETED', output: 'through' });
});

test('timers of one instant fire in the order in which they were made, after a restart too', async () => {
  const COUNT = 50;
  await using world = await workflowWorld(({ workflows }) =>
    workflows.register('flow', async (ctx) => {
      const order: number[] = [];
      const timers = Array.from({ length: COUNT }, (_, index) =>
        ctx.sleep(index % 3 === 0 ? 60_000 : 30_000).then(() => order.push(index)),
      );
      await Promise.all(timers);
      return order;
    }),
  );
  const all = Array.from({ length: COUNT }, (_, index) => index);
  const expected = [...all.filter((index) => index % 3 !== 0), ...all.filter((index) => index % 3 === 0)];
  await world.run('flow');
  expect((await world.pass('1m')).output).toEqual(expected);
  await world.run('flow', undefined, 'two');
  await world.restart();
  expect((await world.pass('1m', 'two')).output).toEqual(expected);
});

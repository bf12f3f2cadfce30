/** What Dapr's own tests of patches and versions show, and what becomes of code that no longer fits its history. */
import { describe, expect, test } from 'vitest';
import { defineActivity, defineWorkflow, type Sidecar, type WorkflowFunction } from '../../../src/index.ts';
import { type Registering, type WorkflowWorld, workflowWorld } from '../../support/workflow-world.ts';

/** A process whose workflow `flow` has this code. */
const release =
  (code: WorkflowFunction<unknown>): Registering =>
  (sidecar: Sidecar, world: WorkflowWorld) => {
    for (const name of ['old', 'new', 'after'])
      sidecar.workflows.register(defineActivity(name, () => void world.seen.push(name)));
    sidecar.workflows.register(
      defineWorkflow('flow', code),
      defineWorkflow('kid', () => 'kid'),
    );
  };

const before = release(async (ctx) => {
  await ctx.callActivity('old');
  await ctx.waitForEvent('go');
  await ctx.callActivity('after');
});

const patched = release(async (ctx) => {
  await ctx.callActivity(ctx.isPatched('better') ? 'new' : 'old');
  await ctx.waitForEvent('go');
  await ctx.callActivity('after');
});

const patchedLate = release(async (ctx) => {
  await ctx.callActivity('old');
  if (ctx.isPatched('late')) await ctx.waitForEvent('go');
});

/** Throws a `TypeError`. */
function priceOf(product: unknown): unknown {
  return (product as { readonly price: unknown }).price;
}

describe('patches', () => {
  test('an instance that passed the place before the patch stays on the old path', async () => {
    await using world = await workflowWorld(before);
    await world.run('flow');
    await world.restart(patched);
    expect((await world.raise('go')).status).toBe('COMPLETED');
    expect(world.seen).toEqual(['old', 'after']);
  });

  test('an instance that comes there with the patch takes the new path, over restarts', async () => {
    await using world = await workflowWorld(patched);
    await world.run('flow');
    await world.restart();
    expect((await world.raise('go')).status).toBe('COMPLETED');
    expect(world.seen).toEqual(['new', 'after']);
    expect(await world.history()).toContainEqual(expect.objectContaining({ type: 'patched', name: 'better' }));
  });

  test('one that waits before the place takes the new path when it gets there', async () => {
    const plain = release(async (ctx) => {
      await ctx.waitForEvent('go');
      await ctx.callActivity('old');
    });
    const better = release(async (ctx) => {
      await ctx.waitForEvent('go');
      await ctx.callActivity(ctx.isPatched('better') ? 'new' : 'old');
    });
    await using world = await workflowWorld(plain);
    await world.run('flow');
    await world.restart(better);
    expect((await world.raise('go')).status).toBe('COMPLETED');
    expect(world.seen).toEqual(['new']);
  });

  test('asked twice it answers the same', async () => {
    await using world = await workflowWorld(
      release(async (ctx) => {
        const first = ctx.isPatched('p');
        await ctx.waitForEvent('go');
        return [first, ctx.isPatched('p'), ctx.isPatched('q')];
      }),
    );
    await world.run('flow');
    await world.restart();
    expect((await world.raise('go')).output).toEqual([true, true, true]);
  });

  test('a patch that was taken out while an instance has it is found out', async () => {
    await using world = await workflowWorld(patched);
    await world.run('flow');
    await world.restart(before);
    expect(await world.raise('go')).toMatchObject({ status: 'FAILED', failure: { errorType: 'NonDeterminismError' } });
  });
});

describe('code that no longer fits its history', () => {
  test.each<[what: string, code: WorkflowFunction<unknown>, sides: readonly string[]]>([
    ['another activity', (ctx) => ctx.callActivity('new'), ['"old"', '"new"']],
    ['a timer in its place', (ctx) => ctx.sleep('1h'), ['"old"', 'timer']],
    ['a child in its place', (ctx) => ctx.callChild('kid'), ['"old"', 'child workflow "kid"']],
    ['nothing in its place', (ctx) => ctx.waitForEvent('go'), ['"old"']],
    ['an end in its place', () => 'early', ['"old"']],
  ])('%s: FAILED with NonDeterminismError, which names both sides', async (_what, code, sides) => {
    await using world = await workflowWorld(before);
    await world.run('flow');
    await world.restart(release(code));
    const { status, failure } = await world.raise('go');
    expect([status, failure?.errorType]).toEqual(['FAILED', 'NonDeterminismError']);
    for (const side of sides) expect(failure?.message).toContain(side);
    expect(world.seen).toEqual(['old']);
  });

  test.each<[what: string, code: WorkflowFunction<unknown>, message: string]>([
    [
      'before an action of the history',
      () => priceOf(undefined),
      'the history has activity "old" as action 1, and the code fails before that with TypeError: ',
    ],
    [
      'after the last action of the history',
      async (ctx) => priceOf(await ctx.callActivity('old')),
      'the history continues, and the code fails before that with TypeError: ',
    ],
    [
      'before a patch of the history',
      async (ctx) => {
        await ctx.callActivity('old');
        return priceOf(undefined);
      },
      'the history has the patch "late", and the code fails before that with TypeError: ',
    ],
  ])('an exception %s: FAILED with NonDeterminismError, which has it as its cause', async (what, code, message) => {
    await using world = await workflowWorld(what.includes('patch') ? patchedLate : before);
    await world.run('flow');
    await world.restart(release(code));
    const { failure } = await world.raise('go');
    expect(failure).toEqual({
      errorType: 'NonDeterminismError',
      message: expect.stringMatching(new RegExp(`^${message}.*reading 'price'`)),
      stackTrace: expect.stringMatching(
        /^NonDeterminismError: the history .*\ncaused by: TypeError: .*\n +at priceOf .*inventory-versions/,
      ),
    });
    expect(world.logger.at('warn')).toMatchObject([{ details: { stackTrace: failure?.stackTrace } }]);
  });

  test('a promise of its own in place of an action: the failure says so', async () => {
    await using world = await workflowWorld(before);
    await world.run('flow');
    await world.restart(release(() => new Promise(() => undefined)));
    const { failure } = await world.raise('go');
    expect(failure?.message).toMatch(/^the history has activity "old" .* fails before that with WorkflowAwaitError: /);
  });

  test('other inputs are no matter: the history has the results', async () => {
    await using world = await workflowWorld(before);
    await world.run('flow');
    await world.restart(
      release(async (ctx) => {
        await ctx.callActivity('old', { changed: true });
        await ctx.waitForEvent('go');
        return 'fine';
      }),
    );
    expect((await world.raise('go')).output).toBe('fine');
  });
});

describe('code that waits for the world', () => {
  test.each<[what: string, code: WorkflowFunction<unknown>]>([
    ['a timer of Node', () => new Promise((resolve) => setTimeout(resolve, 5))],
    ['setImmediate', () => new Promise((resolve) => setImmediate(resolve))],
    ['a promise that nothing settles', () => new Promise(() => undefined)],
    ['fetch', async () => (await fetch('http://127.0.0.1:65000/')).status],
  ])('%s: FAILED with WorkflowAwaitError, which says what to do', async (_what, code) => {
    await using world = await workflowWorld(release(code));
    expect(await world.run('flow')).toMatchObject({
      status: 'FAILED',
      failure: { errorType: 'WorkflowAwaitError', message: expect.stringContaining('activities') },
    });
  });

  test('promises that need nothing but microtasks are fine', async () => {
    await using world = await workflowWorld(
      release(async (ctx) => {
        let sum = 0;
        for (let n = 0; n < 1_000; n++) sum += await Promise.resolve(n);
        await ctx.sleep('1s');
        return sum;
      }),
    );
    await world.run('flow');
    expect((await world.pass('1s')).output).toBe(499_500);
  });
});

describe('versions: a name of its own for each', () => {
  const two: Registering = (sidecar) => {
    sidecar.workflows.register(
      defineWorkflow('flow', async (ctx) => ['v1', await ctx.waitForEvent('go')]),
      defineWorkflow('flow-v2', async (ctx) => ['v2', await ctx.waitForEvent('go')]),
    );
  };

  test('instances stay with the name that they were started under', async () => {
    await using world = await workflowWorld(two);
    await world.run('flow', undefined, 'a');
    await world.run('flow-v2', undefined, 'b');
    await world.restart();
    expect((await world.raise('go', 1, 'a')).output).toEqual(['v1', 1]);
    expect((await world.raise('go', 1, 'b')).output).toEqual(['v2', 1]);
  });

  test('an instance whose code is not there after a restart waits for it', async () => {
    await using world = await workflowWorld(two);
    await world.run('flow');
    await world.restart(() => undefined);
    await world.raise('go', 1);
    expect((await world.settle()).status).toBe('RUNNING');
    await world.restart(two);
    expect((await world.settle()).output).toEqual(['v1', 1]);
  });
});

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
});

describe('an instance that has passed a patch, in code that does not know it', () => {
  const waits = { status: 'RUNNING', missingCode: [{ kind: 'patch', name: 'better' }] };

  test('waits for newer code, takes in what comes meanwhile, and goes on with that code', async () => {
    await using world = await workflowWorld(patched);
    await world.run('flow');
    await world.restart(before);
    expect(await world.raise('go')).toMatchObject(waits);
    expect(world.logger.at('warn').filter(({ message }) => message.includes('newer code'))).toMatchObject([
      { details: { patch: 'better', instanceId: 'one', reason: expect.stringContaining('the patch "better"') } },
    ]);
    await world.restart(patched);
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED' });
    expect(world.seen).toEqual(['new', 'after']);
  });

  test.each<[what: string, code: WorkflowFunction<unknown>]>([
    ['does something else there', (ctx) => ctx.sleep('1h')],
    ['does nothing there', (ctx) => ctx.waitForEvent('go')],
    ['ends there', () => 'early'],
    ['throws there', () => priceOf(undefined)],
    ['asks for another patch there', async (ctx) => ctx.callActivity(ctx.isPatched('worse') ? 'after' : 'old')],
    ['does more there', (ctx) => Promise.all([ctx.callActivity('new'), ctx.callActivity('old')])],
    [
      'goes on as before',
      async (ctx) => {
        await ctx.callActivity('new');
        await ctx.waitForEvent('go');
      },
    ],
  ])('waits if the code %s', async (_what, code) => {
    await using world = await workflowWorld(patched);
    await world.run('flow');
    await world.restart(release(code));
    expect(await world.raise('go')).toMatchObject(waits);
  });

  test('waits when the code comes to its end before the turn of the patch', async () => {
    const late = release(async (ctx) => {
      await ctx.callActivity('old');
      await ctx.waitForEvent('go');
      if (ctx.isPatched('better')) await ctx.waitForEvent('again');
    });
    await using world = await workflowWorld(late);
    await world.run('flow');
    await world.raise('go');
    await world.restart(release((ctx) => ctx.callActivity('old')));
    expect(await world.raise('again')).toMatchObject(waits);
  });

  test('fails when what it does differently is in front of the patch', async () => {
    const behind = release(async (ctx) => {
      await Promise.all([ctx.callActivity('old'), ctx.isPatched('better'), ctx.callActivity('new')]);
      await ctx.waitForEvent('go');
    });
    await using world = await workflowWorld(behind);
    await world.run('flow');
    await world.restart(release((ctx) => ctx.callActivity('after')));
    const { status, failure } = await world.raise('go');
    expect([status, failure?.errorType]).toEqual(['FAILED', 'NonDeterminismError']);
  });

  test('can be terminated, and takes in a pause', async () => {
    await using world = await workflowWorld(patched);
    await world.run('flow');
    await world.restart(before);
    await world.sidecar.workflows.pause('one');
    expect(await world.settle()).toMatchObject(waits);
    await world.sidecar.workflows.terminate('one', 'over');
    expect(await world.settle()).toMatchObject({ status: 'TERMINATED', output: 'over' });
    expect((await world.settle()).missingCode).toBeUndefined();
  });

  test('goes on when its code is replaced', async () => {
    await using world = await workflowWorld(patched);
    await world.run('flow');
    await world.restart(before);
    await world.raise('go');
    using _newer = world.sidecar.workflows.replaceWorkflow('flow', async (ctx) => {
      await ctx.callActivity(ctx.isPatched('better') ? 'new' : 'old');
      return ctx.waitForEvent('go').then(() => 'newer');
    });
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: 'newer' });
  });

  test('fails after missingCodeTimeout, with both sides', async () => {
    await using world = await workflowWorld(patched, { workflows: { missingCodeTimeout: 60_000 } });
    await world.run('flow');
    await world.restart(before);
    expect(await world.raise('go')).toMatchObject(waits);
    expect(await world.pass('1m')).toMatchObject({
      status: 'FAILED',
      failure: {
        errorType: 'NonDeterminismError',
        message:
          'the history has the patch "better" and then activity "new" as action 1, and the code calls activity "old"',
      },
    });
  });

  test('keeps its result if it has finished', async () => {
    await using world = await workflowWorld(patched);
    await world.run('flow');
    await world.raise('go');
    await world.restart(before);
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED' });
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
    // One that has passed a patch would wait for code that knows it.
    const workflows = { missingCodeTimeout: 0 };
    await using world = await workflowWorld(what.includes('patch') ? patchedLate : before, { workflows });
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

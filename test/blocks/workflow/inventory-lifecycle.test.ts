/** What Dapr's own tests of an instance's life show: start, pause, terminate, reuse of IDs, purge. */
import { describe, expect, test } from 'vitest';
import { defineActivity, defineWorkflow, isSidecarError, type Sidecar } from '../../../src/index.ts';
import { type WorkflowWorld, workflowWorld } from '../../support/workflow-world.ts';

function register(sidecar: Sidecar, world: WorkflowWorld): void {
  sidecar.workflows.register(
    defineActivity('note', (text: string) => void world.seen.push(text)),
    defineActivity('hang', async (_input, { signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      world.seen.push('told');
      return 'too late';
    }),
    defineWorkflow('plain', (_ctx, input: unknown) => input),
    defineWorkflow('failing', (_ctx, input: unknown) => {
      throw new TypeError(`no ${String(input)}`);
    }),
    defineWorkflow('waiting', async (ctx) => {
      const event = await ctx.waitForEvent('go');
      await ctx.callActivity('note', `went on with ${String(event)}`);
      return event;
    }),
    defineWorkflow('hour', async (ctx) => {
      await ctx.sleep('1h');
      await ctx.callActivity('note', 'an hour later');
    }),
    defineWorkflow('hanging', (ctx) => ctx.callActivity('hang')),
    defineWorkflow('parent', (ctx, name: string) => ctx.callChild(name, 'x', { instanceId: 'kid' })),
    defineWorkflow('grandparent', (ctx) => ctx.callChild('parent', 'waiting', { instanceId: 'middle' })),
  );
}

const code = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'fine',
    (error: unknown) => (isSidecarError(error) ? error.code : error),
  );

test('activities that wait for room when an instance is paused begin when it is resumed', async () => {
  const ends: (() => void)[] = [];
  const world = await workflowWorld(
    ({ workflows }) => {
      workflows.register(
        defineActivity('step', () => new Promise<void>((resolve) => void ends.push(resolve))),
        defineWorkflow('steps', async (ctx) => {
          await Promise.all([ctx.callActivity('step'), ctx.callActivity('step'), ctx.callActivity('step')]);
          return 'done';
        }),
      );
    },
    { workflows: { maxConcurrentActivities: 1 } },
  );
  await using _ = world;
  await world.sidecar.workflows.start('steps', undefined, { instanceId: 'one' });
  await expect.poll(() => ends).toHaveLength(1);
  await world.sidecar.workflows.pause('one');
  ends[0]?.();
  await world.settle();
  expect(ends).toHaveLength(1);
  await world.sidecar.workflows.resume('one');
  for (let nth = 1; nth < 3; nth++) {
    await expect.poll(() => ends).toHaveLength(nth + 1);
    ends[nth]?.();
  }
  expect(await world.sidecar.workflows.run('one').ended()).toMatchObject({ output: 'done' });
});

test('a paused instance does not begin its activity again after a restart, and does so when it is resumed', async () => {
  await using world = await workflowWorld((sidecar, { seen }) => {
    sidecar.workflows.register(
      defineActivity('hang', (_input, { signal }) => {
        seen.push('begun');
        return new Promise((_resolve, reject) => signal.addEventListener('abort', reject));
      }),
      defineWorkflow('hanging', (ctx) => ctx.callActivity('hang')),
    );
  });
  await world.sidecar.workflows.start('hanging', undefined, { instanceId: 'one' });
  await expect.poll(() => world.seen).toEqual(['begun']);
  await world.sidecar.workflows.pause('one');
  await world.restart();
  expect(await world.settle()).toMatchObject({ status: 'SUSPENDED' });
  expect(world.seen).toEqual(['begun']);
  await world.sidecar.workflows.resume('one');
  await expect.poll(() => world.seen).toEqual(['begun', 'begun']);
});

describe.each(['', ' after a restart'])('pause and resume%s', (restarted) => {
  const restart = async (world: WorkflowWorld): Promise<void> => {
    if (restarted !== '') await world.restart();
  };

  test('a paused instance takes events in and goes on with them when it is resumed', async () => {
    await using world = await workflowWorld(register);
    await world.run('waiting');
    await world.sidecar.workflows.pause('one');
    await restart(world);
    expect((await world.raise('go', 7)).status).toBe('SUSPENDED');
    expect(world.seen).toEqual([]);
    await restart(world);
    await world.sidecar.workflows.resume('one');
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: 7 });
    expect(world.seen).toEqual(['went on with 7']);
  });

  test('a timer that fires while it is paused counts when it is resumed, not before', async () => {
    await using world = await workflowWorld(register);
    await world.run('hour');
    await world.sidecar.workflows.pause('one');
    await restart(world);
    await world.pass('2h');
    expect(world.seen).toEqual([]);
    await world.sidecar.workflows.resume('one');
    expect((await world.settle()).status).toBe('COMPLETED');
  });

  test('resumed before its timer is due, it waits for the timer', async () => {
    await using world = await workflowWorld(register);
    await world.run('hour');
    await world.sidecar.workflows.pause('one');
    await world.pass('30m');
    await restart(world);
    await world.sidecar.workflows.resume('one');
    expect((await world.pass('29m')).status).toBe('RUNNING');
    expect((await world.pass('1m')).status).toBe('COMPLETED');
  });
});

describe('terminate', () => {
  test('with an output, without one', async () => {
    await using world = await workflowWorld(register);
    await world.run('waiting');
    await world.sidecar.workflows.terminate('one', { because: 'enough' });
    expect(await world.settle()).toMatchObject({ status: 'TERMINATED', output: { because: 'enough' } });
    await world.run('waiting', undefined, 'two');
    await world.sidecar.workflows.terminate('two');
    expect((await world.settle('two')).output).toBeUndefined();
  });

  test('reaches children and their children', async () => {
    await using world = await workflowWorld(register);
    await world.run('grandparent');
    await world.sidecar.workflows.terminate('one');
    for (const id of ['one', 'middle', 'kid'])
      expect([id, (await world.settle(id)).status]).toEqual([id, 'TERMINATED']);
  });

  test('of a child fails its parent’s call', async () => {
    await using world = await workflowWorld(register);
    await world.run('parent', 'waiting');
    await world.sidecar.workflows.terminate('kid');
    await world.settle();
    expect(await world.settle()).toMatchObject({
      status: 'FAILED',
      failure: { message: expect.stringContaining('child workflow "waiting"') },
    });
  });

  test('what a terminated instance still waits for has no effect any more', async () => {
    await using world = await workflowWorld(register);
    await world.run('hour');
    await world.sidecar.workflows.terminate('one');
    expect((await world.pass('2h')).status).toBe('TERMINATED');
    expect(world.seen).toEqual([]);
  });

  test('an activity that hangs does not hold it up, and is told by its signal', async () => {
    await using world = await workflowWorld(register);
    await world.sidecar.workflows.start('hanging', undefined, { instanceId: 'one' });
    await world.sidecar.workflows.terminate('one', 'enough');
    expect(await world.settle()).toMatchObject({ status: 'TERMINATED', output: 'enough' });
    expect(world.seen).toEqual(['told']);
  });

  test('is not told to activities that have ended before', async () => {
    const COUNT = 20;
    const signals: AbortSignal[] = [];
    await using world = await workflowWorld(({ workflows }) =>
      workflows.register(
        defineActivity('keep', (_input, { signal }) => void signals.push(signal)),
        defineWorkflow('flow', async (ctx) => {
          for (let count = 0; count < COUNT; count++) await ctx.callActivity('keep');
          await ctx.waitForEvent('go');
        }),
      ),
    );
    await world.run('flow');
    await world.sidecar.workflows.terminate('one');
    expect(await world.settle()).toMatchObject({ status: 'TERMINATED' });
    expect(signals.map(({ aborted }) => aborted)).toEqual(Array.from({ length: COUNT }, () => false));
  });

  test('of what is finished changes nothing; of what is not there fails', async () => {
    await using world = await workflowWorld(register);
    await world.run('plain', 1);
    await world.sidecar.workflows.terminate('one', 2);
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: 1 });
    expect(await world.sidecar.workflows.terminate('none')).toBe(false);
  });
});

describe('an ID that is used again', () => {
  test.each(['plain', 'failing'])('after %s: a new run with a history of its own', async (name) => {
    await using world = await workflowWorld(register);
    await world.run(name, 'first');
    await world.clock.advance('1m');
    expect(await world.run('plain', 'second')).toMatchObject({
      status: 'COMPLETED',
      input: 'second',
      output: 'second',
      createdAt: world.clock.now(),
    });
    expect((await world.history()).filter(({ type }) => type === 'started').length).toBe(1);
  });

  test('after a termination, with another workflow', async () => {
    await using world = await workflowWorld(register);
    await world.run('waiting');
    await world.sidecar.workflows.terminate('one');
    await world.settle();
    expect(await world.run('hour')).toMatchObject({ name: 'hour', status: 'RUNNING' });
    expect((await world.pass('1h')).status).toBe('COMPLETED');
  });

  test('while it runs, waits or is paused: refused, and the instance goes on', async () => {
    await using world = await workflowWorld(register);
    await world.run('waiting');
    expect(await code(world.run('plain'))).toBe('ERR_START_WORKFLOW');
    await world.sidecar.workflows.pause('one');
    expect(await code(world.run('plain'))).toBe('ERR_START_WORKFLOW');
    await world.restart();
    expect(await code(world.run('plain'))).toBe('ERR_START_WORKFLOW');
    await world.sidecar.workflows.resume('one');
    expect((await world.raise('go', 1)).status).toBe('COMPLETED');
  });

  test('a hundred starts of one ID at once: one wins', async () => {
    await using world = await workflowWorld(register);
    const starts = Array.from({ length: 100 }, () =>
      code(world.sidecar.workflows.start('waiting', undefined, { instanceId: 'one' })),
    );
    const answers = await Promise.all(starts);
    expect(answers.filter((answer) => answer === 'fine').length).toBe(1);
    expect(answers.filter((answer) => answer === 'ERR_START_WORKFLOW').length).toBe(99);
    expect((await world.raise('go', 1)).status).toBe('COMPLETED');
  });
});

describe('purge', () => {
  test('of what is finished: nothing is left; of what is not there: an error', async () => {
    await using world = await workflowWorld(register);
    const before = await world.size();
    await world.run('plain', 1);
    await world.sidecar.workflows.purge('one');
    await world.clock.settled();
    expect(await world.sidecar.workflows.get('one')).toBeUndefined();
    expect(await world.size()).toBe(before);
    expect(await world.sidecar.workflows.purge('one')).toBe(false);
  });

  test('refused while it, or a child of it, runs', async () => {
    await using world = await workflowWorld((sidecar, at) => {
      register(sidecar, at);
      sidecar.workflows.register(
        defineWorkflow('leaving', (ctx) => {
          void ctx.callChild('waiting', undefined, { instanceId: 'kid' });
          return 'gone';
        }),
      );
    });
    await world.run('leaving');
    expect((await world.settle('kid')).status).toBe('RUNNING');
    expect(await code(world.sidecar.workflows.purge('kid'))).toBe('ERR_PURGE_WORKFLOW');
    expect(await code(world.sidecar.workflows.purge('one'))).toBe('ERR_PURGE_WORKFLOW');
    await world.raise('go', 1, 'kid');
    await world.sidecar.workflows.purge('one');
    expect(await world.sidecar.workflows.get('kid')).toBeUndefined();
  });
});

describe('a workflow that nobody has registered', () => {
  test('fails when it is started, and says its name', async () => {
    await using world = await workflowWorld(register);
    expect(await world.run('nonexistent')).toMatchObject({
      status: 'FAILED',
      failure: { message: expect.stringContaining('nonexistent') },
    });
  });
});

test('a thousand instances at once, over a restart', async () => {
  await using world = await workflowWorld(register);
  const ids = Array.from({ length: 1_000 }, (_, index) => `i${index}`);
  await Promise.all(ids.map((instanceId) => world.sidecar.workflows.start('waiting', undefined, { instanceId })));
  await world.clock.settled();
  await world.restart();
  await Promise.all(ids.map((id, index) => world.sidecar.workflows.raiseEvent(id, 'go', index)));
  await world.clock.settled();
  const outputs = await Promise.all(ids.map(async (id) => (await world.sidecar.workflows.get(id))?.output));
  expect(outputs).toEqual(ids.map((_, index) => index));
  expect(new Set(world.seen).size).toBe(1_000);
});

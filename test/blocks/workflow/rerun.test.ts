import { describe, expect, test } from 'vitest';
import { embeddedState } from '../../../src/components/embedded/index.ts';
import { defineActivity, defineWorkflow, type WorkflowFunction } from '../../../src/index.ts';
import { temporaryDirectory } from '../../support/embedded-store.ts';
import { Fleet } from '../../support/fleet.ts';
import { type Registering, type WorkflowWorld, workflowWorld } from '../../support/workflow-world.ts';

/** A lorry that comes when it is told to. */
interface Depot {
  hasLorry: boolean;
}

const order: WorkflowFunction<string> = async (ctx, id) => {
  const key = ctx.uuid();
  const reserved = await ctx.callActivity('reserve', id);
  const slow = ctx.callActivity('slow', id);
  const { by } = await ctx.waitForEvent<{ by: string }>('approved');
  await ctx.sleep('1s');
  const shipped = await ctx.callActivity('ship', { reserved, by, key }, { retry: { maxRetries: 1 } });
  return [shipped, await slow, key];
};

function orders(depot: Depot, code: WorkflowFunction<string> = order): Registering {
  return ({ workflows }, world) => {
    workflows.register(
      defineWorkflow('order', code),
      defineActivity('reserve', (id: string) => {
        world.seen.push(`reserve ${id}`);
        return `reserved ${id}`;
      }),
      defineActivity('slow', (id: string) => {
        world.seen.push(`slow ${id}`);
        return 'slowly';
      }),
      defineActivity('ship', ({ key }: { key: string }) => {
        world.seen.push(`ship ${key}`);
        if (!depot.hasLorry) throw new RangeError('no lorry');
        return 'shipped';
      }),
    );
  };
}

/** An order that has failed because there was no lorry. */
async function failed(world: WorkflowWorld): Promise<void> {
  await world.run('order', 'a');
  await world.raise('approved', { by: 'Ada' });
  expect((await world.pass('2s')).status).toBe('FAILED');
}

const STORES = [
  ['memory', () => ({})],
  ['embedded', () => ({ state: embeddedState({ path: temporaryDirectory() }) })],
] as const;

describe.each(STORES)('rerun, state in %s', (_store, optionsOf) => {
  test('from the failure repeats what has failed and nothing else, over a restart', async () => {
    const depot = { hasLorry: false };
    await using world = await workflowWorld(orders(depot), optionsOf());
    await failed(world);
    const [key] = world.seen.filter((line) => line.startsWith('ship'));
    await world.restart();
    world.seen.length = 0;
    depot.hasLorry = true;
    const { instanceId } = await world.sidecar.workflows.rerun('one', { from: 'failure', instanceId: 'two' });
    expect(instanceId).toBe('two');
    const state = await world.settle('two');
    expect(state).toMatchObject({ status: 'COMPLETED', rerunOf: 'one', input: 'a' });
    expect(state.output).toEqual(['shipped', 'slowly', key?.slice('ship '.length)]);
    expect(world.seen).toEqual([key]);
    expect((await world.sidecar.workflows.get('one'))?.status).toBe('FAILED');
    await world.restart();
    expect((await world.settle('two')).output).toEqual(state.output);
  });

  test('from the start does all again, with the same input or another one', async () => {
    const depot = { hasLorry: false };
    await using world = await workflowWorld(orders(depot), optionsOf());
    await failed(world);
    depot.hasLorry = true;
    world.seen.length = 0;
    const { instanceId: same } = await world.sidecar.workflows.rerun('one');
    const { instanceId: other } = await world.sidecar.workflows.rerun('one', {
      from: 'start',
      input: 'b',
      instanceId: 'other',
    });
    for (const id of [same, other]) await world.raise('approved', { by: 'Bo' }, id);
    await world.pass('2s');
    expect([(await world.settle(same)).status, (await world.settle(other)).status]).toEqual(['COMPLETED', 'COMPLETED']);
    expect((await world.settle(other)).input).toBe('b');
    expect(world.seen.filter((line) => line.startsWith('reserve'))).toEqual(['reserve a', 'reserve b']);
    const keys = new Set(world.seen.filter((line) => line.startsWith('ship')));
    expect(keys.size).toBe(2);
  });

  test('from an action keeps the results before it, and takes events and results from later on again', async () => {
    const depot = { hasLorry: true };
    await using world = await workflowWorld(orders(depot), optionsOf());
    await world.run('order', 'a');
    await world.raise('approved', { by: 'Ada' });
    expect((await world.pass('2s')).status).toBe('COMPLETED');
    const { output } = await world.settle();
    world.seen.length = 0;
    // 3 is the timer, which the turn of the event has made.
    await world.sidecar.workflows.rerun('one', { from: 3, instanceId: 'two' });
    expect((await world.settle('two')).status).toBe('RUNNING');
    expect(world.seen).toEqual([]);
    await world.restart();
    expect(await world.pass('1s', 'two')).toMatchObject({ status: 'COMPLETED', output });
    expect(world.seen).toEqual([expect.stringMatching(/^ship /)]);
    world.seen.length = 0;
    // 1 is in the first turn: everything is done again but the event, which has come.
    await world.sidecar.workflows.rerun('one', { from: 1, instanceId: 'three' });
    await world.settle('three');
    await world.pass('2s', 'three');
    expect(await world.settle('three')).toMatchObject({
      status: 'COMPLETED',
      output: ['shipped', 'slowly', expect.any(String)],
    });
    expect(world.seen.map((line) => line.split(' ')[0])).toEqual(['reserve', 'slow', 'ship']);
  });

  test('of what was rerun, and of a terminated instance in a pause: it is neither paused nor terminated again', async () => {
    const depot = { hasLorry: true };
    await using world = await workflowWorld(orders(depot), optionsOf());
    await world.run('order', 'a');
    await world.sidecar.workflows.pause('one');
    await world.raise('approved', { by: 'Ada' });
    await world.sidecar.workflows.terminate('one');
    expect((await world.settle()).status).toBe('TERMINATED');
    await world.sidecar.workflows.rerun('one', { from: 2, instanceId: 'two' });
    await world.settle('two');
    expect(await world.pass('2s', 'two')).toMatchObject({ status: 'COMPLETED', rerunOf: 'one' });
    await world.sidecar.workflows.rerun('two', { from: 3, instanceId: 'three' });
    await world.settle('three');
    expect(await world.pass('2s', 'three')).toMatchObject({ status: 'COMPLETED', rerunOf: 'two' });
    expect((await world.settle('three')).output).toEqual((await world.settle('two')).output);
  });
});

describe('rerun from the failure', () => {
  test('lets mended code go on where the code before has thrown', async () => {
    const code =
      (isMended: boolean): WorkflowFunction<string> =>
      async (ctx, id) => {
        const reserved = await ctx.callActivity('reserve', id);
        const { by } = await ctx.waitForEvent<{ by: string }>('approved');
        if (!isMended) throw new TypeError('a mistake');
        return [reserved, by];
      };
    await using world = await workflowWorld(orders({ hasLorry: true }, code(false)));
    await world.run('order', 'a');
    expect((await world.raise('approved', { by: 'Ada' })).status).toBe('FAILED');
    await world.restart(orders({ hasLorry: true }, code(true)));
    world.seen.length = 0;
    await world.sidecar.workflows.rerun('one', { from: 'failure', instanceId: 'two' });
    expect(await world.settle('two')).toMatchObject({ status: 'COMPLETED', output: ['reserved a', 'Ada'] });
    expect(world.seen).toEqual([]);
  });

  test('of one that failed in its first turn begins it anew', async () => {
    await using world = await workflowWorld(
      orders({ hasLorry: true }, async () => {
        throw new Error('at once');
      }),
    );
    expect((await world.run('order', 'a')).status).toBe('FAILED');
    await world.restart(orders({ hasLorry: true }, async (_ctx, id) => id));
    await world.sidecar.workflows.rerun('one', { from: 'failure', instanceId: 'two' });
    expect(await world.settle('two')).toMatchObject({ status: 'COMPLETED', output: 'a' });
  });

  test('does not begin an activity whose result has come since, although it takes long to be read', async () => {
    const code: WorkflowFunction<string> = async (ctx, id) => {
      const slow = ctx.callActivity<string>('slow', id);
      await ctx.waitForEvent('approved');
      return [await slow, await ctx.callActivity('ship', { key: 'x' })];
    };
    const depot = { hasLorry: false };
    await using world = await workflowWorld(orders(depot, code));
    await world.run('order', 'a');
    expect((await world.raise('approved')).status).toBe('FAILED');
    depot.hasLorry = true;
    world.seen.length = 0;
    // 2 is the activity that has failed: its turn is the one of the event, after the result.
    await world.sidecar.workflows.rerun('one', { from: 2, instanceId: 'two' });
    expect(await world.settle('two')).toMatchObject({ status: 'COMPLETED', output: ['slowly', 'shipped'] });
    expect(world.seen).toEqual(['ship x']);
  });
});

describe('children', () => {
  const parent: WorkflowFunction<string> = async (ctx) => {
    const first = await ctx.callChild<string>('child', 1);
    const second = await ctx.callChild<string>('child', 2);
    return [first, second, await ctx.callActivity('ship', { key: 'x' })];
  };
  const registering =
    (depot: Depot): Registering =>
    (sidecar, world) => {
      orders(depot, parent)(sidecar, world);
      sidecar.workflows.register('child', async (ctx, number: number) => {
        if (number === 2) await ctx.waitForEvent('go');
        world.seen.push(`child ${ctx.instanceId}`);
        return number;
      });
    };

  test('that have completed are not started again, and those that come later get IDs of the new instance', async () => {
    const depot = { hasLorry: false };
    await using world = await workflowWorld(registering(depot));
    await world.run('order', 'a');
    await world.raise('go', undefined, 'one-0002');
    expect((await world.settle()).status).toBe('FAILED');
    depot.hasLorry = true;
    const { workflows } = world.sidecar;
    world.seen.length = 0;
    await workflows.rerun('one', { from: 'failure', instanceId: 'two' });
    expect(await world.settle('two')).toMatchObject({ status: 'COMPLETED', output: [1, 2, 'shipped'] });
    await workflows.rerun('one', { from: 2, instanceId: 'three' });
    await world.settle('three');
    await world.raise('go', undefined, 'three-0002');
    expect(await world.settle('three')).toMatchObject({ status: 'COMPLETED', output: [1, 2, 'shipped'] });
    expect(world.seen).toEqual(['ship x', 'child three-0002', 'ship x']);
    await world.restart();
    // The history of a copy has the child of the first one.
    expect((await world.history('three')).filter(({ type }) => type === 'childStarted')).toMatchObject([
      { instanceId: 'one-0001' },
      { instanceId: 'three-0002' },
    ]);
  });
});

describe('rerun is refused', () => {
  const open: WorkflowFunction<string> = async (ctx) => {
    const child = ctx.callChild('child', 2);
    await ctx.callActivity('reserve', 'a');
    await ctx.callActivity('ship', { key: 'x' });
    return child;
  };

  test.each([
    ['nobody', {}, 'ERR_INSTANCE_ID_NOT_FOUND', 404, 'nobody'],
    ['running', {}, 'ERR_START_WORKFLOW', 409, 'workflow "running" is RUNNING: expected one that is over'],
    ['one', { from: 'failure', instanceId: 'one' }, 'ERR_START_WORKFLOW', 409, 'already exists'],
    [
      'one',
      { from: 'end' },
      'ERR_INVALID_ARGUMENT',
      400,
      'from in options of rerun is "end": expected "start", "failure" or the number',
    ],
    ['one', { from: 0 }, 'ERR_INVALID_ARGUMENT', 400, 'from in options of rerun is 0'],
    ['one', { from: 99 }, 'ERR_INVALID_ARGUMENT', 400, 'workflow "one" has no action 99: expected one from 1 to 6'],
    ['one', { from: 2, input: 'b' }, 'ERR_INVALID_ARGUMENT', 400, 'there is an input'],
    ['one', { form: 'start' }, 'ERR_INVALID_ARGUMENT', 400, 'unknown field "form"'],
    ['one', { instanceId: 'a b' }, 'ERR_INVALID_ARGUMENT', 400, '"a b"'],
    [
      'open',
      { from: 'failure' },
      'ERR_START_WORKFLOW',
      409,
      'its child "open-0001" had not completed; expected an action up to 1',
    ],
    ['terminated', { from: 'failure' }, 'ERR_INVALID_ARGUMENT', 400, 'is TERMINATED, and from is "failure"'],
  ])('of %s with %j: %s', async (id, options, code, status, message) => {
    await using world = await workflowWorld((sidecar, self) => {
      orders({ hasLorry: false })(sidecar, self);
      sidecar.workflows.register('open', open);
      sidecar.workflows.register('child', (ctx) => ctx.waitForEvent('go'));
    });
    await failed(world);
    await world.run('order', 'a', 'running');
    await world.run('order', 'a', 'terminated');
    await world.sidecar.workflows.terminate('terminated');
    await world.run('open', 'a', 'open');
    await world.settle('open');
    await expect(world.sidecar.workflows.rerun(id, options as object)).rejects.toMatchObject({
      code,
      status,
      message: expect.stringContaining(message),
    });
  });
});

describe('rerun on two hosts', () => {
  test('begins where the new instance belongs, whoever is asked', async () => {
    await using fleet = new Fleet();
    let ships = 0;
    let hasLorry = false;
    const join = async () => {
      const member = await fleet.join();
      member.sidecar.workflows.register('order', async (ctx) => {
        await ctx.callActivity('reserve');
        return ctx.callActivity('ship');
      });
      member.sidecar.workflows.registerActivity('reserve', () => undefined);
      member.sidecar.workflows.registerActivity('ship', () => {
        ships++;
        if (!hasLorry) throw new Error('no lorry');
        return 'shipped';
      });
      return member;
    };
    const [a, b] = [await join(), await join()];
    await fleet.pass(3);
    const ids = Array.from({ length: 20 }, (_, index) => `order-${index}`);
    for (const id of ids) await a.sidecar.workflows.start('order', undefined, { instanceId: id });
    await fleet.pass(3);
    hasLorry = true;
    ships = 0;
    for (const id of ids) await b.sidecar.workflows.rerun(id, { from: 'failure', instanceId: `${id}-again` });
    await fleet.pass(5);
    const { instances } = await a.sidecar.workflows.listPage({ status: 'COMPLETED' });
    expect(instances.map(({ rerunOf }) => rerunOf).sort()).toEqual([...ids].sort());
    expect(ships).toBe(ids.length);
  });
});

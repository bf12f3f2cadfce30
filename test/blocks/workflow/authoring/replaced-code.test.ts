/** Code that stands in for other code, in tests above all: the real one must not run. */
import { describe, expect, test, vi } from 'vitest';
import { type WorkflowActivityContext, type WorkflowContext, WorkflowRuntime } from '../../../../src/dapr/index.ts';
import { defineActivity, defineWorkflow, Sidecar } from '../../../../src/index.ts';
import { replaceActivities } from '../../../../src/testing/index.ts';
import { workflowWorld } from '../../../support/workflow-world.ts';

interface Order {
  readonly id: string;
}

const charge = defineActivity('charge', (order: Order): string => {
  throw new Error(`real money for ${order.id}`);
});
const refund = async function refund(order: Order): Promise<string> {
  throw new Error(`real money back for ${order.id}`);
};
const checkout = defineWorkflow('checkout', (ctx, order: Order) => ctx.callActivity(charge, order));
const giveBack = defineWorkflow('giveBack', (ctx, order: Order) => ctx.callActivity(refund, order));
const byName = defineWorkflow('byName', (ctx, order: Order) => ctx.callActivity('charge', order));
const parent = defineWorkflow('parent', (ctx, order: Order) => ctx.callChild(checkout, order));

const fake = (order: Order): string => `no money for ${order.id}`;
const everything = ({ workflows }: Sidecar): void => workflows.register(checkout, giveBack, byName, parent);

describe('an activity that is called as a definition or a function', () => {
  test('runs the code that is registered under its name', async () => {
    await using world = await workflowWorld((sidecar) => {
      everything(sidecar);
      sidecar.workflows.register(defineActivity('charge', fake), defineActivity('refund', fake));
    });
    expect((await world.run('checkout', { id: 'a' })).output).toBe('no money for a');
    expect((await world.run('giveBack', { id: 'b' }, 'two')).output).toBe('no money for b');
  });

  test('runs the function itself when nothing is registered', async () => {
    await using world = await workflowWorld(everything);
    const { failure } = await world.run('giveBack', { id: 'a' });
    expect(failure?.message).toContain('real money back for a');
  });

  test('two different functions under one name are an error that says what to use', async () => {
    await using world = await workflowWorld((sidecar) => {
      sidecar.workflows.register(charge, charge);
      expect(() => sidecar.workflows.register(defineActivity('charge', fake))).toThrow(
        /"charge" is registered already, with other code.*replaceActivity/,
      );
    });
    expect(world.sidecar.workflows).toBeDefined();
  });
});

describe('replaceActivities', () => {
  const replace = (sidecar: Sidecar): void => void replaceActivities(sidecar, [charge, fake]);
  const register = ({ workflows }: Sidecar): void => workflows.register(charge);
  const nothing = (): void => undefined;

  test.each<[when: string, first: typeof replace, then: typeof replace, started: typeof replace]>([
    ['before the start', register, replace, nothing],
    ['after the start', register, nothing, replace],
  ])('%s: the real one never runs', async (_when, first, then, started) => {
    await using world = await workflowWorld((sidecar) => {
      everything(sidecar);
      first(sidecar);
      then(sidecar);
    });
    started(world.sidecar);
    for (const name of ['checkout', 'byName', 'parent'])
      expect(await world.run(name, { id: name }, name)).toMatchObject({ output: `no money for ${name}` });
  });

  test('takes a mock of the test runner', async () => {
    await using world = await workflowWorld((sidecar) => {
      everything(sidecar);
      sidecar.workflows.register(charge);
      sidecar.workflows.registerActivity('refund', refund);
    });
    const mock = vi.fn((order: Order) => order.id);
    replaceActivities(world.sidecar, [charge, mock], [refund, async (order) => mock(order)]);
    await world.run('checkout', { id: 'a' });
    await world.run('giveBack', { id: 'b' }, 'two');
    expect(mock.mock.calls.map(([order]) => order)).toEqual([{ id: 'a' }, { id: 'b' }]);
  });

  test('restored, what was there before runs again', async () => {
    await using world = await workflowWorld((sidecar) => {
      everything(sidecar);
      sidecar.workflows.register(charge);
    });
    const outer = replaceActivities(world.sidecar, [charge, () => 'outer']);
    {
      using _ = replaceActivities(world.sidecar, [charge, () => 'inner']);
      expect((await world.run('checkout', { id: 'a' }, 'one')).output).toBe('inner');
    }
    expect((await world.run('checkout', { id: 'a' }, 'two')).output).toBe('outer');
    outer.close();
    outer.close();
    const { failure } = await world.run('checkout', { id: 'a' }, 'three');
    expect(failure?.message).toContain('real money for a');
  });

  test('a fake that throws is retried and fails as the real one does', async () => {
    await using world = await workflowWorld(({ workflows }) =>
      workflows.register(
        defineWorkflow('patient', (ctx, order: Order) => ctx.callActivity(charge, order, { retry: { maxRetries: 1 } })),
        charge,
      ),
    );
    const attempts: number[] = [];
    replaceActivities(world.sidecar, [
      charge,
      (_order, { attempt }) => {
        attempts.push(attempt);
        if (attempt === 1) throw new Error('declined');
        return 'accepted';
      },
    ]);
    await world.run('patient', { id: 'a' });
    expect((await world.pass('1s')).output).toBe('accepted');
    expect(attempts).toEqual([1, 2]);
  });

  test('names such as constructor and __proto__ are names', async () => {
    const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty'];
    await using world = await workflowWorld(({ workflows }) => {
      workflows.register(defineWorkflow('named', (ctx, name: string) => ctx.callActivity(name)));
      for (const name of names) workflows.register(defineActivity(name, () => `real ${name}`));
    });
    const replacement = replaceActivities(world.sidecar, ...names.map((name) => [name, () => `fake ${name}`] as const));
    for (const name of names)
      expect((await world.run('named', name, `f-${names.indexOf(name)}`)).output).toBe(`fake ${name}`);
    replacement.close();
    for (const name of names)
      expect((await world.run('named', name, `r-${names.indexOf(name)}`)).output).toBe(`real ${name}`);
  });

  test.each<[what: string, replace: (sidecar: Sidecar) => unknown, message: string]>([
    [
      'a misspelt name',
      (sidecar) => replaceActivities(sidecar, [charge, fake], ['chrage', fake]),
      'activity "chrage" is not registered: expected charge, mail; did you mean "charge"?',
    ],
    [
      'a definition that nobody registered',
      (sidecar) => replaceActivities(sidecar, [charge, fake], [defineActivity('ship', () => ''), () => '']),
      'activity "ship" is not registered: expected charge, mail',
    ],
    [
      'code that is none',
      (sidecar) => replaceActivities(sidecar, [charge, fake], ['mail', 'no code' as never]),
      'the code of activity "mail" is a string: expected a function',
    ],
  ])('refuses %s, and replaces nothing', async (_what, replace, message) => {
    await using world = await workflowWorld((sidecar) => {
      everything(sidecar);
      sidecar.workflows.register(
        charge,
        defineActivity('mail', () => ''),
      );
    });
    expect(() => replace(world.sidecar)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT', message }));
    expect((await world.run('checkout', { id: 'a' })).failure?.message).toContain('real money for a');
  });

  test('has the types of each activity', async () => {
    await using world = await workflowWorld((sidecar) => sidecar.workflows.register(charge));
    const typed = (): unknown[] => [
      replaceActivities(world.sidecar, [charge, ({ id }) => id], [refund, async ({ id }) => id.toUpperCase()]),
      // @ts-expect-error: charge returns a text
      replaceActivities(world.sidecar, [charge, () => 5]),
      // @ts-expect-error: an order has no total
      replaceActivities(world.sidecar, [charge, fake], [refund, async ({ total }) => total]),
    ];
    expect(typed).toBeTypeOf('function');
  });

  test('works for generators too, whose activities are functions', async () => {
    const pay = (_ctx: WorkflowActivityContext, id: string): string => {
      throw new Error(`real money for ${id}`);
    };
    function* flow(ctx: WorkflowContext): Generator<unknown, unknown, unknown> {
      return [yield ctx.callActivity(pay, 'a'), yield ctx.callActivity('pay', 'b')];
    }
    await using world = await workflowWorld((sidecar) => {
      new WorkflowRuntime({ sidecar }).registerWorkflow(flow).registerActivity(pay);
      replaceActivities(sidecar, ['pay', (id: string) => `no money for ${id}`]);
    });
    expect((await world.run('flow')).output).toEqual(['no money for a', 'no money for b']);
  });
});

describe('what is not code', () => {
  // JavaScript has no types, and a module that imports itself in a circle has `undefined` in place of a function.
  const none = undefined as never;
  const workflows = (sidecar: Sidecar) => sidecar.workflows;

  test.each<[what: string, given: (sidecar: Sidecar) => unknown, message: string]>([
    [
      'in replaceActivity by name',
      (sidecar) => sidecar.workflows.replaceActivity('charge', none),
      'the code of activity "charge" is undefined: expected a function',
    ],
    [
      'in replaceWorkflow',
      (sidecar) => workflows(sidecar).replaceWorkflow(checkout, none),
      'the code of workflow "checkout" is undefined: expected a function',
    ],
    [
      'in registerActivity',
      (sidecar) => workflows(sidecar).registerActivity('mail', none),
      'the code of activity "mail" is undefined: expected a function',
    ],
    [
      'in register, after a name',
      (sidecar) => workflows(sidecar).register('flow', {} as never),
      'the code of workflow "flow" is an object: expected a function',
    ],
    [
      'in register, a plain function',
      (sidecar) => workflows(sidecar).register(refund as never),
      'register was given a function "refund": expected what defineWorkflow or defineActivity returns, or a name and a function',
    ],
    [
      'in register, nothing',
      (sidecar) => workflows(sidecar).register(none),
      'register was given undefined: expected what defineWorkflow or defineActivity returns, or a name and a function',
    ],
  ])('%s, is an error', (_what, given, message) => {
    const sidecar = new Sidecar({ appId: 'shop' });
    expect(() => given(sidecar)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT', message }));
  });
});

describe('replaceActivity and replaceWorkflow', () => {
  test('take a definition, and have its types', async () => {
    await using world = await workflowWorld(everything);
    world.sidecar.workflows.replaceActivity(charge, ({ id }) => id.toUpperCase());
    // @ts-expect-error: charge answers text
    world.sidecar.workflows.replaceActivity(charge, () => 5).close();
    expect((await world.run('checkout', { id: 'a' })).output).toBe('A');
  });

  test('take a function, by the name under which it is registered', async () => {
    await using world = await workflowWorld((sidecar) => {
      everything(sidecar);
      sidecar.workflows.registerActivity('money back', refund);
    });
    world.sidecar.workflows.replaceActivity(refund, ({ id }) => `kept ${id}`);
    expect((await world.run('giveBack', { id: 'a' })).output).toBe('kept a');
    expect(await world.history()).toContainEqual(expect.objectContaining({ name: 'money back' }));
  });

  test('a child workflow can be replaced, registered or not, and restored', async () => {
    await using world = await workflowWorld(({ workflows }) => workflows.register(parent));
    const replacement = world.sidecar.workflows.replaceWorkflow(checkout, async (ctx, { id }) => {
      await ctx.sleep('1s');
      return `checked out ${id}`;
    });
    await world.run('parent', { id: 'a' });
    expect((await world.pass('1s')).output).toBe('checked out a');
    replacement.close();
    const { failure } = await world.run('parent', { id: 'b' }, 'two');
    expect(failure?.message).toContain('real money for b');
  });
});

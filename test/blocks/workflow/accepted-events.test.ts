/** No event that was accepted is lost without a word: the code gets it, the next run does, or a warning names it. */
import { describe, expect, test } from 'vitest';
import type { ReplayRules, Turn } from '../../../src/blocks/workflow/model/events.ts';
import { type WorkflowContext as DaprContext, WorkflowRuntime } from '../../../src/dapr/index.ts';
import { defineActivity, defineWorkflow, type Sidecar, type WorkflowFunction } from '../../../src/index.ts';
import { replayed } from '../../support/replayed.ts';
import { type WorkflowWorld, workflowWorld } from '../../support/workflow-world.ts';

type Seen = readonly unknown[];
type Register = (sidecar: Sidecar) => void;

const nothing = defineActivity('nothing', () => undefined);

function inCode(run: WorkflowFunction<Seen>): Register {
  return ({ workflows }) => workflows.register(defineWorkflow('entity', run), nothing);
}

function inDapr(run: (ctx: DaprContext, seen: Seen) => Generator<unknown, unknown, never>): Register {
  return (sidecar) => {
    new WorkflowRuntime({ sidecar }).registerWorkflowWithName('entity', run as never);
    sidecar.workflows.register(nothing);
  };
}

/** Three events that are all there when the code begins. */
async function burst(world: WorkflowWorld): Promise<void> {
  const { workflows } = world.sidecar;
  await workflows.start('entity', [], { instanceId: 'one', startAt: world.clock.now() + 1_000 });
  await workflows.raiseEvent('one', 'add', 1);
  await workflows.raiseEvent('one', 'sub', 2);
  await workflows.raiseEvent('one', 'add', 3);
  await world.pass('1s');
}

function warnings(world: WorkflowWorld): readonly object[] {
  return world.logger.at('warn').filter(({ message }) => message.includes('made no use of events'));
}

const RACES: readonly (readonly [what: string, register: Register])[] = [
  [
    'Promise.race',
    inCode(async (ctx, seen) => {
      const next = [...seen, await Promise.race([ctx.waitForEvent('add'), ctx.waitForEvent('sub')])];
      return next.length === 3 ? next : ctx.continueAsNew(next);
    }),
  ],
  [
    'Promise.any',
    inCode(async (ctx, seen) => {
      const next = [...seen, await Promise.any([ctx.waitForEvent('sub'), ctx.waitForEvent('add')])];
      return next.length === 3 ? next : ctx.continueAsNew(next);
    }),
  ],
  [
    'ctx.race and a step before the next run',
    inCode(async (ctx, seen) => {
      const next = [...seen, await ctx.race([ctx.waitForEvent('add'), ctx.waitForEvent('sub')])];
      await ctx.callActivity(nothing);
      return next.length === 3 ? next : ctx.continueAsNew(next);
    }),
  ],
  [
    'ctx.any and a step before the next run',
    inCode(async (ctx, seen) => {
      const next = [...seen, await ctx.any([ctx.waitForEvent('add'), ctx.waitForEvent('sub')])];
      await ctx.callActivity(nothing);
      return next.length === 3 ? next : ctx.continueAsNew(next);
    }),
  ],
  [
    'whenAny of a generator',
    inDapr(function* (ctx, seen) {
      const winner: { getResult(): unknown } = yield ctx.whenAny([
        ctx.waitForExternalEvent('add'),
        ctx.waitForExternalEvent('sub'),
      ]);
      const next = [...seen, winner.getResult()];
      if (next.length === 3) return next;
      ctx.continueAsNew(next, true);
      return undefined;
    }),
  ],
  [
    'whenAny of a generator and a step before the next run',
    inDapr(function* (ctx, seen) {
      const winner: { getResult(): unknown } = yield ctx.whenAny([
        ctx.waitForExternalEvent('add'),
        ctx.waitForExternalEvent('sub'),
      ]);
      const next = [...seen, winner.getResult()];
      yield ctx.callActivity('nothing');
      if (next.length === 3) return next;
      ctx.continueAsNew(next, true);
      return undefined;
    }),
  ],
];

describe('events that are there when a run begins', () => {
  test.each(RACES)('are each seen once, in order, over continueAsNew: %s', async (_what, register) => {
    await using world = await workflowWorld(register);
    await burst(world);
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: [1, 2, 3] });
    expect(warnings(world)).toEqual([]);
  });

  test('complete waits in the order in which they came, not in that of the waits', async () => {
    const branch = async (order: string[], what: string, wait: Promise<unknown>): Promise<void> => {
      await wait;
      order.push(what);
    };
    await using world = await workflowWorld(
      inCode(async (ctx) => {
        const order: string[] = [];
        await Promise.all([
          branch(order, 'sub', ctx.waitForEvent('sub')),
          branch(order, 'add', ctx.waitForEvent('add')),
        ]);
        return order;
      }),
    );
    await burst(world);
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: ['add', 'sub'] });
  });

  test('are all taken by polls with timeoutMs 0', async () => {
    await using world = await workflowWorld(
      inCode(async (ctx) => {
        const polls = ['add', 'add', 'add', 'sub', 'sub'].map((name) => ctx.waitForEvent(name, { timeout: 0 }));
        return (await Promise.allSettled(polls)).map((poll) => (poll.status === 'fulfilled' ? poll.value : null));
      }),
    );
    await burst(world);
    expect(await world.settle()).toMatchObject({ output: [1, 3, null, 2, null] });
  });
});

describe('an event that was taken by a wait that the code has left', () => {
  test('goes along when no code has waited for its promise', async () => {
    await using world = await workflowWorld(
      inCode(async (ctx, seen) => {
        if (seen.length > 0) return Promise.all(['add', 'add', 'sub'].map((name) => ctx.waitForEvent(name)));
        void ctx.waitForEvent('sub');
        await ctx.sleep(0);
        return ctx.continueAsNew(['again']);
      }),
    );
    await burst(world);
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: [1, 3, 2] });
  });

  test('is named by a warning when it has lost a Promise.race, which does not tell', async () => {
    await using world = await workflowWorld(
      inCode(async (ctx, seen) => {
        if (seen.length === 1) return seen;
        const won = await Promise.race([ctx.waitForEvent('add'), ctx.waitForEvent('sub')]);
        await ctx.sleep('1s');
        return ctx.continueAsNew([won]);
      }),
    );
    await world.run('entity', []);
    await world.raise('add', 1);
    await world.raise('sub', 2);
    expect(await world.pass('1s')).toMatchObject({ status: 'COMPLETED', output: [1] });
    expect(warnings(world)).toMatchObject([
      {
        message: expect.stringContaining('continues as new'),
        details: { instanceId: 'one', workflowName: 'entity', count: 1, events: [{ name: 'sub', count: 1 }] },
      },
    ]);
  });

  test('is the code’s when it races the same promise again', async () => {
    await using world = await workflowWorld(
      inCode(async (ctx, seen) => {
        if (seen.length > 0) return seen;
        const [add, sub] = [ctx.waitForEvent('add'), ctx.waitForEvent('sub')];
        const first = await Promise.race([add, sub]);
        await ctx.callActivity(nothing);
        await ctx.sleep('1s');
        return ctx.continueAsNew([first, await Promise.race([sub, ctx.sleep('1s')])]);
      }),
    );
    await world.run('entity', []);
    await world.raise('add', 1);
    await world.raise('sub', 2);
    expect(await world.pass('2s')).toMatchObject({ output: [1, 2] });
    expect(warnings(world)).toEqual([]);
  });
});

describe('a warning names the events that end with an instance', () => {
  const ends: readonly (readonly [what: string, run: WorkflowFunction<Seen>, status: string])[] = [
    ['that returns', (ctx) => ctx.waitForEvent('sub'), 'COMPLETED'],
    [
      'that throws',
      async (ctx) => {
        await ctx.waitForEvent('sub');
        throw new Error('no');
      },
      'FAILED',
    ],
  ];
  test.each(ends)('%s', async (_what, run, status) => {
    await using world = await workflowWorld(inCode(run));
    await burst(world);
    expect(await world.settle()).toMatchObject({ status });
    expect(warnings(world)).toMatchObject([
      {
        message: expect.stringContaining('has ended'),
        details: { instanceId: 'one', workflowName: 'entity', count: 2, events: [{ name: 'add', count: 2 }] },
      },
    ]);
  });

  const silent: readonly (readonly [what: string, run: WorkflowFunction<Seen>])[] = [
    [
      'keepEvents: false',
      async (ctx, seen) => (seen.length === 1 ? seen : ctx.continueAsNew([1], { keepEvents: false })),
    ],
    [
      'Promise.all of all',
      (ctx) => Promise.all([ctx.waitForEvent('sub'), ctx.waitForEvent('add'), ctx.waitForEvent('add')]),
    ],
    [
      'Promise.all beside an activity',
      async (ctx) => {
        const events = [ctx.waitForEvent('sub'), ctx.waitForEvent('add'), ctx.waitForEvent('add')];
        return Promise.all([...events, ctx.callActivity(nothing), ctx.sleep('1s')]);
      },
    ],
    [
      'a callback beside other work',
      async (ctx) => {
        let count = 0;
        for (const name of ['sub', 'add', 'add']) void ctx.waitForEvent(name).then(() => count++);
        while (count < 3) await ctx.sleep('1s');
        return count;
      },
    ],
  ];
  test.each(silent)('not with %s', async (_what, run) => {
    await using world = await workflowWorld(inCode(run));
    await burst(world);
    expect(await world.pass('5s')).toMatchObject({ status: 'COMPLETED' });
    expect(warnings(world)).toEqual([]);
  });

  test('not when it was terminated', async () => {
    await using world = await workflowWorld(inCode((ctx) => ctx.waitForEvent('never')));
    await burst(world);
    await world.sidecar.workflows.terminate('one');
    expect(await world.settle()).toMatchObject({ status: 'TERMINATED' });
    expect(warnings(world)).toEqual([]);
  });
});

describe('a run that began under an earlier release', () => {
  const run: WorkflowFunction<Seen> = async (ctx) => {
    const branch = async (name: string): Promise<void> => {
      await ctx.waitForEvent(name);
      await ctx.callActivity(name);
    };
    await Promise.all([branch('sub'), branch('add')]);
  };

  /** A turn in which `add` came before `sub`; the activities in the order in which the code called them. */
  function turnOf(calls: readonly string[], rules?: ReplayRules): Turn {
    const action = { type: 'activityScheduled', input: undefined, attempt: 1 } as const;
    return {
      at: 1,
      events: [
        { type: 'started', input: '[]' },
        { type: 'eventRaised', name: 'add', data: undefined },
        { type: 'eventRaised', name: 'sub', data: undefined },
        rules === undefined ? { type: 'begun' } : { type: 'begun', rules },
        ...calls.map((name, index) => ({ ...action, name, sequence: index + 1, activityId: index + 1 })),
      ],
    };
  }

  test('is replayed as it was recorded: events that were there completed their waits at the call', async () => {
    expect((await replayed(run, turnOf(['sub', 'add']))).outcome).toBeUndefined();
    expect((await replayed(run, turnOf(['add', 'sub'], 1))).outcome).toBeUndefined();
  });

  test('and not by the rules of another one', async () => {
    expect((await replayed(run, turnOf(['add', 'sub']))).isNonDeterministic).toBe(true);
    expect((await replayed(run, turnOf(['sub', 'add'], 1))).isNonDeterministic).toBe(true);
  });
});

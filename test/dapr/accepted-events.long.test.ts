/** Random programs of races and waits that continue as new: each event is seen once, whenever the process ends. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type WorkflowContext as DaprContext, type Task, WorkflowRuntime } from '../../src/dapr/index.ts';
import { defineActivity, defineWorkflow, type Sidecar, type WorkflowContext } from '../../src/index.ts';
import { type WorkflowWorld, workflowWorld } from '../support/workflow-world.ts';

const NAMES = ['a', 'b', 'c'] as const;

/** A race of waits, with a time limit for the race. */
interface Race {
  readonly kind: 'race';
  readonly names: readonly string[];
}
type Step = Race | { readonly kind: 'sleep' } | { readonly kind: 'activity' };

interface State {
  /** The steps of each run. */
  readonly rounds: readonly (readonly Step[])[];
  readonly seen: readonly string[];
}

const nothing = defineActivity('nothing', () => undefined);

const inCode = defineWorkflow('entity', async (ctx: WorkflowContext, { rounds, seen }: State): Promise<unknown> => {
  const [round, ...later] = rounds;
  const got = [...seen];
  for (const step of round ?? []) {
    if (step.kind === 'sleep') await ctx.sleep('1s');
    else if (step.kind === 'activity') await ctx.callActivity(nothing);
    else {
      const waits = step.names.map((name) => ctx.waitForEvent<string>(name));
      const event = await ctx.race([...waits, ctx.sleep('2s').then(() => null)]);
      if (event !== null) got.push(event);
    }
  }
  if (round !== undefined) return ctx.continueAsNew({ rounds: later, seen: got });
  await ctx.sleep('1h');
  for (const name of NAMES)
    for (let more = true; more; ) {
      const event = await ctx.waitForEvent<string>(name, { timeout: 0 }).catch(() => null);
      more = event !== null;
      if (event !== null) got.push(event);
    }
  return got;
});

function* inDapr(ctx: DaprContext, { rounds, seen }: State): Generator<Task<unknown>, unknown, never> {
  const [round, ...later] = rounds;
  const got: unknown[] = [...seen];
  for (const step of round ?? []) {
    if (step.kind === 'sleep') yield ctx.createTimer(1);
    else if (step.kind === 'activity') yield ctx.callActivity('nothing');
    else {
      const waits = step.names.map((name) => ctx.waitForExternalEvent(name));
      const limit = ctx.createTimer(2);
      const winner: Task<unknown> = yield ctx.whenAny([...waits, limit]);
      if (winner !== limit) got.push(winner.getResult());
    }
  }
  if (round !== undefined) {
    ctx.continueAsNew({ rounds: later, seen: got }, true);
    return undefined;
  }
  yield ctx.createTimer(3_600);
  for (const name of NAMES)
    for (let more = true; more; ) {
      try {
        got.push(yield ctx.waitForExternalEvent(name, { timeoutMs: 0 }));
      } catch {
        more = false;
      }
    }
  return got;
}

function registerCode({ workflows }: Sidecar): void {
  workflows.register(inCode, nothing);
}

function registerDapr(sidecar: Sidecar): void {
  new WorkflowRuntime({ sidecar }).registerWorkflowWithName('entity', inDapr);
  sidecar.workflows.register(nothing);
}

/** A burst of events, and perhaps the end of the process behind it. */
interface Burst {
  readonly afterMs: number;
  readonly names: readonly string[];
  readonly restarts: boolean;
}

async function send(world: WorkflowWorld, bursts: readonly Burst[]): Promise<readonly string[]> {
  const raised: string[] = [];
  for (const { afterMs, names, restarts } of bursts) {
    await world.clock.advance(afterMs);
    const sending = names.map((name) => {
      raised.push(`${name}${raised.length}`);
      return world.sidecar.workflows.raiseEvent('one', name, raised.at(-1));
    });
    await Promise.all(sending);
    if (restarts) await world.restart();
  }
  return raised;
}

async function seenBy(
  register: (sidecar: Sidecar) => void,
  { rounds, bursts, maxIdleInstances }: Case & { readonly maxIdleInstances: number },
): Promise<unknown> {
  await using world = await workflowWorld(register, { workflows: { maxIdleInstances } });
  const startAt = world.clock.now() + 1_000;
  await world.sidecar.workflows.start('entity', { rounds, seen: [] }, { instanceId: 'one', startAt });
  const raised = await send(world, bursts);
  const { status, output, failure } = await world.pass('2h');
  expect({ status, failure }).toEqual({ status: 'COMPLETED', failure: undefined });
  expect((output as string[]).toSorted()).toEqual(raised.toSorted());
  return output;
}

interface Case {
  readonly rounds: readonly (readonly Step[])[];
  readonly bursts: readonly Burst[];
}

const name = fc.constantFrom(...NAMES);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('race'), names: fc.array(name, { minLength: 1, maxLength: 4 }) }),
  },
  { weight: 1, arbitrary: fc.constantFrom<Step>({ kind: 'sleep' }, { kind: 'activity' }) },
);
const bursts = fc.record({
  afterMs: fc.constantFrom(0, 500, 1_000, 2_000),
  names: fc.array(name, { minLength: 1, maxLength: 5 }),
  restarts: fc.boolean(),
});
const cases: fc.Arbitrary<Case> = fc.record({
  rounds: fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 5 }),
  bursts: fc.array(bursts, { minLength: 1, maxLength: 5 }),
});

const RUNS = Number(process.env['DIFFERENTIAL_RUNS'] ?? 60);

test('each event is seen once, in both ways of writing, from memory and replayed', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(cases, async (one) => {
      const calm = one.bursts.map((burst) => ({ ...burst, restarts: false }));
      const expected = await seenBy(registerCode, { ...one, bursts: calm, maxIdleInstances: 100 });
      for (const register of [registerCode, registerDapr])
        for (const maxIdleInstances of [0, 100])
          expect(await seenBy(register, { ...one, maxIdleInstances })).toEqual(expected);
    }),
    { numRuns: RUNS },
  );
});

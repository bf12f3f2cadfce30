import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defineActivity, defineWorkflow, type WorkflowContext } from '../../../../src/index.ts';
import { workflowWorld } from '../../../support/workflow-world.ts';

/** A step of a program that is made up. */
type Step =
  | { readonly kind: 'activity' | 'failing' | 'sleep' | 'event' | 'child' | 'random' | 'hops'; readonly value: number }
  | { readonly kind: 'all' | 'race' | 'settled'; readonly steps: readonly Step[] };

const leaf = fc.record({
  kind: fc.constantFrom('activity', 'failing', 'sleep', 'event', 'child', 'random', 'hops'),
  value: fc.integer({ min: 0, max: 4 }),
}) as fc.Arbitrary<Step>;
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: leaf },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom('all', 'race', 'settled'),
      steps: fc.array(leaf, { minLength: 1, maxLength: 4 }),
    }) as fc.Arbitrary<Step>,
  },
);

async function perform(ctx: WorkflowContext, one: Step): Promise<unknown> {
  switch (one.kind) {
    case 'activity':
      return ctx.callActivity('add', one.value);
    case 'failing':
      // No instant that a child could wait for as well: which of two instances has its turn first is not promised.
      return ctx
        .callActivity('fail', one.value, { retry: { maxRetries: 1, delay: 11 } })
        .catch((error: Error) => error.message);
    case 'sleep':
      return ctx.sleep(one.value * 7).then(() => ctx.now());
    case 'event':
      return ctx.waitForEvent(`e${one.value}`, { timeout: 40 }).catch((error: Error) => error.name);
    case 'child':
      return ctx.callChild('child', one.value).catch((error: Error) => error.message);
    case 'random':
      return [ctx.random(), ctx.uuid()];
    case 'hops':
      for (let hop = 0; hop < one.value * 3; hop++) await null;
      return ctx.callActivity('add', one.value);
    case 'all':
      return Promise.all(one.steps.map((inner) => perform(ctx, inner)));
    case 'race':
      return Promise.race(one.steps.map((inner) => perform(ctx, inner)));
    case 'settled':
      return Promise.allSettled(one.steps.map((inner) => perform(ctx, inner)));
  }
}

/** Runs the program with so many instances in memory; with 0 of them it is replayed for everything that comes. */
async function outcomeOf(steps: readonly Step[], maxIdleInstances: number): Promise<unknown> {
  await using world = await workflowWorld(
    ({ workflows }) => {
      workflows.register(
        defineActivity('add', (value: number) => value + 1),
        defineActivity('fail', (value: number) => {
          throw new Error(`no ${value}`);
        }),
        defineWorkflow('child', async (ctx, value: number) => {
          await ctx.sleep(value * 5);
          return ctx.callActivity('add', value);
        }),
        defineWorkflow('flow', async (ctx) => {
          const results: unknown[] = [];
          for (const one of steps) {
            results.push(await perform(ctx, one));
            ctx.setCustomStatus(`${results.length}`);
          }
          return results;
        }),
      );
    },
    { workflows: { maxIdleInstances } },
  );
  await world.run('flow');
  for (let round = 0; round < 12; round++) {
    await world.raise(`E${round % 5}`, round);
    await world.pass(20);
  }
  const { status, output, failure, customStatus } = await world.pass('10s');
  return { status, failure, customStatus, output: withoutRandom(output) };
}

/** Random values differ from instance to instance. Of one instance they must not: that fails its replay otherwise. */
function withoutRandom(output: unknown): unknown {
  return JSON.parse(JSON.stringify(output ?? null).replaceAll(/\[[\d.e-]+,"[0-9a-f-]{36}"\]/g, '"random"'));
}

describe('programs that are made up', () => {
  test('come to the same, whether they stay in memory or are replayed for everything that comes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
        const stayed = await outcomeOf(steps, 10);
        expect(stayed).toMatchObject({ status: 'COMPLETED' });
        expect(await outcomeOf(steps, 0)).toEqual(stayed);
      }),
      { numRuns: 40 },
    );
  }, 60_000);
});

test('UUIDs and random numbers are the same in every replay, and the log says everything once', async () => {
  const seen: unknown[] = [];
  await using world = await workflowWorld(
    ({ workflows }) =>
      workflows.register('flow', async (ctx) => {
        const drawn = [ctx.uuid(), ctx.random(), ctx.uuid(), ctx.now()];
        seen.push(drawn);
        ctx.log.warn({ order: 1 }, 'drawn');
        await ctx.waitForEvent('go');
        ctx.log.warn({ order: 2 }, 'woken');
        await ctx.waitForEvent('go');
        return drawn;
      }),
    { workflows: { maxIdleInstances: 0 } },
  );
  await world.run('flow');
  await world.raise('go');
  const { output } = await world.raise('go');
  expect(seen.length).toBeGreaterThan(2);
  for (const drawn of seen) expect(drawn).toEqual(output);
  const lines = world.logger.at('warn').map(({ message, details }) => [message, details]);
  expect(lines).toEqual([
    ['drawn', { instanceId: 'one', order: 1 }],
    ['woken', { instanceId: 'one', order: 2 }],
  ]);
});

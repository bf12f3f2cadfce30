import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { type ActivityDefinition, defineActivity, defineWorkflow } from '../../../src/index.ts';
import { workflowWorld } from '../../support/workflow-world.ts';

const DAY = z.iso.datetime().transform((text) => new Date(text));

describe('the options of an activity', () => {
  test('count for every call, unless the call says otherwise', async () => {
    let attempts = 0;
    const charge = defineActivity('charge', { retry: { maxRetries: 2, delay: 1 } }, () => {
      attempts++;
      throw new Error('declined');
    });
    const thrice = defineWorkflow('thrice', (ctx) => ctx.callActivity(charge));
    const once = defineWorkflow('once', (ctx) => ctx.callActivity(charge, undefined, { retry: { maxRetries: 0 } }));
    await using world = await workflowWorld(({ workflows }) => workflows.register(thrice, once, charge));
    await world.run('thrice');
    await world.pass('1s');
    expect(attempts).toBe(3);
    expect((await world.run('once', undefined, 'two')).status).toBe('FAILED');
    expect(attempts).toBe(4);
  });

  test('the time limit ends an attempt', async () => {
    const hang = defineActivity('hang', { timeout: '1s' }, (_input, { signal }) => {
      return new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    });
    await using world = await workflowWorld(({ workflows }) =>
      workflows.register(
        defineWorkflow('flow', (ctx) => ctx.callActivity(hang)),
        hang,
      ),
    );
    await world.sidecar.workflows.start('flow', undefined, { instanceId: 'one' });
    expect((await world.pass('1s')).failure?.message).toContain('activity "hang" failed: ');
  });

  test('the function gets the output of the schema of the input, the workflow that of the result', async () => {
    const seen: unknown[] = [];
    const plan = defineActivity('plan', { input: DAY, output: z.object({ days: z.number().default(7) }) }, (day) => {
      seen.push(day);
      return {};
    });
    const flow = defineWorkflow('flow', async (ctx) => (await ctx.callActivity(plan, '2026-05-01T00:00:00Z')).days);
    await using world = await workflowWorld(({ workflows }) => workflows.register(flow, plan));
    expect((await world.run('flow')).output).toBe(7);
    expect(seen).toEqual([new Date('2026-05-01T00:00:00Z')]);
  });

  test.each([
    ['an input', { input: z.number() }, 'the input of activity "plan" does not fit the schema: '],
    ['a result', { output: z.number() }, 'the result of activity "plan" does not fit the schema: '],
  ])('%s that does not fit is a failure that is not retried', async (_, schemas, message) => {
    let calls = 0;
    const plan = defineActivity('plan', { ...schemas, retry: { maxRetries: 4, delay: 1 } }, (): never => {
      calls++;
      return 'seven' as never;
    });
    const flow = defineWorkflow('flow', (ctx) => ctx.callActivity('plan', 'one', { retry: { maxRetries: 4 } }));
    await using world = await workflowWorld(({ workflows }) => workflows.register(flow, plan));
    await world.run('flow');
    const { status, failure } = await world.pass('1h');
    expect(status).toBe('FAILED');
    expect(failure?.message).toContain(message);
    expect(calls).toBe('input' in schemas ? 0 : 1);
  });

  test.each<[string, () => unknown, string]>([
    [
      'an unknown option',
      () => defineActivity('a', { timeOut: 1 } as never, () => 1),
      'options of activity "a": unknown field "timeOut": expected retry, timeout, input, output, globalConcurrency, rate; did you mean "timeout"?',
    ],
    ['a wrong policy', () => defineActivity('a', { retry: { maxRetries: -1 } }, () => 1), 'retry.maxRetries is -1'],
    ['a wrong time', () => defineActivity('a', { timeout: 'soon' as never }, () => 1), 'timeout'],
    [
      'a schema that is none',
      () => defineActivity('a', { input: {} as never }, () => 1),
      'input in options of activity',
    ],
    ['no code', () => defineActivity('a', {}, undefined as never), 'the code of activity "a" is undefined'],
  ])('%s is an error', (_, define, message) => {
    expect(define).toThrow(message);
  });
});

test('an activity has the types of its schemas, else of its function', () => {
  expectTypeOf(defineActivity('a', (id: number) => String(id))).toEqualTypeOf<ActivityDefinition<number, string>>();
  expectTypeOf(defineActivity('a', { timeout: '3s' }, async (id: number) => String(id))).toEqualTypeOf<
    ActivityDefinition<number, string>
  >();
  expectTypeOf(defineActivity('a', {}, (_input, { attempt }) => attempt)).toEqualTypeOf<
    ActivityDefinition<undefined, number>
  >();
  expectTypeOf(defineActivity('a', { input: DAY }, (day) => day.getTime())).toEqualTypeOf<
    ActivityDefinition<string, number>
  >();
  // @ts-expect-error: the function returns what the schema does not take
  expect(defineActivity('a', { output: z.number() }, () => 'seven').kind).toBe('activity');
});

import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { defineEvent, defineWorkflow, Sidecar, TaskFailedError, type WorkflowContext } from '../../../src/index.ts';
import { patientClock } from '../../support/clock.ts';
import { RecordingLogger } from '../../support/logger.ts';

const clock = patientClock();

async function started(): Promise<Sidecar> {
  const sidecar = new Sidecar({ appId: 'shop', clock, logger: new RecordingLogger() });
  await sidecar.start();
  return sidecar;
}

interface Approval {
  readonly by: string;
}
const approved = defineEvent<Approval>('approved');
const dated = defineEvent('dated', { schema: z.object({ at: z.coerce.date() }) });

test('an event is raised and waited for by its definition, with the type of its data', async () => {
  await using sidecar = await started();
  const approval = defineWorkflow('approval', async (ctx) => {
    const first = await ctx.waitForEvent(approved);
    expectTypeOf(first).toEqualTypeOf<Approval>();
    const second = await ctx.race([ctx.waitForEvent(approved), ctx.sleep('1h')]);
    return [first.by, second?.by];
  });
  const run = await sidecar.workflows.start(approval);
  await run.raise(approved, { by: 'Ada' });
  await sidecar.workflows.raiseEvent(run.instanceId, approved, { by: 'Bob' });
  expect(await run.result()).toEqual(['Ada', 'Bob']);
});

test('the schema of an event makes what the workflow gets, in a replay too', async () => {
  await using sidecar = await started();
  const turns: unknown[] = [];
  const waits = defineWorkflow('waits', async (ctx) => {
    const { at } = await ctx.race([ctx.waitForEvent(dated), ctx.waitForEvent(defineEvent<never>('never'))]);
    expectTypeOf(at).toEqualTypeOf<Date>();
    turns.push(at);
    return at.getUTCFullYear();
  });
  const run = await sidecar.workflows.start(waits);
  await run.raise(dated, { at: '2026-05-01' });
  expect([await run.result(), turns]).toEqual([2026, [new Date('2026-05-01')]]);
  const again = await sidecar.workflows.rerun(run.instanceId);
  await again.raise(dated, { at: '2027-05-01' });
  expect(await again.result()).toBe(2027);
});

test('data that do not fit are refused where they are raised, and reach no workflow', async () => {
  await using sidecar = await started();
  const run = await sidecar.workflows.start(defineWorkflow('waits', (ctx) => ctx.waitForEvent(dated)));
  await expect(run.raise(dated, { at: 'soon' })).rejects.toMatchObject({
    code: 'ERR_INVALID_DATA',
    message: expect.stringMatching(/^the data of event "dated" does not fit the schema: at: /),
  });
  await run.raise(dated, { at: '2026-05-01' });
  expect(await run.result()).toEqual({ at: '2026-05-01T00:00:00.000Z' });
});

test('data that came by the name of the event and do not fit fail the wait', async () => {
  await using sidecar = await started();
  const caught = defineWorkflow('caught', async (ctx) => {
    try {
      return await ctx.waitForEvent(dated);
    } catch (error) {
      return error instanceof TaskFailedError ? error.failure.errorType : 'another error';
    }
  });
  const run = await sidecar.workflows.start(caught);
  await run.raise('dated', { at: 'soon' });
  expect(await run.result()).toBe('InvalidDataError');
  const failing = await sidecar.workflows.start(defineWorkflow('failing', (ctx) => ctx.waitForEvent(dated)));
  await failing.raise('dated', { at: 'soon' });
  await expect(failing.result()).rejects.toThrow(/event "dated" failed: the data does not fit the schema: at: /);
});

test('an asynchronous schema is refused in a workflow', async () => {
  await using sidecar = await started();
  const slow = defineEvent('slow', { schema: z.number().refine(async () => true) });
  const run = await sidecar.workflows.start(defineWorkflow('waits', (ctx) => ctx.waitForEvent(slow)));
  await run.raise(slow, 1);
  await expect(run.result()).rejects.toThrow('its schema is asynchronous: workflow code cannot wait for it');
});

test('wrong definitions are refused', () => {
  expect(() => defineEvent('')).toThrow('the event name "" must have 1 to 256 characters');
  expect(() => defineEvent('a', { schema: 5 as never })).toThrow('schema in options of event "a" is a number');
  expect(() => defineEvent('a', { shema: {} } as object)).toThrow('did you mean "schema"?');
});

test('the types of events refuse data of another type', async () => {
  await using sidecar = await started();
  const raised = async (ctx: WorkflowContext): Promise<unknown> => {
    const run = sidecar.workflows.run('order-1');
    // @ts-expect-error: data are missing
    await run.raise(approved);
    // @ts-expect-error: data of another type
    await run.raise(approved, { by: 5 });
    // @ts-expect-error: the data have no such field
    return (await ctx.waitForEvent(approved)).ok;
  };
  await sidecar.workflows
    .run('order-1')
    .raise(defineEvent<undefined>('go'))
    .catch(() => undefined);
  expect(raised).toBeTypeOf('function');
});

/** Runs: the handles that `start` and `run` answer. */
import { describe, expect, expectTypeOf, test } from 'vitest';
import {
  defineActivity,
  defineWorkflow,
  isSidecarError,
  WorkflowFailedError,
  type WorkflowRun,
} from '../../../src/index.ts';
import { type Registering, type WorkflowWorld, workflowWorld } from '../../support/workflow-world.ts';

const double = defineWorkflow('double', async (_ctx, value: number) => ({ doubled: value * 2 }));
const nothing = defineWorkflow('nothing', async () => undefined);
const declined = defineActivity('declined', () => {
  throw new RangeError('the card was declined');
});
const failing = defineWorkflow('failing', async (ctx) => ctx.callActivity(declined));
const waiting = defineWorkflow('waiting', async (ctx, question: string) => {
  ctx.setCustomStatus(question);
  return ctx.waitForEvent<string>('answer');
});

const registering: Registering = ({ workflows }) => workflows.register(double, nothing, failing, waiting, declined);

/** The rejection of a promise. */
async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => expect.fail(`it resolved to ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
}

describe('the run of a start', () => {
  test('has the ID and the typed result', async () => {
    await using world = await workflowWorld(registering);
    const run = await world.sidecar.workflows.start(double, 4, { instanceId: 'one' });
    expectTypeOf(run).toEqualTypeOf<WorkflowRun<number, { doubled: number }>>();
    expect(run.instanceId).toBe('one');
    expect(await run.result()).toEqual({ doubled: 8 });
    expect(await run.state()).toMatchObject({ status: 'COMPLETED', input: 4, output: { doubled: 8 } });
    expect(await (await world.sidecar.workflows.start(nothing)).result()).toBeUndefined();
  });

  test('takes events, and waits for the result meanwhile', async () => {
    await using world = await workflowWorld(registering);
    const run = await world.sidecar.workflows.start(waiting, 'why');
    const result = run.result();
    await world.clock.settled();
    expect(await run.state()).toMatchObject({ status: 'RUNNING', customStatus: 'why' });
    await run.raise('answer', 'therefore');
    expect(await result).toBe('therefore');
  });

  test('rejects with the failure of the workflow', async () => {
    await using world = await workflowWorld(registering);
    const run = await world.sidecar.workflows.start(failing, undefined, { instanceId: 'one' });
    const error = await errorOf(run.result());
    expect(error).toBeInstanceOf(WorkflowFailedError);
    expect(isSidecarError(error)).toBe(true);
    expect(error).toMatchObject({
      code: 'ERR_WORKFLOW_FAILED',
      instanceId: 'one',
      message: 'workflow "failing" with the ID "one" failed: activity "declined" failed: the card was declined',
      failure: { errorType: 'TaskFailedError', message: 'activity "declined" failed: the card was declined' },
      cause: { name: 'TaskFailedError', stack: expect.stringContaining('RangeError: the card was declined') },
    });
    expect(await run.ended()).toMatchObject({ status: 'FAILED' });
  });

  test('rejects when it is terminated', async () => {
    await using world = await workflowWorld(registering);
    const run = await world.sidecar.workflows.start(waiting, 'why', { instanceId: 'one' });
    const error = errorOf(run.result());
    await run.terminate('never mind');
    expect(await error).toMatchObject({
      name: 'WorkflowFailedError',
      code: 'ERR_WORKFLOW_TERMINATED',
      message: 'workflow "waiting" with the ID "one" was terminated',
      failure: undefined,
    });
    expect(await run.ended()).toMatchObject({ status: 'TERMINATED', output: 'never mind' });
  });

  test('does not outlast its time-out, and goes on', async () => {
    await using world = await workflowWorld(registering);
    const run = await world.sidecar.workflows.start(waiting, 'why');
    const error = errorOf(run.result({ timeout: 5_000 }));
    await world.clock.advance('6s');
    expect(await error).toMatchObject({ code: 'ERR_WORKFLOW_TIMEOUT' });
    await run.raise('answer', 'late');
    expect(await run.result()).toBe('late');
  });
});

describe('the run of an instance that exists', () => {
  async function withOne(): Promise<WorkflowWorld> {
    const world = await workflowWorld(registering);
    await world.sidecar.workflows.start(waiting, 'why', { instanceId: 'one' });
    return world;
  }

  test('is that of its start, also in another life', async () => {
    await using world = await withOne();
    await world.restart();
    const run = world.sidecar.workflows.run(waiting, 'one');
    expectTypeOf(run).toEqualTypeOf<WorkflowRun<string, string>>();
    await run.raise('answer', 'so');
    expect(await run.result()).toBe('so');
    expect(await world.sidecar.workflows.run('one').result()).toBe('so');
  });

  test('rejects when the instance runs another workflow', async () => {
    await using world = await withOne();
    const run = world.sidecar.workflows.run(double, 'one');
    await run.raise('answer', 'so');
    const message = 'the instance "one" runs the workflow "waiting": expected "double"';
    for (const asked of [run.result(), run.ended(), run.state()])
      expect(await errorOf(asked)).toMatchObject({ code: 'ERR_INVALID_ARGUMENT', message });
  });

  test('rejects when there is none', async () => {
    await using world = await withOne();
    const run = world.sidecar.workflows.run(double, 'two');
    for (const asked of [run.result(), run.ended(), run.state(), run.raise('answer'), run.terminate()])
      expect(await errorOf(asked)).toMatchObject({ code: 'ERR_INSTANCE_ID_NOT_FOUND' });
  });

  test.each([undefined, 5, double])('needs an ID: %s is none', async (id) => {
    await using world = await withOne();
    expect(() => world.sidecar.workflows.run(id as never)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT' }),
    );
  });
});

/** The workflow calls of the package `@dapr/dapr`, unmodified, over HTTP (`v1.0-beta1`). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { defineActivity, defineWorkflow } from '../../src/blocks/workflow/model/definition.ts';
import { PATIENCE, type SdkWorld, sdkWorld } from './world.ts';

let world: SdkWorld;

const double = defineActivity('double', (value: number) => value * 2);

const add = defineWorkflow('add', async (context, input: { a: number; b: number }) => {
  const doubled = await context.callActivity(double, input.a + input.b);
  return { doubled };
});

const ask = defineWorkflow('ask', async (context) => {
  context.setCustomStatus('waiting');
  return context.waitForEvent('answer');
});

const fail = defineWorkflow('fail', () => {
  throw new TypeError('on purpose');
});

beforeAll(async () => {
  world = await sdkWorld();
  world.sidecar.workflows.register(add, ask, fail, double);
});

afterAll(() => world[Symbol.asyncDispose]());

type Instance = Awaited<ReturnType<SdkWorld['client']['workflow']['getWorkflowState']>>;

/** Reads an instance until it has that status. */
async function until(instanceId: string, status: string): Promise<Instance> {
  const read = (): Promise<Instance> => world.client.workflow.getWorkflowState(instanceId);
  await expect.poll(async () => (await read()).runtimeStatus, PATIENCE).toBe(status);
  return read();
}

/** What the client makes of a refusal. */
async function refusal(call: Promise<unknown>): Promise<{ status: number; errorCode: string }> {
  const error = await call.then(
    () => undefined,
    (thrown: Error) => thrown,
  );
  const { status, error_msg } = JSON.parse(String(error?.message)) as { status: number; error_msg: string };
  return { status, errorCode: String(JSON.parse(error_msg).errorCode) };
}

test('a workflow runs from start to end', async () => {
  const id = await world.client.workflow.scheduleNewWorkflow('add', { a: 1, b: 2 }, 'sum');
  expect(id).toBe('sum');
  const instance = await until('sum', 'COMPLETED');
  expect(instance).toMatchObject({
    instanceID: 'sum',
    workflowName: 'add',
    runtimeStatus: 'COMPLETED',
    properties: { 'dapr.workflow.input': '{"a":1,"b":2}', 'dapr.workflow.output': '{"doubled":6}' },
  });
  expect(instance.createdAt.getTime()).toBeGreaterThan(0);
  expect(instance.lastUpdatedAt.getTime()).toBeGreaterThanOrEqual(instance.createdAt.getTime());
});

test('without an ID the client makes one', async () => {
  const id = await world.client.workflow.scheduleNewWorkflow('add', { a: 1, b: 1 });
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  await until(id, 'COMPLETED');
});

test('an event that is raised reaches the workflow that waits for it', async () => {
  await world.client.workflow.scheduleNewWorkflow('ask', undefined, 'question');
  const waiting = await until('question', 'RUNNING');
  expect(waiting.workflowName).toBe('ask');
  await world.client.workflow.raiseEvent('question', 'answer', { yes: true });
  const instance = await until('question', 'COMPLETED');
  expect(instance.properties).toMatchObject({
    'dapr.workflow.custom_status': 'waiting',
    'dapr.workflow.output': '{"yes":true}',
  });
});

test('pause holds a workflow, resume lets it go on', async () => {
  await world.client.workflow.scheduleNewWorkflow('ask', undefined, 'held');
  await until('held', 'RUNNING');
  await world.client.workflow.pause('held');
  await until('held', 'SUSPENDED');
  await world.client.workflow.raiseEvent('held', 'answer', 'x');
  expect((await world.client.workflow.getWorkflowState('held')).runtimeStatus).toBe('SUSPENDED');
  await world.client.workflow.resume('held');
  await until('held', 'COMPLETED');
});

test('terminate ends a workflow, purge removes it', async () => {
  await world.client.workflow.scheduleNewWorkflow('ask', undefined, 'ended');
  await until('ended', 'RUNNING');
  await world.client.workflow.terminate('ended');
  await until('ended', 'TERMINATED');
  await world.client.workflow.purge('ended');
  expect(await refusal(world.client.workflow.getWorkflowState('ended'))).toEqual({
    status: 404,
    errorCode: 'ERR_INSTANCE_ID_NOT_FOUND',
  });
});

test('a workflow that fails tells how', async () => {
  await world.client.workflow.scheduleNewWorkflow('fail', undefined, 'failed');
  const instance = await until('failed', 'FAILED');
  expect(instance.properties).toMatchObject({
    'dapr.workflow.failure.error_type': 'TypeError',
    'dapr.workflow.failure.error_message': 'on purpose',
  });
});

test('an ID that is not finished cannot be started again', async () => {
  await world.client.workflow.scheduleNewWorkflow('ask', undefined, 'twice');
  await until('twice', 'RUNNING');
  expect(await refusal(world.client.workflow.scheduleNewWorkflow('ask', undefined, 'twice'))).toEqual({
    status: 500,
    errorCode: 'ERR_START_WORKFLOW',
  });
});

test('what is done to an instance that there is not is refused', async () => {
  const { workflow } = world.client;
  for (const call of [workflow.terminate('nope'), workflow.pause('nope'), workflow.raiseEvent('nope', 'a')])
    expect(await refusal(call)).toEqual({ status: 404, errorCode: 'ERR_INSTANCE_ID_NOT_FOUND' });
});

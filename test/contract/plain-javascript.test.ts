/** What the compiler tells those who write TypeScript, others are told by an error: options that there are not. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { embeddedState } from '../../src/components/embedded/index.ts';
import { WorkflowRuntime } from '../../src/dapr/index.ts';
import { request } from '../../src/http/message.ts';
import {
  defineActivity,
  defineJob,
  defineWorkflow,
  durablePubSub,
  expressHandler,
  fastifyPlugin,
  fetchHandler,
  koaHandler,
  memoryPubSub,
  nodeHandler,
  Sidecar,
  type WorkflowContext,
} from '../../src/index.ts';
import { virtualClock } from '../../src/testing/index.ts';
import { RecordingLogger } from '../support/logger.ts';

async function started(): Promise<Sidecar> {
  const sidecar = new Sidecar({
    appId: 'shop',
    components: [memoryPubSub('pubsub')],
    clock: virtualClock(),
    logger: new RecordingLogger(),
  });
  onTestFinished(() => sidecar.stop());
  await sidecar.start();
  return sidecar;
}

type Call = (sidecar: Sidecar, options: never) => unknown;

const noop = (): void => undefined;

describe('an option that there is not is an error', () => {
  test.each<[what: string, call: Call, options: unknown, problem: string]>([
    [
      'publish',
      ({ pubsub }, options) => pubsub.publish('pubsub', 'orders', 1, options),
      { ttlInSeconds: 5 },
      'options of publish: unknown field "ttlInSeconds": expected contentType, rawPayload, ttl, cloudEvent, metadata, key, trace',
    ],
    [
      'publish, cloudEvent',
      ({ pubsub }, options) => pubsub.publish('pubsub', 'orders', 1, options),
      { cloudEvent: { ID: '1' } },
      'options.cloudEvent: unknown field "ID": expected id, source, type, subject; did you mean "id"?',
    ],
    [
      'publishBulk',
      ({ pubsub }, options) => pubsub.publishBulk('pubsub', 'orders', [], options),
      { ttlMS: 5 },
      'options of publishBulk: unknown field "ttlMS": expected rawPayload, ttl, cloudEvent, metadata, key, trace, maxBulkPubBytes',
    ],
    [
      'an entry of publishBulk',
      ({ pubsub }, options) => pubsub.publishBulk('pubsub', 'orders', [{ entryId: '0', event: 1 }, options]),
      { entryId: '1', data: 1 },
      'entry 1 of publishBulk: unknown field "data": expected entryId, event, contentType, metadata',
    ],
    [
      'subscribe',
      ({ pubsub }, options) => pubsub.subscribe('pubsub', 'orders', noop, options),
      { deadletterTopic: 'dead' },
      'did you mean "deadLetterTopic"?',
    ],
    [
      'subscribe, retry',
      ({ pubsub }, options) => pubsub.subscribe('pubsub', 'orders', noop, options),
      { retry: { maxAttempts: 3 } },
      'options.retry: unknown field "maxAttempts": expected maxRetries, delay, maxDelay, factor, jitter, retryIf',
    ],
    [
      'schedule',
      ({ jobs }, options) => jobs.schedule('report', options),
      { schedule: '@daily', repeat: 3 },
      'the job: unknown field "repeat": expected schedule, dueTime, repeats, ttl, data, ifExists, retry; did you mean "repeats"?',
    ],
    [
      'schedule, retry',
      ({ jobs }, options) => jobs.schedule('report', options),
      { schedule: '@daily', retry: { retries: 3 } },
      'retry: unknown field "retries": expected maxRetries, delay, maxDelay, factor, jitter, retryIf',
    ],
    [
      'define',
      ({ jobs }, options) => jobs.register(defineJob('report', options, noop)),
      { shedule: '@daily' },
      'did you mean "schedule"?',
    ],
    [
      'start of a workflow',
      ({ workflows }, options) => workflows.start('x', undefined, options),
      { instanceID: '1' },
      'options of start: unknown field "instanceID": expected instanceId, ifExists, startAt; did you mean "instanceId"?',
    ],
    [
      'waiting for a workflow',
      ({ workflows }, options) => workflows.run('x').ended(options),
      { timeoutMs: 5 },
      'options of waiting for a workflow: unknown field "timeoutMs": expected timeout, signal; did you mean "timeout"?',
    ],
    ['list', ({ workflows }, options) => workflows.listPage(options), { statuses: [] }, 'did you mean "status"?'],
    [
      'invoke',
      ({ invocation }, options) => invocation.invoke('other', '/', options),
      { header: {} },
      'options of invoke: unknown field "header": expected method, headers, body, query, signal; did you mean "headers"?',
    ],
    [
      'no object at all',
      ({ pubsub }, options) => pubsub.publish('pubsub', 'orders', 1, options),
      'text/plain',
      'options of publish: expected an object, actual is a string',
    ],
  ])('%s', async (_what, call, options, problem) => {
    const sidecar = await started();
    await expect(async () => call(sidecar, options as never)).rejects.toThrow(problem);
  });

  test.each<[what: string, make: (options: never) => unknown, options: unknown, problem: string]>([
    ['memoryPubSub', (options) => memoryPubSub('p', options), { maxMesages: 1 }, 'did you mean "maxMessages"?'],
    [
      'durablePubSub',
      (options) => durablePubSub('p', options),
      { publishingScope: {} },
      'did you mean "publishingScopes"?',
    ],
    [
      'embedded',
      (options) => embeddedState(options),
      { path: '/x', sync: false },
      'options of embeddedState: unknown field "sync"',
    ],
    ['Sidecar', (options) => new Sidecar(options), { appId: 'a', appid: 'a' }, 'did you mean "appId"?'],
    [
      'Sidecar, jobs',
      (options) => new Sidecar(options),
      { appId: 'a', jobs: { maxConcurent: 1 } },
      'options.jobs: unknown field "maxConcurent"',
    ],
    [
      'a subscription among the options',
      (options) => new Sidecar(options),
      { appId: 'a', subscriptions: [{ pubsubName: 'p', topic: 't', route: '/', deadletterTopic: 'd' }] },
      'did you mean "deadLetterTopic"?',
    ],
    [
      'retries of a subscription among the options',
      (options) => new Sidecar(options),
      { appId: 'a', subscriptions: [{ pubsubName: 'p', topic: 't', route: '/', retry: { maxAttempts: 3 } }] },
      'options.subscriptions.0.retry: unknown field "maxAttempts": expected maxRetries, delay, maxDelay, factor, jitter, retryIf',
    ],
  ])('%s', (_what, make, options, problem) => {
    expect(() => make(options as never)).toThrow(problem);
  });

  test.each([
    ['nodeHandler', nodeHandler],
    ['expressHandler', expressHandler],
    ['koaHandler', koaHandler],
    ['fetchHandler', fetchHandler],
    ['fastifyPlugin', fastifyPlugin],
  ])('%s: a prefix that is misspelt does not put the sidecar at the root', async (_what, mount) => {
    const sidecar = await started();
    expect(() => mount(sidecar, { prefx: '/internal' } as object)).toThrow('did you mean "prefix"?');
    expect(() => mount(sidecar, { prefix: 'internal' })).toThrow(
      'prefix in options of the adapter is "internal": expected a path that begins with /',
    );
  });

  test.each<[what: string, code: (ctx: WorkflowContext) => unknown, problem: string]>([
    ['waitForEvent', (ctx) => ctx.waitForEvent('x', { timeoutMs: 1 } as object), 'did you mean "timeout"?'],
    ['callActivity', (ctx) => ctx.callActivity('x', 1, { rety: {} } as object), 'did you mean "retry"?'],
    [
      'retry',
      (ctx) => ctx.callActivity('x', 1, { retry: { maxAttempts: 1 } as never }),
      'retry: unknown field "maxAttempts": expected maxRetries',
    ],
    ['callChild', (ctx) => ctx.callChild('x', 1, { instanceID: '1' } as object), 'did you mean "instanceId"?'],
    ['continueAsNew', (ctx) => ctx.continueAsNew(1, { keepevents: true } as object), 'did you mean "keepEvents"?'],
  ])('in a workflow: %s', async (_what, code, problem) => {
    const sidecar = await started();
    sidecar.workflows.register('wrong', async (ctx) => code(ctx));
    const run = await sidecar.workflows.start('wrong');
    const { status, failure } = await run.ended();
    expect([status, failure?.message]).toEqual(['FAILED', expect.stringContaining(problem)]);
  });
});

describe('a value that JSON would lose is an error', () => {
  const order = { id: 1, items: [{ price: Number.NaN }] };

  test.each<[what: string, call: (sidecar: Sidecar) => unknown, problem: string]>([
    ['publish', ({ pubsub }) => pubsub.publish('pubsub', 'orders', order), 'the data has NaN at items[0].price'],
    [
      'publishBulk',
      ({ pubsub }) => pubsub.publishBulk('pubsub', 'orders', [{ entryId: '1', event: new Map([['a', 1]]) }]),
      'the data is a Map',
    ],
    ['schedule', ({ jobs }) => jobs.schedule('report', { dueTime: '1h', data: { id: 1n } }), 'data has a BigInt at id'],
    ['start', ({ workflows }) => workflows.start('x', { f() {} }), 'the input of the workflow has a function at f'],
    ['raiseEvent', ({ workflows }) => workflows.raiseEvent('x', 'e', new Set()), 'the event is a Set'],
    [
      'invoke',
      ({ invocation }) => invocation.invoke('other', '/', { method: 'POST', body: order }),
      'the body has NaN at items[0]',
    ],
    ['request', () => request('POST', '/', { body: new FormData() }), 'the body is a FormData'],
  ])('%s', async (_what, call, problem) => {
    const sidecar = await started();
    await expect(async () => call(sidecar)).rejects.toThrow(`${problem}`);
  });

  test('the output of an activity fails it, and says where', async () => {
    const sidecar = await started();
    sidecar.workflows.registerActivity('sum', () => ({ total: Number.POSITIVE_INFINITY }));
    sidecar.workflows.register('add', (ctx) => ctx.callActivity('sum'));
    const { failure } = await (await sidecar.workflows.start('add')).ended();
    expect(failure?.message).toContain('has Infinity at total');
  });
});

test('what Promise.allSettled gives can be the output of a workflow', async () => {
  const sidecar = await started();
  sidecar.workflows.registerActivity('charge', () => {
    throw new Error('declined');
  });
  sidecar.workflows.register('pay', (ctx) => Promise.allSettled([ctx.callActivity('charge')]));
  const output = await (await sidecar.workflows.start('pay')).result();
  expect(output).toMatchObject([{ status: 'rejected', reason: { failure: { message: 'declined' } } }]);
});

describe('a pub/sub component that there is not', () => {
  test.each<[what: string, call: (sidecar: Sidecar) => Promise<unknown>]>([
    ['publish', ({ pubsub }) => pubsub.publish('pubsbu', 'orders', 1)],
    ['publishBulk', ({ pubsub }) => pubsub.publishBulk('pubsbu', 'orders', [])],
    ['subscribe', ({ pubsub }) => pubsub.subscribe('pubsbu', 'orders', noop)],
  ])('%s lists those that there are', async (_what, call) => {
    const sidecar = await started();
    await expect(call(sidecar)).rejects.toThrow('pubsub pubsbu is not found: expected pubsub; did you mean "pubsub"?');
  });

  test('over HTTP the message is the one of the contract', async () => {
    const sidecar = await started();
    const reply = await sidecar.handle(request('POST', '/v1.0/publish/pubsbu/orders', { body: 1 }));
    expect(JSON.parse(Buffer.from(reply.body as Uint8Array).toString())).toMatchObject({
      message: 'pubsub pubsbu is not found',
    });
  });
});

test('WorkflowRuntime.start() says that the sidecar does not run yet', async () => {
  const logger = new RecordingLogger();
  await using sidecar = new Sidecar({ appId: 'shop', logger });
  const runtime = new WorkflowRuntime({ sidecar });
  await runtime.start();
  expect(logger.at('warn').map(({ message }) => message)).toEqual([
    'WorkflowRuntime.start() was called before sidecar.start(): workflows run when that has been called',
  ]);
  await sidecar.start();
  await runtime.start();
  expect(logger.at('warn')).toHaveLength(1);
});

describe('code that is no function is an error, and not one with every call', () => {
  test.each<[what: string, call: Call, code: unknown, problem: string]>([
    [
      'subscribe',
      ({ pubsub }, code) => pubsub.subscribe('pubsub', 'orders', code),
      undefined,
      'the handler of topic "orders" is undefined: expected a function',
    ],
    [
      'defineJob',
      (_, code) => defineJob('report', code),
      { run: noop },
      'the handler of job "report" is an object: expected a function',
    ],
    [
      'defineJob with a schedule',
      ({ jobs }, code) => jobs.register(defineJob('report', { schedule: '@daily' }, code)),
      'run',
      'the handler of job "report" is a string: expected a function',
    ],
    [
      'defineWorkflow',
      (_, code) => defineWorkflow('w', code),
      null,
      'the code of workflow "w" is null: expected a function',
    ],
    [
      'defineActivity',
      (_, code) => defineActivity('a', code),
      [],
      'the code of activity "a" is an array: expected a function',
    ],
  ])('%s', async (_what, call, code, message) => {
    const sidecar = await started();
    const refused = (async () => await call(sidecar, code as never))();
    await expect(refused).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT', message });
    expect(await sidecar.jobs.get('report')).toBeUndefined();
  });

  test.each([null, 5])('options of defineJob that are %s are one too', (options) => {
    expect(() => defineJob('report', options as never, noop)).toThrow(
      /^options of job "report": expected an object, actual is/,
    );
  });
});

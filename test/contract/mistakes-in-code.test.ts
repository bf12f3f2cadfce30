import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { request } from '../../src/http/message.ts';
import {
  defineSubscription,
  defineTopic,
  defineWorkflow,
  durableLocks,
  environmentSecrets,
  isSidecarError,
  isStateError,
  keyValueStore,
  memoryConfiguration,
  memoryPubSub,
  Sidecar,
  StateError,
  type WireName,
  type Workflows,
} from '../../src/index.ts';

const HERE = fileURLToPath(import.meta.url);

async function started(wire: WireName = 'sidecar'): Promise<Sidecar> {
  const stores = [keyValueStore('store'), environmentSecrets('env'), memoryConfiguration('settings')];
  const components = [memoryPubSub('pubsub'), durableLocks('locks'), ...stores];
  const sidecar = new Sidecar({ appId: 'shop', components, logger: 'silent', wire });
  await sidecar.start();
  return sidecar;
}

/** A call as plain JavaScript may write it. */
type Call = (sidecar: Sidecar, any: never) => Promise<unknown>;
const cycle: { self?: unknown } = {};
cycle.self = cycle;

const orders = defineTopic('orders');

const ARGUMENTS: readonly (readonly [what: string, argument: string, call: Call])[] = [
  ['an unknown option of publish', 'options.tl', ({ pubsub }) => pubsub.publish('pubsub', 't', 1, { tl: 1 } as never)],
  ['a TTL of publish', 'options.ttl', ({ pubsub }) => pubsub.publish('pubsub', 't', 1, { ttl: -1 })],
  ['no topic', 'topic', ({ pubsub }) => pubsub.publish('pubsub', '', 1)],
  ['data with a cycle', 'data', ({ pubsub }) => pubsub.publish('pubsub', 't', cycle)],
  ['entries that are no list', 'entries', ({ pubsub }) => pubsub.publishBulk('pubsub', 't', 5 as never)],
  ['no key', 'key', ({ state }) => state.get('store', '')],
  ['a key with ||', 'key', ({ state }) => state.set('store', 'a||b', 1)],
  ['keys that are no list', 'keys', ({ state }) => state.getMany('store', 5 as never)],
  ['no value', 'value', ({ state }) => state.set('store', 'k', undefined)],
  ['a TTL of a value', 'options.ttl', ({ state }) => state.set('store', 'k', 1, { ttl: '1 h' as never })],
  ['an ETag', 'options.etag', ({ state }) => state.delete('store', 'k', { etag: 5 as never })],
  ['operations that are no list', 'operations', ({ state }) => state.transact('store', 5 as never)],
  ['no resource', 'resource', ({ locks }) => locks.tryLock('locks', '', { ttl: '1s' })],
  ['an unknown option of a lock', 'options.tll', ({ locks }) => locks.tryLock('locks', 'r', { tll: 0 } as never)],
  ['an unknown option of a start', 'options.id', ({ workflows }) => workflows.start('a', 1, { id: 'x' } as never)],
  ['an unknown option of invoke', 'options.verb', (s) => s.invocation.invoke('b', 'p', { verb: 'PUT' } as never)],
  ['a method in the place of the path', 'init', (s) => s.invocation.invoke('b', 'POST', 'charge' as never)],
  ['a topic after the name of its component', 'topic', ({ pubsub }) => pubsub.publish('pubsub', orders as never, 1)],
  ['data after the name of a topic', 'topic', ({ pubsub }) => pubsub.publish('orders', { id: 1 } as never, 1)],
  [
    'a handler in the place of the topic',
    'topic',
    ({ pubsub }, any) => pubsub.subscribe('orders', (() => 1) as never, any),
  ],
  ['a handler of batches there', 'topic', ({ pubsub }, any) => pubsub.subscribeBulk('orders', (() => 1) as never, any)],
  ['no name of a secret', 'name', ({ secrets }) => secrets.get('env', '')],
  ['an unknown option of a secret', 'options.meta', ({ secrets }) => secrets.get('env', 'A', { meta: 1 } as never)],
  ['keys that are a text', 'keys', ({ configuration }) => configuration.get('settings', 'level' as never)],
  ['a TTL of a lock', 'options.ttl', ({ locks }) => locks.tryLock('locks', 'r', { ttl: 0 })],
];

describe('a wrong argument in code', () => {
  test.each(ARGUMENTS)('%s is named by its path, %s', async (_what, argument, call) => {
    await using sidecar = await started();
    const error = await call(sidecar, undefined as never).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ name: 'SidecarError', code: 'ERR_INVALID_ARGUMENT', argument, status: 400 });
    expect((error as Error).stack).toContain(HERE);
  });

  test('is refused over HTTP with the codes of the contract', async () => {
    await using sidecar = await started();
    const publish = await sidecar.handle(
      request('POST', '/v1.0/publish/pubsub/t?metadata.ttlInSeconds=-1', { body: 1 }),
    );
    expect([publish.status, String(publish.body)]).toEqual([
      400,
      expect.stringContaining('ERR_PUBSUB_REQUEST_METADATA'),
    ]);
    const save = await sidecar.handle(request('POST', '/v1.0/state/store', { body: [{ key: '' }] }));
    expect([save.status, String(save.body)]).toEqual([400, expect.stringContaining('ERR_MALFORMED_REQUEST')]);
  });
});

describe('an error that comes from elsewhere has the line of the call', () => {
  test.each<[what: string, code: string, call: (sidecar: Sidecar) => Promise<unknown>]>([
    ['a start with the ID of another', 'ERR_START_WORKFLOW', ({ workflows }) => startWaiting(workflows)],
    ['a result that is late', 'ERR_WORKFLOW_TIMEOUT', ({ workflows }) => workflows.run('taken').result({ timeout: 5 })],
    [
      'an instance that is late',
      'ERR_WORKFLOW_TIMEOUT',
      ({ workflows }) => workflows.run('taken').ended({ timeout: 5 }),
    ],
  ])('%s', async (_what, code, call) => {
    await using sidecar = await started();
    await startWaiting(sidecar.workflows);
    await checkLine(async () => await call(sidecar), code);
  });

  test('a start of the sidecar', async () => {
    const sidecar = new Sidecar({ appId: 'shop', components: [memoryPubSub('pubsub')], logger: 'silent' });
    sidecar.register(
      defineSubscription(orders, () => 1),
      defineSubscription(orders, () => 2),
    );
    await checkLine(async () => await sidecar.start(), 'ERR_CONFIGURATION');
  });

  async function startWaiting(workflows: Workflows): Promise<void> {
    const waiting = defineWorkflow('waiting', (ctx) => ctx.waitForEvent('end'));
    await workflows.start(waiting, undefined, { instanceId: 'taken' });
  }

  async function checkLine(call: () => Promise<unknown>, code: string): Promise<void> {
    const error = await call().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code, cause: { code } });
    expect((error as Error).stack).toContain(HERE);
  }
});

describe.each<WireName>(['sidecar', 'dapr'])('the codes of jobs, on the wire of %s', (wire) => {
  test.each<[what: string, code: string, call: (sidecar: Sidecar) => Promise<unknown>]>([
    ['a schedule', 'ERR_INVALID_ARGUMENT', ({ jobs }) => jobs.schedule('x', { schedule: '30 2 * * *' })],
    ['a time', 'ERR_INVALID_ARGUMENT', ({ jobs }) => jobs.schedule('x', { dueTime: 'tomorrow' })],
    ['neither', 'ERR_INVALID_ARGUMENT', ({ jobs }) => jobs.schedule('x', {})],
    ['options that are none', 'ERR_INVALID_ARGUMENT', ({ jobs }) => jobs.schedule('x', undefined as never)],
    ['no name', 'ERR_INVALID_ARGUMENT', ({ jobs }) => jobs.get('')],
    ['a name that is taken', 'ERR_JOB_EXISTS', ({ jobs }) => jobs.schedule('job', { dueTime: '1h' })],
    ['a job that is due', 'ERR_JOB_BUSY', ({ jobs }) => jobs.run('due')],
  ])('do not depend on it: %s is %s', async (_what, code, call) => {
    await using sidecar = await started(wire);
    await sidecar.jobs.schedule('job', { dueTime: '1h' });
    // Without a function it waits.
    await sidecar.jobs.schedule('due', { dueTime: '0s' });
    const error = await call(sidecar).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code, status: code === 'ERR_INVALID_ARGUMENT' ? 400 : 409 });
    expect((error as Error).stack).toContain(HERE);
  });

  test('are those of the wire over HTTP', async () => {
    await using sidecar = await started(wire);
    const path = '/v1.0-alpha1/jobs/job';
    await sidecar.handle(request('POST', path, { body: { dueTime: '1h' } }));
    const taken = await sidecar.handle(request('POST', path, { body: { dueTime: '1h' } }));
    const code = `${wire === 'dapr' ? 'DAPR' : 'SIDECAR'}_SCHEDULER_SCHEDULE_JOB`;
    expect([taken.status, JSON.parse(String(taken.body))]).toEqual([409, expect.objectContaining({ errorCode: code })]);
  });
});

describe('a call of another application', () => {
  test.each<[target: string, method: string, path: string, expected: object]>([
    ['nobody', 'GET', 'x', { code: 'ERR_DIRECT_INVOKE', reason: 'unknown' }],
    ['no application', 'GET', 'x', { code: 'ERR_DIRECT_INVOKE', reason: 'unknown' }],
    ['http://127.0.0.1:1', 'GET', 'x', { code: 'ERR_DIRECT_INVOKE', reason: 'unreachable' }],
    ['shop', 'GET', 'x', { code: 'ERR_DIRECT_INVOKE', reason: 'unknown' }],
    ['nobody', 'charge', 'POST', { code: 'ERR_DIRECT_INVOKE', reason: 'unsupported' }],
    ['nobody', 'GET', 'a/../../b', { code: 'ERR_INVALID_ARGUMENT' }],
  ])('of %s with %s %s tells why it failed', async (target, method, path, expected) => {
    await using sidecar = await started();
    await expect(sidecar.invocation.invoke(target, path, { method })).rejects.toMatchObject(expected);
    const { body } = await sidecar.handle(request('GET', '/v1.0/invoke/nobody/method/x'));
    expect(Object.keys(JSON.parse(String(body)) as object)).not.toContain('reason');
  });
});

describe('an error of a state store', () => {
  test('is a SidecarError whose code is its kind', () => {
    const error = new StateError('in-use', 'the directory is in use', new Error('EBUSY'));
    expect([isSidecarError(error), isStateError(error)]).toEqual([true, true]);
    expect(error).toMatchObject({ code: 'ERR_STATE_IN_USE', kind: 'in-use', name: 'StateError', status: 500 });
    expect(new StateError('newer-format', '').code).toBe('ERR_STATE_NEWER_FORMAT');
    expect(error.cause).toMatchObject({ message: 'EBUSY' });
  });

  test('is not told over HTTP in its own words', async () => {
    const failing = (): Promise<never> => Promise.reject(new StateError('failed', 'secret path'));
    const opened = { read: failing, write: failing, close: async (): Promise<void> => undefined };
    const broken = { ...keyValueStore('store'), open: async () => opened };
    await using sidecar = new Sidecar({ appId: 'shop', components: [broken as never], logger: 'silent' });
    await sidecar.start();
    const { status, body } = await sidecar.handle(request('GET', '/v1.0/state/store/k'));
    expect([status, String(body)]).toEqual([500, expect.stringContaining('ERR_STATE_GET')]);
  });
});

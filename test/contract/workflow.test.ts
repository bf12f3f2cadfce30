import { describe, expect, test } from 'vitest';
import { defineActivity, defineWorkflow } from '../../src/index.ts';
import type { Answer, Sent } from '../support/http.ts';
import { KeptStore } from '../support/kept-store.ts';
import { startWorld, type World, type WorldOptions } from '../support/world.ts';

const BASE = '/v1.0/workflows/sidecar';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const hang = new Promise<never>(() => undefined);

/** Workflows that show one behaviour each. */
const DEFINITIONS = [
  defineWorkflow('echo', (_ctx, input: unknown) => ({ got: input, type: typeof input })),
  defineWorkflow('text', (_ctx, input: unknown) => input),
  defineWorkflow('nothing', () => undefined),
  defineWorkflow('waiting', async (ctx, input: unknown) => {
    ctx.setCustomStatus('waiting for go');
    return { input, event: await ctx.waitForEvent('go') };
  }),
  defineWorkflow('collecting', async (ctx) => {
    const events: unknown[] = [];
    while (events.length < 3) events.push(await ctx.waitForEvent('Item'));
    return events;
  }),
  defineWorkflow('calling', (ctx, input: string) => ctx.callActivity<string>('shout', input)),
  defineActivity('shout', (input: string) => `${input.toUpperCase()}!`),
  defineWorkflow('hanging', (ctx) => ctx.callActivity('hang')),
  defineActivity('hang', () => hang),
  defineWorkflow('failing', () => {
    throw new RangeError('out of order');
  }),
  defineWorkflow('parent', async (ctx) => ({ child: await ctx.callChild('waiting', 'from the parent') })),
  defineWorkflow('timer', async (ctx) => {
    await ctx.sleep('1h');
    return 'an hour later';
  }),
];

async function workflowWorld(options: WorldOptions = {}): Promise<World> {
  const world = await startWorld({ discovery: [], ...options });
  world.sidecar.workflows.register(...DEFINITIONS);
  return world;
}

/** One request, and what it sets going. */
async function send(world: World, method: string, path: string, sent?: Sent): Promise<Answer> {
  const answer = await world.send(method, path, sent);
  await world.clock.settled();
  return answer;
}

const start = (world: World, name: string, id: string, body?: unknown): Promise<Answer> =>
  send(world, 'POST', `${BASE}/${name}/start?instanceID=${id}`, { body });
const to = (world: World, id: string, operation: string, body?: unknown): Promise<Answer> =>
  send(world, 'POST', `${BASE}/${id}/${operation}`, { body });
const get = async (world: World, id: string): Promise<Record<string, unknown>> =>
  (await send(world, 'GET', `${BASE}/${id}`)).json;
const propertiesOf = async (world: World, id: string): Promise<unknown> => (await get(world, id))['properties'];
const statusOf = async (world: World, id: string): Promise<unknown> => (await get(world, id))['runtimeStatus'];

describe('workflow: start', () => {
  test('202 with the instance ID that was given', async () => {
    await using world = await workflowWorld();
    const answer = await start(world, 'echo', 'order-1', { id: 1 });
    expect([answer.status, answer.headers['content-type'], answer.text]).toEqual([
      202,
      'application/json',
      '{"instanceID":"order-1"}',
    ]);
    expect(await statusOf(world, 'order-1')).toBe('COMPLETED');
  });

  test('202 with a UUID when none is given', async () => {
    await using world = await workflowWorld();
    const first = await send(world, 'POST', `${BASE}/echo/start`);
    const second = await send(world, 'POST', `${BASE}/echo/start`);
    expect(first.json['instanceID']).toMatch(UUID);
    expect(second.json['instanceID']).not.toBe(first.json['instanceID']);
    expect(await statusOf(world, String(first.json['instanceID']))).toBe('COMPLETED');
  });

  test.each(['a', 'A-b_9', 'a'.repeat(64), '__proto__', 'constructor', '-', '0'])('the ID %s is taken', async (id) => {
    await using world = await workflowWorld();
    expect((await start(world, 'echo', id)).status).toBe(202);
    expect(await get(world, id)).toMatchObject({ instanceID: id, runtimeStatus: 'COMPLETED' });
  });

  test.each([
    ['a'.repeat(65), 'ERR_INSTANCE_ID_TOO_LONG'],
    ['a'.repeat(5_000), 'ERR_INSTANCE_ID_TOO_LONG'],
    ['a.b', 'ERR_INSTANCE_ID_INVALID'],
    ['a:b', 'ERR_INSTANCE_ID_INVALID'],
    ['a%20b', 'ERR_INSTANCE_ID_INVALID'],
    ['a%2Fb', 'ERR_INSTANCE_ID_INVALID'],
    ['a+b', 'ERR_INSTANCE_ID_INVALID'],
    ['%C3%A4', 'ERR_INSTANCE_ID_INVALID'],
    ['a%00', 'ERR_INSTANCE_ID_INVALID'],
    ['a%0A', 'ERR_INSTANCE_ID_INVALID'],
    ['%', 'ERR_INSTANCE_ID_INVALID'],
    ['a&instanceID=b', 'ERR_INSTANCE_ID_INVALID'],
  ])('400 for the ID %s: %s', async (id, code) => {
    await using world = await workflowWorld();
    const answer = await start(world, 'echo', id);
    expect(answer.error).toEqual([400, code]);
    expect((await world.sidecar.workflows.listPage()).instances).toEqual([]);
  });

  test('400 for an ID that is given and empty', async () => {
    await using world = await workflowWorld();
    expect((await start(world, 'echo', '')).status).toBe(400);
  });

  test.each<[body: string, output: unknown]>([
    ['{"a":[1,2.50]}', { got: { a: [1, 2.5] }, type: 'object' }],
    ['"text"', { got: 'text', type: 'string' }],
    ['0', { got: 0, type: 'number' }],
    ['false', { got: false, type: 'boolean' }],
    ['""', { got: '', type: 'string' }],
    ['null', { got: null, type: 'object' }],
    ['not JSON', { got: 'not JSON', type: 'string' }],
    ['{"half":', { got: '{"half":', type: 'string' }],
    [' ', { got: ' ', type: 'string' }],
    ['\ufeff1', { got: '\ufeff1', type: 'string' }],
    ['ä 🚀', { got: 'ä 🚀', type: 'string' }],
    ['', { type: 'undefined' }],
  ])('the body %j is the input, byte for byte', async (body, output) => {
    await using world = await workflowWorld();
    await start(world, 'echo', 'one', body);
    expect(await propertiesOf(world, 'one')).toEqual({
      ...(body === '' ? {} : { 'sidecar.workflow.input': body }),
      'sidecar.workflow.output': JSON.stringify(output),
    });
  });

  test('numbers keep their digits in the input', async () => {
    await using world = await workflowWorld();
    const body = '{ "n": 12345678901234567890.10 }';
    await start(world, 'nothing', 'one', body);
    expect(await propertiesOf(world, 'one')).toEqual({ 'sidecar.workflow.input': body });
  });

  test('400 for an input that is not UTF-8', async () => {
    await using world = await workflowWorld();
    const answer = await start(world, 'echo', 'one', Buffer.from([0x22, 0xff, 0x22]));
    expect(answer.error).toEqual([400, 'ERR_MALFORMED_REQUEST']);
    expect((await send(world, 'GET', `${BASE}/one`)).status).toBe(404);
  });

  test('413 for an input over the limit', async () => {
    await using world = await workflowWorld({ bodyLimitBytes: 10 });
    expect((await start(world, 'echo', 'one', '"12345678"')).status).toBe(202);
    expect((await start(world, 'echo', 'two', '"123456789"')).error).toEqual([413, 'ERR_BODY_TOO_LARGE']);
  });

  test('500 for an ID whose instance has not finished, which goes on untouched', async () => {
    await using world = await workflowWorld();
    await start(world, 'waiting', 'one', 1);
    expect((await start(world, 'waiting', 'one', 2)).error).toEqual([500, 'ERR_START_WORKFLOW']);
    await to(world, 'one', 'pause');
    expect((await start(world, 'waiting', 'one', 2)).error).toEqual([500, 'ERR_START_WORKFLOW']);
    await to(world, 'one', 'resume');
    await to(world, 'one', 'raiseEvent/go', 'x');
    expect(await propertiesOf(world, 'one')).toMatchObject({ 'sidecar.workflow.output': '{"input":1,"event":"x"}' });
  });

  test('the ID of a finished instance may be used again: the old one is replaced', async () => {
    await using world = await workflowWorld();
    for (const [name, input] of [
      ['failing', 1],
      ['text', 2],
      ['nothing', 3],
    ] as const) {
      expect((await start(world, name, 'one', input)).status).toBe(202);
      expect(await propertiesOf(world, 'one')).toMatchObject({ 'sidecar.workflow.input': String(input) });
    }
    expect(await get(world, 'one')).toMatchObject({
      runtimeStatus: 'COMPLETED',
      properties: { 'sidecar.workflow.input': '3' },
    });
  });

  test('202 for a name that nobody has registered; the instance fails and says why', async () => {
    await using world = await workflowWorld();
    for (const name of ['nobody', '__proto__', 'a b', 'ä']) {
      expect((await start(world, encodeURIComponent(name), 'one')).status).toBe(202);
      expect(await get(world, 'one')).toMatchObject({
        runtimeStatus: 'FAILED',
        properties: { 'sidecar.workflow.failure.error_message': expect.stringContaining(name) },
      });
    }
  });
});

describe('workflow: get', () => {
  test('a completed instance', async () => {
    await using world = await workflowWorld();
    await start(world, 'calling', 'one', 'hello');
    expect(await get(world, 'one')).toEqual({
      instanceID: 'one',
      createdAt: '2026-01-01T00:00:00.000Z',
      lastUpdatedAt: '2026-01-01T00:00:00.000Z',
      runtimeStatus: 'COMPLETED',
      properties: { 'sidecar.workflow.input': 'hello', 'sidecar.workflow.output': '"HELLO!"' },
    });
  });

  test('a running instance: custom status, times, no output', async () => {
    await using world = await workflowWorld();
    await start(world, 'waiting', 'one', 1);
    expect(await get(world, 'one')).toEqual({
      instanceID: 'one',
      createdAt: '2026-01-01T00:00:00.000Z',
      lastUpdatedAt: '2026-01-01T00:00:00.000Z',
      runtimeStatus: 'RUNNING',
      properties: { 'sidecar.workflow.input': '1', 'sidecar.workflow.custom_status': 'waiting for go' },
    });
    await world.pass('90s');
    await to(world, 'one', 'raiseEvent/go', 2);
    expect(await get(world, 'one')).toMatchObject({
      createdAt: '2026-01-01T00:00:00.000Z',
      lastUpdatedAt: '2026-01-01T00:01:30.000Z',
      runtimeStatus: 'COMPLETED',
    });
  });

  test('a failed instance: error type, message and stack, no output', async () => {
    await using world = await workflowWorld();
    await start(world, 'failing', 'one');
    expect(await get(world, 'one')).toMatchObject({ runtimeStatus: 'FAILED' });
    expect(await propertiesOf(world, 'one')).toEqual({
      'sidecar.workflow.failure.error_type': 'RangeError',
      'sidecar.workflow.failure.error_message': 'out of order',
      'sidecar.workflow.failure.stack_trace': expect.stringContaining('RangeError: out of order'),
    });
  });

  test('neither input nor output: no properties', async () => {
    await using world = await workflowWorld();
    await start(world, 'nothing', 'one');
    expect(await propertiesOf(world, 'one')).toEqual({});
  });

  test('a child has an ID of its own and can be read', async () => {
    await using world = await workflowWorld();
    const id = 'p'.repeat(64);
    await start(world, 'parent', id);
    expect(await get(world, `${id}-0001`)).toMatchObject({
      instanceID: `${id}-0001`,
      runtimeStatus: 'RUNNING',
      properties: { 'sidecar.workflow.input': '"from the parent"' },
    });
  });

  test('HEAD answers as GET does, without a body', async () => {
    await using world = await workflowWorld();
    await start(world, 'nothing', 'one');
    const answer = await send(world, 'HEAD', `${BASE}/one`);
    expect([answer.status, answer.text]).toEqual([200, '']);
  });
});

describe('workflow: raise event', () => {
  test.each<[body: string, event: unknown]>([
    ['{"by":"Ada"}', { by: 'Ada' }],
    ['plain text', 'plain text'],
    ['0', 0],
    ['null', null],
    ['', undefined],
  ])('202 without a body; the payload %j arrives as the input does', async (body, event) => {
    await using world = await workflowWorld();
    await start(world, 'waiting', 'one');
    const answer = await to(world, 'one', 'raiseEvent/go', body);
    expect([answer.status, answer.text]).toEqual([202, '']);
    expect(await propertiesOf(world, 'one')).toMatchObject({ 'sidecar.workflow.output': JSON.stringify({ event }) });
  });

  test('names match in any case, what comes early waits in order', async () => {
    await using world = await workflowWorld();
    await start(world, 'collecting', 'one');
    await to(world, 'one', 'pause');
    await to(world, 'one', 'raiseEvent/ITEM', 1);
    await to(world, 'one', 'raiseEvent/other', 'x');
    await to(world, 'one', 'raiseEvent/item', 2);
    await to(world, 'one', 'raiseEvent/iTeM', 3);
    expect(await statusOf(world, 'one')).toBe('SUSPENDED');
    await to(world, 'one', 'resume');
    expect(await propertiesOf(world, 'one')).toEqual({ 'sidecar.workflow.output': '[1,2,3]' });
  });

  test('a name of escaped characters', async () => {
    await using world = await workflowWorld();
    world.sidecar.workflows.register(defineWorkflow('odd', (ctx) => ctx.waitForEvent('a/b ä+1')));
    await start(world, 'odd', 'one');
    expect((await to(world, 'one', 'raiseEvent/a%2Fb%20%C3%84+1', 1)).status).toBe(202);
    expect(await propertiesOf(world, 'one')).toEqual({ 'sidecar.workflow.output': '1' });
  });

  test('400 for a name that is too long', async () => {
    await using world = await workflowWorld();
    await start(world, 'waiting', 'one');
    expect((await to(world, 'one', `raiseEvent/${'e'.repeat(5_000)}`)).status).toBe(400);
    expect(await statusOf(world, 'one')).toBe('RUNNING');
  });

  test('400 for a payload that is not UTF-8, 413 for one over the limit', async () => {
    await using world = await workflowWorld({ bodyLimitBytes: 10 });
    await start(world, 'waiting', 'one');
    const bad = await to(world, 'one', 'raiseEvent/go', Buffer.from([0xc0]));
    expect(bad.error).toEqual([400, 'ERR_MALFORMED_REQUEST']);
    expect((await to(world, 'one', 'raiseEvent/go', 'x'.repeat(11))).error).toEqual([413, 'ERR_BODY_TOO_LARGE']);
    expect(await statusOf(world, 'one')).toBe('RUNNING');
  });
});

describe('workflow: terminate, pause, resume, purge', () => {
  test('terminate ends an instance that waits, with the children', async () => {
    await using world = await workflowWorld();
    await start(world, 'parent', 'one');
    const answer = await to(world, 'one', 'terminate');
    expect([answer.status, answer.text]).toEqual([202, '']);
    expect(await get(world, 'one')).toMatchObject({ runtimeStatus: 'TERMINATED', properties: {} });
    expect(await statusOf(world, 'one-0001')).toBe('TERMINATED');
  });

  test('terminate while an activity hangs', async () => {
    await using world = await workflowWorld({ stopTimeout: 0 });
    await world.send('POST', `${BASE}/hanging/start?instanceID=one`);
    await expect.poll(async () => (await world.send('GET', `${BASE}/one`)).json['runtimeStatus']).toBe('RUNNING');
    expect((await world.send('POST', `${BASE}/one/terminate`)).status).toBe(202);
    await expect.poll(async () => (await world.send('GET', `${BASE}/one`)).json['runtimeStatus']).toBe('TERMINATED');
  });

  test('pause holds an instance up, timers that fire meanwhile count after resume', async () => {
    await using world = await workflowWorld();
    await start(world, 'timer', 'one');
    const paused = await to(world, 'one', 'pause');
    expect([paused.status, paused.text]).toEqual([202, '']);
    await world.pass('2h');
    expect(await statusOf(world, 'one')).toBe('SUSPENDED');
    const resumed = await to(world, 'one', 'resume');
    expect([resumed.status, resumed.text]).toEqual([202, '']);
    expect(await get(world, 'one')).toMatchObject({
      runtimeStatus: 'COMPLETED',
      properties: { 'sidecar.workflow.output': '"an hour later"' },
    });
  });

  test('pause twice, resume what runs, terminate what is paused', async () => {
    await using world = await workflowWorld();
    await start(world, 'waiting', 'one');
    expect((await to(world, 'one', 'resume')).status).toBe(202);
    expect(await statusOf(world, 'one')).toBe('RUNNING');
    expect((await to(world, 'one', 'pause')).status).toBe(202);
    expect((await to(world, 'one', 'pause')).status).toBe(202);
    expect(await statusOf(world, 'one')).toBe('SUSPENDED');
    expect((await to(world, 'one', 'terminate')).status).toBe(202);
    expect(await statusOf(world, 'one')).toBe('TERMINATED');
    expect((await to(world, 'one', 'terminate')).status).toBe(202);
  });

  test('terminate, pause, resume and raise on a finished instance: 202, no effect', async () => {
    await using world = await workflowWorld();
    await start(world, 'calling', 'one', 'x');
    const before = await get(world, 'one');
    await world.pass('1m');
    for (const operation of ['terminate', 'pause', 'resume', 'raiseEvent/go']) {
      const answer = await to(world, 'one', operation);
      expect([operation, answer.status, answer.text]).toEqual([operation, 202, '']);
    }
    expect(await get(world, 'one')).toEqual(before);
  });

  test.each(['calling', 'failing'])('purge removes a finished instance: %s', async (name) => {
    await using world = await workflowWorld();
    await start(world, name, 'one', 'x');
    const answer = await to(world, 'one', 'purge');
    expect([answer.status, answer.text]).toEqual([202, '']);
    expect((await send(world, 'GET', `${BASE}/one`)).error).toEqual([404, 'ERR_INSTANCE_ID_NOT_FOUND']);
    expect((await to(world, 'one', 'purge')).error).toEqual([404, 'ERR_INSTANCE_ID_NOT_FOUND']);
  });

  test('purge takes the children along, and leaves nothing in the store', async () => {
    const store = new KeptStore();
    const keys = async (): Promise<readonly string[]> =>
      (await store.memory.scan({ from: 'workflow', to: 'workflox' })).map(({ key }) => key);
    await using world = await workflowWorld({ state: store });
    const before = await keys();
    await start(world, 'parent', 'one');
    await to(world, 'one-0001', 'raiseEvent/go');
    expect(await statusOf(world, 'one')).toBe('COMPLETED');
    expect((await keys()).length).toBeGreaterThan(before.length);
    expect((await to(world, 'one', 'purge')).status).toBe(202);
    expect((await send(world, 'GET', `${BASE}/one-0001`)).status).toBe(404);
    expect(await keys()).toEqual(before);
  });

  test('500 for the purge of an instance that has not finished, suspended or not', async () => {
    await using world = await workflowWorld();
    await start(world, 'waiting', 'one');
    expect((await to(world, 'one', 'purge')).error).toEqual([500, 'ERR_PURGE_WORKFLOW']);
    await to(world, 'one', 'pause');
    expect((await to(world, 'one', 'purge')).error).toEqual([500, 'ERR_PURGE_WORKFLOW']);
    expect(await statusOf(world, 'one')).toBe('SUSPENDED');
  });

  test('a body does not matter to them', async () => {
    await using world = await workflowWorld();
    await start(world, 'waiting', 'one');
    for (const operation of ['pause', 'resume', 'terminate', 'purge'])
      expect([operation, (await to(world, 'one', operation, '{')).status]).toEqual([operation, 202]);
  });
});

describe('workflow: errors', () => {
  const OPERATIONS: readonly (readonly [method: string, path: string])[] = [
    ['GET', ''],
    ...['terminate', 'pause', 'resume', 'purge', 'raiseEvent/go'].map((path) => ['POST', `/${path}`] as const),
  ];

  test.each(OPERATIONS)('%s …%s of an instance that is not there: 404', async (method, path) => {
    await using world = await workflowWorld();
    for (const id of ['none', 'a.b', 'a'.repeat(2_000), '%20', '__proto__', 'none-0001', 'a%00', 'a%2Fb']) {
      const answer = await send(world, method, `${BASE}/${id}${path}`);
      expect([id, ...answer.error]).toEqual([id, 404, 'ERR_INSTANCE_ID_NOT_FOUND']);
    }
    const answer = await send(world, method, `${BASE}/none${path}`);
    expect(answer.json['message']).toContain('none');
  });

  test.each([...OPERATIONS, ['POST', '/start'] as const])('%s …%s of another component: 400', async (method, path) => {
    await using world = await workflowWorld();
    for (const component of ['dapr', 'Sidecar', 'temporal', '__proto__']) {
      const answer = await send(world, method, `/v1.0/workflows/${component}/x${path}`);
      expect([component, ...answer.error]).toEqual([component, 400, 'ERR_WORKFLOW_COMPONENT_NOT_FOUND']);
      expect(answer.json['message']).toContain(component);
    }
  });

  test.each([
    ['POST', '/start', 'ERR_WORKFLOW_NAME_MISSING'],
    ['POST', '//start', 'ERR_WORKFLOW_NAME_MISSING'],
    ['GET', '', 'ERR_INSTANCE_ID_PROVIDED_MISSING'],
    ['GET', '/', 'ERR_INSTANCE_ID_PROVIDED_MISSING'],
    ['POST', '//terminate', 'ERR_INSTANCE_ID_PROVIDED_MISSING'],
    ['POST', '/pause', 'ERR_INSTANCE_ID_PROVIDED_MISSING'],
    ['POST', '/resume', 'ERR_INSTANCE_ID_PROVIDED_MISSING'],
    ['POST', '/purge', 'ERR_INSTANCE_ID_PROVIDED_MISSING'],
    ['POST', '/raiseEvent', 'ERR_INSTANCE_ID_PROVIDED_MISSING'],
    ['POST', '/one/raiseEvent', 'ERR_WORKFLOW_EVENT_NAME_MISSING'],
    ['POST', '/one/raiseEvent/', 'ERR_WORKFLOW_EVENT_NAME_MISSING'],
  ])('%s %s without a name: 400 %s', async (method, path, code) => {
    await using world = await workflowWorld();
    expect((await send(world, method, BASE + path)).error).toEqual([400, code]);
  });

  test('names of operations are names like any other', async () => {
    await using world = await workflowWorld();
    world.sidecar.workflows.register(defineWorkflow('start', () => 'started'));
    expect((await start(world, 'start', 'terminate')).status).toBe(202);
    expect(await get(world, 'terminate')).toMatchObject({ instanceID: 'terminate', runtimeStatus: 'COMPLETED' });
    expect((await to(world, 'terminate', 'terminate')).status).toBe(202);
    expect((await to(world, 'terminate', 'purge')).status).toBe(202);
  });

  test.each([
    ['GET', '/echo/start'],
    ['DELETE', '/one'],
    ['GET', '/one/terminate'],
    ['PUT', '/one/raiseEvent/go'],
  ])('%s %s: 405', async (method, path) => {
    await using world = await workflowWorld();
    expect((await send(world, method, BASE + path)).error).toEqual([405, 'ERR_METHOD_NOT_ALLOWED']);
  });

  test('the API token is asked for', async () => {
    await using world = await workflowWorld({ apiToken: 'secret' });
    expect((await send(world, 'GET', `${BASE}/one`)).status).toBe(401);
    const headers = { 'sidecar-api-token': 'secret' };
    expect((await send(world, 'GET', `${BASE}/one`, { headers })).status).toBe(404);
  });

  test.each([
    ['echo/start?instanceID=two', 'ERR_START_WORKFLOW'],
    ['one/raiseEvent/other', 'ERR_RAISE_EVENT_WORKFLOW'],
    ['one/pause', 'ERR_PAUSE_WORKFLOW'],
    ['one/terminate', 'ERR_TERMINATE_WORKFLOW'],
    ['over/purge', 'ERR_PURGE_WORKFLOW'],
  ])('what the store cannot write: POST …/%s 500 %s; it can be asked for again', async (path, code) => {
    const store = new KeptStore();
    await using world = await workflowWorld({ state: store });
    await start(world, 'waiting', 'one', 1);
    await start(world, 'nothing', 'over');
    store.interfere = () => Promise.reject(new Error('the disk is full'));
    expect((await world.send('POST', `${BASE}/${path}`)).error).toEqual([500, code]);
    store.interfere = (_batch, commit) => commit();
    await world.pass('1m');
    expect((await send(world, 'POST', `${BASE}/${path}`)).status).toBe(202);
    await to(world, 'one', 'resume');
    await to(world, 'one', 'raiseEvent/go', 2);
    const { runtimeStatus, properties } = await get(world, 'one');
    if (path.endsWith('terminate')) expect(runtimeStatus).toBe('TERMINATED');
    else expect(properties).toMatchObject({ 'sidecar.workflow.output': '{"input":1,"event":2}' });
  });

  test('what the store cannot read: 500', async () => {
    const store = new KeptStore();
    await using world = await workflowWorld({ state: store });
    await start(world, 'waiting', 'one');
    store.failReads = true;
    expect((await world.send('GET', `${BASE}/one`)).error).toEqual([500, 'ERR_GET_WORKFLOW']);
    store.failReads = false;
    expect(await statusOf(world, 'one')).toBe('RUNNING');
  });
});

test('metadata: one worker, once there are workflows', async () => {
  await using world = await startWorld({ discovery: [] });
  const workers = async (): Promise<unknown> => (await send(world, 'GET', '/v1.0/metadata')).json['workflows'];
  expect(await workers()).toEqual({ connectedWorkers: 0 });
  world.sidecar.workflows.register(...DEFINITIONS);
  expect(await workers()).toEqual({ connectedWorkers: 1 });
});

describe('workflow: wire dapr', () => {
  test.each(['v1.0', 'v1.0-beta1', 'v1.0-alpha1'])(
    'answers under %s, component dapr, Dapr’s property keys',
    async (version) => {
      await using world = await workflowWorld({ wire: 'dapr' });
      const base = `/${version}/workflows/dapr`;
      const started = await send(world, 'POST', `${base}/waiting/start?instanceID=one`, { body: { x: 1 } });
      expect([started.status, started.text]).toEqual([202, '{"instanceID":"one"}']);
      expect((await send(world, 'GET', `${base}/one`)).json).toMatchObject({
        instanceID: 'one',
        workflowName: 'waiting',
        properties: { 'dapr.workflow.input': '{"x":1}', 'dapr.workflow.custom_status': 'waiting for go' },
      });
      for (const operation of ['pause', 'resume', 'raiseEvent/go', 'terminate'])
        expect((await send(world, 'POST', `${base}/one/${operation}`)).status).toBe(202);
      expect((await send(world, 'GET', `${base}/one`)).json).toMatchObject({
        runtimeStatus: 'COMPLETED',
        properties: { 'dapr.workflow.output': '{"input":{"x":1}}' },
      });
      expect((await send(world, 'POST', `${base}/one/purge`)).status).toBe(202);
      expect((await send(world, 'GET', `/${version}/workflows/sidecar/one`)).error).toEqual([
        400,
        'ERR_WORKFLOW_COMPONENT_NOT_FOUND',
      ]);
    },
  );

  test('an instance ID that is given and empty is none', async () => {
    await using world = await workflowWorld({ wire: 'dapr' });
    const base = '/v1.0/workflows/dapr/echo/start';
    const started = await send(world, 'POST', `${base}?instanceID=`);
    expect(started.status).toBe(202);
    expect(started.json['instanceID']).toMatch(UUID);
    expect((await send(world, 'POST', `${base}?instanceID=&instanceID=a`)).error).toEqual([
      400,
      'ERR_INSTANCE_ID_INVALID',
    ]);
  });

  test('its further versions are not there in wire sidecar', async () => {
    await using world = await workflowWorld();
    expect((await send(world, 'GET', '/v1.0-beta1/workflows/sidecar/one')).error).toEqual([404, 'ERR_NOT_FOUND']);
  });
});

/** Workflows over the management API. */
import { describe, expect, test } from 'vitest';
import type { SidecarOptions } from '../../src/index.ts';
import type { BulkReply, WorkflowReply, WorkflowsReply } from '../../src/inspector/api/workflows.ts';
import { type Inspected, inspected } from './inspected.ts';
import { PLACES, placed } from './places.ts';

const PRECISE = '{"id": 12345678901234567890, "price": 1.10}';

/** Workflows that complete, fail until they are mended, wait for an event, and have a child. */
async function world(options: SidecarOptions): Promise<Inspected & { mend: () => void }> {
  const it = await inspected(options);
  let isBroken = true;
  const { workflows } = it.sidecar;
  workflows.registerActivity('charge', (order: unknown) => {
    if (isBroken) throw new Error('the bank is closed');
    return { receipt: order };
  });
  workflows.register('checkout', async (ctx, order: unknown) => ctx.callActivity('charge', order));
  workflows.register('echo', async (_ctx, input: unknown) => input);
  workflows.register('wait', async (ctx) => ctx.waitForEvent('go'));
  workflows.register('parent', async (ctx) => ctx.callChild('echo', 1, { instanceId: 'child' }));
  return { ...it, mend: () => (isBroken = false) };
}

const start = async (it: Inspected, name: string, instanceId: string, input = PRECISE) => {
  expect((await it.post('workflows', { name, instanceId, input })).json).toEqual({ instanceId });
};
const over = (it: Inspected, id: string) => it.sidecar.workflows.run(id).ended();
const one = async (it: Inspected, id: string) =>
  (await it.get(`workflows/one?instanceId=${id}`)).json as unknown as WorkflowReply;

describe.each(PLACES)('workflows in %s', (place) => {
  test('are started, and shown with input, output and history, digit for digit', async () => {
    const it = await world(placed(place));
    await start(it, 'checkout', 'failed');
    await over(it, 'failed');
    await start(it, 'echo', 'echoed', '{"token":"s3cret","id":1}');
    await over(it, 'echoed');
    const { instance, input, output, history, isHistoryCut, children } = await one(it, 'failed');
    expect(instance).toMatchObject({
      status: 'FAILED',
      name: 'checkout',
      failure: { message: expect.stringMatching(/bank/) },
    });
    expect([input?.value, output, isHistoryCut, children]).toEqual([PRECISE, undefined, false, []]);
    expect(history.map(({ type, index, data }) => [index, type, data?.value])).toEqual([
      [0, 'started', PRECISE],
      [1, 'activityScheduled', expect.stringMatching(/12345678901234567/)],
      [2, 'activityFailed', undefined],
    ]);
    const event = await it.get('workflows/event?instanceId=failed&index=0');
    expect(event.json).toMatchObject({ event: { type: 'started', data: { value: PRECISE } } });
    const echoed = await it.get('workflows/one?instanceId=echoed');
    expect(echoed.text).not.toContain('s3cret');
    expect((echoed.json as unknown as WorkflowReply).input).toMatchObject({
      value: '{"token":"***","id":1}',
      isMasked: true,
    });
    expect((await it.get('workflows/event?instanceId=failed&index=99')).error).toEqual([404, 'ERR_NOT_FOUND']);
    expect((await it.get('workflows/event?instanceId=failed')).error).toEqual([400, 'ERR_BAD_REQUEST']);
    for (const none of ['none', '__proto__', '../x'])
      expect((await it.get(`workflows/one?instanceId=${none}`)).error).toEqual([404, 'ERR_INSTANCE_ID_NOT_FOUND']);
  });

  test('are listed by status, name, prefix, parent, without their payloads', async () => {
    const it = await world(placed(place));
    for (const id of ['a-1', 'a-2', 'b-1']) await start(it, 'echo', id, '"s3cret-input"');
    await start(it, 'checkout', 'failed');
    await start(it, 'parent', 'parent');
    for (const id of ['a-1', 'a-2', 'b-1', 'failed', 'parent']) await over(it, id);
    const list = async (query: string) => {
      const reply = await it.get(`workflows?${query}`);
      expect(reply.text).not.toContain('s3cret');
      return ((reply.json as unknown as WorkflowsReply).instances ?? []).map(({ instanceId }) => instanceId);
    };
    expect(await list('')).toEqual(['a-1', 'a-2', 'b-1', 'child', 'failed', 'parent']);
    expect(await list('status=FAILED,RUNNING')).toEqual(['failed']);
    expect(await list('name=checkout')).toEqual(['failed']);
    expect(await list('prefix=a-&reverse=true')).toEqual(['a-2', 'a-1']);
    expect(await list('parentId=parent')).toEqual(['child']);
    expect(await list(`since=${Date.now() + 60_000}`)).toEqual([]);
    const { cursor } = (await it.get('workflows?limit=1')).json;
    expect(await list(`limit=1&cursor=${cursor}`)).toEqual(['a-2']);
    expect((await one(it, 'parent')).children).toMatchObject([{ instanceId: 'child', parentId: 'parent' }]);
    const bad = await it.get('workflows?status=BROKEN');
    expect([bad.status, bad.json['message']]).toEqual([
      400,
      expect.stringMatching(/status is "BROKEN": expected one of PENDING/),
    ]);
  });

  test('are paused, resumed, given events and terminated', async () => {
    const it = await world(placed(place));
    for (const id of ['one', 'two']) await start(it, 'wait', id);
    const state = async (id: string) => (await it.sidecar.workflows.get(id))?.status;
    expect((await it.post('workflows/pause', { instanceId: 'one' })).status).toBe(204);
    for (const deadline = performance.now() + 10_000; (await state('one')) !== 'SUSPENDED'; )
      if (performance.now() > deadline) throw new Error('it is not paused');
    expect((await it.post('workflows/resume', { instanceId: 'one' })).status).toBe(204);
    expect((await it.post('workflows/raise-event', { instanceId: 'one', name: 'go', data: PRECISE })).status).toBe(204);
    await over(it, 'one');
    expect((await one(it, 'one')).history.find(({ type }) => type === 'eventRaised')?.data?.value).toBe(PRECISE);
    expect((await it.post('workflows/terminate', { instanceId: 'two', output: '{"by": 1.10}' })).status).toBe(204);
    await over(it, 'two');
    expect(await one(it, 'two')).toMatchObject({
      instance: { status: 'TERMINATED' },
      output: { value: '{"by": 1.10}' },
    });
    expect((await it.post('workflows/purge', { instanceId: 'two' })).status).toBe(204);
    for (const path of ['pause', 'resume', 'purge', 'terminate'])
      expect((await it.post(`workflows/${path}`, { instanceId: 'two' })).error).toEqual([
        404,
        'ERR_INSTANCE_ID_NOT_FOUND',
      ]);
  });

  test('are run again, with another input or from the failure', async () => {
    const it = await world(placed(place));
    await start(it, 'checkout', 'first');
    await over(it, 'first');
    it.mend();
    const again = await it.post('workflows/rerun', { instanceId: 'first', newInstanceId: 'second', from: 'failure' });
    expect(again.json).toEqual({ instanceId: 'second' });
    expect(await over(it, 'second')).toMatchObject({ status: 'COMPLETED', rerunOf: 'first' });
    await it.post('workflows/rerun', { instanceId: 'first', newInstanceId: 'third', input: '[98765432109876543210]' });
    await over(it, 'third');
    expect((await one(it, 'third')).input?.value).toBe('[98765432109876543210]');
    expect((await it.post('workflows/rerun', { instanceId: 'first', newInstanceId: 'third' })).status).toBe(409);
    expect((await it.post('workflows/rerun', { instanceId: 'first', from: 'end' })).status).toBe(400);
    expect((await it.post('workflows/rerun', { instanceId: 'first', from: 'failure', input: '1' })).status).toBe(400);
  });

  test('many are changed at once: by their IDs, or by a filter', async () => {
    const it = await world(placed(place));
    for (const id of ['w-1', 'w-2', 'w-3']) await start(it, 'wait', id);
    await start(it, 'checkout', 'failed');
    await over(it, 'failed');
    const bulk = async (path: string, body: object) =>
      (await it.post(`workflows/${path}`, body)).json as unknown as BulkReply;
    expect(await bulk('terminate-all', { instanceIds: ['w-1', 'w-1', 'none'] })).toEqual({
      ...{ done: 1, hasMore: false, failed: [{ instanceId: 'none', reason: expect.stringMatching(/none/) }] },
    });
    expect(await bulk('terminate-all', { filter: { prefix: 'w-' } })).toMatchObject({ done: 2, failed: [] });
    for (const id of ['w-1', 'w-2', 'w-3']) await over(it, id);
    it.mend();
    expect(await bulk('rerun-all', { filter: { status: ['FAILED'] }, from: 'failure' })).toMatchObject({ done: 1 });
    expect(await bulk('purge-all', { filter: { status: ['TERMINATED'], name: 'wait' } })).toMatchObject({ done: 3 });
    expect(await bulk('purge-all', { instanceIds: ['failed'] })).toMatchObject({ done: 1 });
  });
});

test.each([
  ['workflows', { name: 'echo', input: '{' }, 'body.input is not JSON text'],
  ['workflows', { input: '1' }, 'body.name is missing'],
  ['workflows/pause', { instanceId: 'a', output: '1' }, 'body.output is for terminate'],
  ['workflows/raise-event', { instanceId: 'a' }, 'body.name is missing'],
  ['workflows/terminate-all', {}, 'expected either body.instanceIds or body.filter'],
  [
    'workflows/terminate-all',
    { instanceIds: ['a'], filter: { name: 'a' } },
    'expected either body.instanceIds or body.filter',
  ],
  ['workflows/terminate-all', { filter: {} }, 'the filter is empty'],
  ['workflows/terminate-all', { filter: { status: ['BROKEN'] } }, 'body.filter.status.0 must be "PENDING"'],
  ['workflows/terminate-all', { instanceIds: ['a'], from: 'start' }, 'body.from is for rerun-all'],
  [
    'workflows/purge-all',
    { instanceIds: Array(1_001).fill('a') },
    'body.instanceIds must NOT have more than 1000 items',
  ],
  ['workflows/rerun-all', { filter: { name: 'a' }, from: 3 }, 'body.from must be "start" or "failure"'],
])('%s %j is told what is wrong', async (path, body, message) => {
  const it = await inspected(placed('memory'));
  const { status, json } = await it.post(path, body);
  expect([status, json['message']]).toEqual([400, expect.stringContaining(message)]);
});

import { describe, expect, test } from 'vitest';
import { defineJob, defineWorkflow, memoryPubSub } from '../../src/index.ts';
import type {
  CallRecord,
  LiveFrame,
  MessageDetail,
  MessageRecord,
  Overview,
  RecordsReply,
} from '../../src/inspector/api/live.ts';
import { EventReader } from './event-reader.ts';
import { type Inspected, inspected } from './inspected.ts';

/** A component of its own for each test. */
const withPubSub = () => ({ components: [memoryPubSub('pubsub')] });

function streamOf({ url }: Inspected, query = '', headers: Record<string, string> = {}): Promise<EventReader> {
  return EventReader.open(`${url}/api/v1/live${query}`, headers);
}

async function json<T>(world: Inspected, path: string): Promise<T> {
  const answer = await world.get(path);
  expect(answer.status, answer.text).toBe(200);
  return answer.json as T;
}

describe('messages', () => {
  test('are listed from the first request on, by filters, page by page', async () => {
    const world = await inspected(withPubSub());
    const { pubsub } = world.sidecar;
    await pubsub.publish('pubsub', 'before', 0);
    expect(await json<RecordsReply>(world, 'messages')).toEqual({
      records: [],
      kept: 0,
      capacity: 10_000,
      hasDropped: false,
    });
    for (const topic of ['orders', 'payments'])
      for (const n of [1, 2, 3]) await pubsub.publish('pubsub', topic, `${topic} ${n}`);
    const first = await json<RecordsReply<MessageRecord>>(world, 'messages?topic=orders&limit=2');
    expect(first).toMatchObject({ kept: 6, recordingSince: expect.any(Number), records: [{ topic: 'orders' }, {}] });
    const rest = await json<RecordsReply<MessageRecord>>(world, `messages?topic=orders&limit=2&cursor=${first.cursor}`);
    expect(rest.records).toHaveLength(1);
    expect(rest).not.toHaveProperty('cursor');
    const found = await json<RecordsReply<MessageRecord>>(world, 'messages?text=payments%202');
    expect(found.records).toMatchObject([{ topic: 'payments', outcome: 'published' }]);
    expect((await json<RecordsReply>(world, 'messages?outcome=delivered')).records).toEqual([]);
  });

  test.each([
    ['messages?limit=0', 'limit is 0'],
    ['messages?limit=1001', 'limit is 1001'],
    ['messages?limit=', 'limit is NaN'],
    ['messages?cursor=x', 'cursor is "x"'],
    ['messages?outcome=lost', 'outcome is "lost"'],
    ['calls?status=6xx', 'status is "6xx"'],
    ['live?kinds=message,actor', 'kinds is "actor"'],
  ])('%s is refused', async (path, problem) => {
    const world = await inspected(withPubSub());
    const answer = await world.get(path);
    expect(answer.error).toEqual([400, 'ERR_BAD_REQUEST']);
    expect(answer.json['message']).toContain(problem);
  });

  test('are shown with their data and the reason for their route', async () => {
    const world = await inspected({
      ...withPubSub(),
      app: { fetch: (request) => Response.json(request.method === 'GET' ? [] : {}) },
      subscriptions: [
        {
          pubsubName: 'pubsub',
          topic: 'orders',
          routes: { rules: [{ match: 'event.type == "big" && event.data.sum > 100', path: '/big' }], default: '/any' },
        },
      ],
    });
    await world.sidecar.ready();
    await json(world, 'messages');
    const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
    await world.sidecar.pubsub.publish('pubsub', 'orders', { sum: 200 }, { cloudEvent: { type: 'big' }, trace });
    await eventuallyMessages(world, 'outcome=delivered', 1);
    const { records } = await json<RecordsReply<MessageRecord>>(world, 'messages?text=%22sum%22');
    expect(records).toMatchObject([{ route: '/big', group: 'shop', traceparent: trace.traceparent }]);
    const detail = await json<MessageDetail>(world, `messages/one?key=${records[0]?.key}`);
    expect(detail.record).toEqual(records[0]);
    expect(detail.payload).toMatchObject({ format: 'json', value: '{"sum":200}', isMasked: false });
    expect(detail.attributes).toMatchObject({ type: 'big', topic: 'orders' });
    expect(detail.attributes).not.toHaveProperty('data');
    expect(detail.subscriptions).toMatchObject([{ path: '/big', rules: [{ holds: true }, {}] }]);
    expect((await world.get('messages/one?key=77')).error).toEqual([404, 'ERR_NOT_FOUND']);
    expect((await world.get('messages/one')).error).toEqual([404, 'ERR_NOT_FOUND']);
  });

  test('are shown if no rule can be asked about them', async () => {
    const world = await inspected(withPubSub());
    await json(world, 'messages');
    const data = Buffer.from('['.repeat(20_000) + ']'.repeat(20_000));
    await world.sidecar.pubsub.publish('pubsub', 'orders', data, { contentType: 'application/json' });
    await eventuallyMessages(world, '', 1);
    const { records } = await json<RecordsReply<MessageRecord>>(world, 'messages');
    const detail = await json<MessageDetail>(world, `messages/one?key=${records[0]?.key}`);
    expect(detail).toMatchObject({ payload: { format: 'json', bytes: 40_000 }, subscriptions: [] });
  });

  test('are published', async () => {
    const world = await inspected(withPubSub());
    await json(world, 'messages');
    const body = {
      pubsubName: 'pubsub',
      topic: 'orders',
      data: '{"sum": 1.10}',
      metadata: { 'cloudevent.id': 'mine' },
    };
    expect((await world.post('messages', body)).status).toBe(204);
    const { records } = await json<RecordsReply<MessageRecord>>(world, 'messages');
    expect(records).toMatchObject([{ messageId: 'mine', topic: 'orders' }]);
    const { payload } = await json<MessageDetail>(world, `messages/one?key=${records[0]?.key}`);
    expect(payload?.value).toBe('{"sum": 1.10}');
    expect((await world.post('messages', { ...body, pubsubName: 'nope' })).error).toEqual([
      404,
      'ERR_PUBSUB_NOT_FOUND',
    ]);
    for (const wrong of [{ data: '{' }, { data: 7 }, { topic: undefined }, { metadata: { a: 1 } }, { extra: 1 }])
      expect((await world.post('messages', { ...body, ...wrong })).error).toEqual([400, 'ERR_BAD_REQUEST']);
  });
});

async function eventuallyMessages(world: Inspected, query: string, count: number): Promise<void> {
  for (let turn = 0; turn < 500; turn++) {
    const { records } = await json<RecordsReply>(world, `messages?${query}`);
    if (records.length >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`there are no ${count} messages with ${query}`);
}

test('calls are listed in both directions', async () => {
  const world = await inspected({
    ...withPubSub(),
    app: { fetch: ({ url }) => new Response(null, { status: url.endsWith('/down') ? 503 : 204 }) },
  });
  await json(world, 'calls');
  const { invocation } = world.sidecar;
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await invocation.invoke('shop', '/up?secret=1', { method: 'POST', headers: { traceparent } });
  await invocation.invoke('shop', '/down');
  await invocation.invoke('http://127.0.0.1:1', '/gone').catch(() => undefined);
  const { records } = await json<RecordsReply<CallRecord>>(world, 'calls');
  expect(records).toMatchObject([
    { direction: 'out', target: 'http://127.0.0.1:1', method: 'GET', path: '/gone', status: 0 },
    { direction: 'in', target: 'shop', path: '/down', status: 503, attempts: 1 },
    { direction: 'in', method: 'POST', path: '/up', status: 204, traceparent },
  ]);
  expect((await json<RecordsReply>(world, 'calls?status=5xx')).records).toMatchObject([{ path: '/down' }]);
  expect((await json<RecordsReply>(world, 'calls?status=0')).records).toMatchObject([{ path: '/gone' }]);
  expect((await json<RecordsReply>(world, 'calls?text=UP')).records).toMatchObject([{ path: '/up' }]);
  expect((await json<RecordsReply>(world, 'calls?target=shop')).records).toHaveLength(2);
});

test('the overview tells numbers, what needs attention, and what was last', async () => {
  const world = await inspected({
    ...withPubSub(),
    subscriptions: [{ pubsubName: 'nope', topic: 'orders', route: '/x' }],
  });
  const { pubsub, jobs, workflows } = world.sidecar;
  const fail = (): never => {
    throw new Error('the till is closed');
  };
  await json(world, 'overview');
  await pubsub.subscribe('pubsub', 'orders', fail, { deadLetterTopic: 'dead', retry: { maxRetries: 0 } });
  await pubsub.publish('pubsub', 'orders', 1);
  await pubsub.publish('pubsub', 'nobody', 1);
  const policy = { retry: { maxRetries: 0 } } as const;
  await jobs.register(defineJob('report', { schedule: '@every 1h', ...policy }, fail));
  await jobs.run('report');
  const again = { retry: { maxRetries: 1, delay: '1h', factor: 1 } } as const;
  await jobs.register(defineJob('mail', { schedule: '@every 2h', ...again }, fail));
  await jobs.run('mail');
  const ship = defineWorkflow<undefined, void>('ship', fail);
  workflows.register(ship);
  await workflows.start(ship, undefined, { instanceId: 'w1' });
  await workflows.run('w1').ended();
  const isComplete = ({ attention }: Overview): boolean => attention.length >= 6;
  let overview = await json<Overview>(world, 'overview');
  // What was found in the store is told for five seconds.
  for (let turn = 0; turn < 200 && !isComplete(overview); turn++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    overview = await json<Overview>(world, 'overview');
  }
  expect(overview.attention.map(({ severity, text }) => `${severity}: ${text}`).sort()).toEqual([
    'error: 1 dead letter in dead for shop',
    'error: 1 workflow failed within a day',
    'error: A subscription to orders was refused: pubsub nope is not found: expected pubsub',
    'error: The last run of job report failed: the till is closed',
    'warning: Job mail has failed, and is tried again: the till is closed',
    'warning: Topic nobody has no group: 1 message got lost',
  ]);
  expect(overview.attention.every(({ href }) => href.startsWith('#/'))).toBe(true);
  const totals = new Map(overview.series.map(({ name, total }) => [name, total]));
  expect(totals.get('published')).toBe(2);
  expect(totals.get('deadLettered')).toBe(1);
  expect(totals.get('jobsFailed')).toBe(1);
  expect(totals.get('workflowsFailed')).toBe(1);
  for (const { total, perSecond } of overview.series) {
    expect(perSecond).toHaveLength(120);
    expect(perSecond.reduce((sum, count) => sum + count, 0)).toBe(total);
  }
  expect(overview.health.isReady).toBe(true);
  const recent = overview.recent.map((record) =>
    'outcome' in record ? `${record.kind} ${record.outcome}` : record.kind,
  );
  expect(recent.sort()).toEqual([
    'job failed',
    'job retrying',
    'message deadLettered',
    'message published',
    'workflow failed',
  ]);
});

describe('the live stream', () => {
  test('sends what changes, four times a second at most, and numbers once a second', async () => {
    const world = await inspected(withPubSub());
    const { pubsub } = world.sidecar;
    await pubsub.subscribe('pubsub', 'orders', () => undefined);
    await using reader = await streamOf(world, '?kinds=message&topic=orders');
    expect(reader.headers).toMatchObject({
      'content-type': expect.stringMatching(/^text\/event-stream/),
      'cache-control': expect.stringContaining('no-transform'),
      'x-accel-buffering': 'no',
    });
    const startedAt = performance.now();
    for (let n = 0; n < 30; n++) {
      await pubsub.publish('pubsub', 'orders', n);
      await pubsub.publish('pubsub', 'other', n);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await reader.until('all are delivered', () => {
      const { records } = reader;
      return records.length === 30 && records.every((one) => one.kind === 'message' && one.outcome === 'delivered');
    });
    await reader.until('there are numbers', () => reader.named('rates').length >= 2);
    const seconds = (performance.now() - startedAt) / 1_000;
    expect(reader.frames.length).toBeLessThanOrEqual(seconds * 4 + 1);
    const [rates] = reader.named('rates').slice(-1);
    expect(rates?.data).toMatchObject({
      health: { isReady: true },
      series: expect.any(Array),
      p95Ms: expect.any(Number),
    });
    const ids = reader.named('records').map(({ id }) => Number(id));
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
  });

  test('resumes after the last event, and after a number', async () => {
    const world = await inspected(withPubSub());
    const { pubsub } = world.sidecar;
    const first = await streamOf(world);
    await pubsub.publish('pubsub', 'orders', 'first');
    await first.until('the first came', () => first.records.length === 1);
    const lastId = first.lastId ?? '';
    await first[Symbol.asyncDispose]();
    for (const data of ['second', 'third']) await pubsub.publish('pubsub', 'orders', data);
    await using resumed = await streamOf(world, '', { 'last-event-id': lastId });
    await using fromStart = await streamOf(world, '?after=0');
    await using fromNow = await streamOf(world);
    await using ofOther = await streamOf(world, '', { 'last-event-id': '999999' });
    await resumed.until('two more came', () => resumed.records.length === 2);
    await fromStart.until('all came', () => fromStart.records.length === 3);
    await ofOther.until('all came', () => ofOther.records.length === 3);
    await fromNow.until('the numbers came', () => fromNow.named('rates').length === 2);
    expect(fromNow.frames).toEqual([]);
    await expect(streamOf(world, '', { 'last-event-id': 'x' })).rejects.toThrow('400');
  });

  test('sends at most 200 records at once, and how many it has skipped', async () => {
    const world = await inspected(withPubSub());
    await using reader = await streamOf(world);
    const entries = Array.from({ length: 1_000 }, (_, n) => ({ entryId: String(n), event: n }));
    await world.sidecar.pubsub.publishBulk('pubsub', 'orders', entries);
    const countOf = ({ records, skipped }: LiveFrame): number => records.length + skipped;
    await reader.until('all are told', () => reader.frames.reduce((sum, frame) => sum + countOf(frame), 0) === 1_000);
    expect(Math.max(...reader.frames.map(({ records }) => records.length))).toBe(200);
  });

  test('has at most eight viewers', async () => {
    const world = await inspected(withPubSub());
    const readers = await Promise.all(Array.from({ length: 8 }, () => streamOf(world)));
    const refused = await world.get('live');
    expect(refused.error).toEqual([503, 'ERR_TOO_MANY_VIEWERS']);
    expect(refused.headers['retry-after']).toBe('5');
    await readers[0]?.[Symbol.asyncDispose]();
    let ninth: EventReader | undefined;
    for (let turn = 0; turn < 200 && ninth === undefined; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      ninth = await streamOf(world).catch(() => undefined);
    }
    expect(ninth).toBeDefined();
    for (const reader of [...readers, ninth]) await reader?.[Symbol.asyncDispose]();
  });

  test.each([
    ['the sidecar stops', ({ sidecar }: Inspected) => sidecar.stop()],
    ['the inspector is closed', ({ inspector }: Inspected) => inspector.close()],
  ])('ends within a moment when %s', async (_, end) => {
    const world = await inspected(withPubSub());
    await using reader = await streamOf(world);
    const startedAt = performance.now();
    await end(world);
    await reader.until('it has ended', () => reader.hasEnded);
    expect(reader.events.at(-1)?.name).toBe('ended');
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    expect((await world.get('live')).status).toBe(503);
  });
});

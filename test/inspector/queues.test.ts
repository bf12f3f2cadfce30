/** Queues, dead letters and subscriptions over the management API. */
import { describe, expect, test } from 'vitest';
import type { DeadLettersReply, QueuedMessagesReply, QueuesReply } from '../../src/inspector/api/queues.ts';
import { eventually } from '../../src/kit/collector.ts';
import { type Inspected, inspected } from './inspected.ts';
import { PLACES, placed } from './places.ts';

const queue = (topic: string, group = 'shop') => ({ pubsubName: 'pubsub', topic, group });
const where = (topic: string, group = 'shop') => `pubsubName=pubsub&topic=${topic}&group=${group}`;

/** Text with numbers that JavaScript cannot hold, and a secret. */
const PRECISE = '{"id": 12345678901234567890, "price": 1.10}';
const SECRET = '{"id":1,"card":{"apiKey":"s3cret"}}';

async function json<Reply>(reply: Promise<{ status: number; text: string }>): Promise<Reply> {
  const { status, text } = await reply;
  if (status !== 200) throw new Error(`${status} ${text}`);
  return JSON.parse(text) as Reply;
}

async function publish({ sidecar }: Inspected, topic: string, ...data: readonly string[]): Promise<void> {
  for (const one of data)
    await sidecar.pubsub.publish('pubsub', topic, Buffer.from(one), { contentType: 'application/json' });
}

/** Three dead letters of `orders` in `dead-orders`, which nobody subscribes to. */
async function withDeadLetters(world: Inspected, data: readonly string[] = [PRECISE, SECRET, '{"id":3}']) {
  const { sidecar } = world;
  const got: string[] = [];
  const handler = async (_event: unknown, { message }: { readonly message: { readonly data: Uint8Array } }) => {
    got.push(Buffer.from(message.data).toString());
    if (isBroken) throw new Error(`app answered 503 (${got.length})`);
  };
  let isBroken = true;
  await sidecar.pubsub.subscribe('pubsub', 'orders', handler, {
    ...{ deadLetterTopic: 'dead-orders', retry: { maxRetries: 0 }, concurrency: 1 },
  });
  await publish(world, 'orders', ...data);
  const waiting = async () => (await sidecar.pubsub.queues.list({ topic: 'dead-orders' }))[0]?.ready;
  for (const deadline = performance.now() + 10_000; (await waiting()) !== data.length; )
    if (performance.now() > deadline) throw new Error('the dead letters did not come');
  got.length = 0;
  return { got, mend: () => (isBroken = false) };
}

describe.each(PLACES)('in %s', (place) => {
  const world = () => inspected(placed(place));

  test('queues tell how much waits, and which are those of dead letters', async () => {
    const it = await world();
    await withDeadLetters(it);
    const { queues, unsupported } = await json<QueuesReply>(it.get('queues'));
    expect(unsupported).toEqual([]);
    expect(
      queues.map(({ topic, ready, isDeadLetter, isAbandoned }) => [topic, ready, isDeadLetter, isAbandoned]),
    ).toEqual(
      expect.arrayContaining([
        ['orders', 0, false, false],
        ['dead-orders', 3, true, false],
      ]),
    );
    const one = await json<QueuesReply>(it.get('queues?pubsubName=pubsub&topic=dead-orders&app=shop'));
    expect(one.queues.map(({ topic }) => topic)).toEqual(['dead-orders']);
    expect((await it.get('queues?pubsubName=other')).error).toEqual([404, 'ERR_PUBSUB_NOT_FOUND']);
  });

  test('messages are read without being consumed, page by page, both ways', async () => {
    const it = await world();
    await it.sidecar.pubsub.queues.addGroup(queue('orders', 'shop/audit'));
    await publish(it, 'orders', PRECISE, SECRET, '{"id":3}');
    const at = where('orders', 'shop/audit');
    for (const state of ['', '&state=ready']) {
      const first = await json<QueuedMessagesReply>(it.get(`queues/messages?${at}&limit=2${state}`));
      expect(first.messages.map(({ payload }) => payload.value)).toEqual([PRECISE, SECRET.replace('s3cret', '***')]);
      const cursor = encodeURIComponent(first.cursor ?? '');
      const rest = await json<QueuedMessagesReply>(it.get(`queues/messages?${at}&limit=2&cursor=${cursor}${state}`));
      expect([rest.messages.map(({ payload }) => payload.value), rest.cursor]).toEqual([['{"id":3}'], undefined]);
    }
    const back = await json<QueuedMessagesReply>(it.get(`queues/messages?${at}&reverse=true`));
    expect(back.messages.map(({ payload }) => payload.value)[0]).toBe('{"id":3}');
    expect(back.messages[0]).toMatchObject({ state: 'ready', isRaw: false, attributes: { source: 'shop' } });
    expect((await it.get(`queues/messages?${at}&state=gone`)).error).toEqual([400, 'ERR_BAD_REQUEST']);
    expect((await it.get(`queues/messages?${at}&limit=0`)).error).toEqual([400, 'ERR_BAD_REQUEST']);
    expect((await it.get(`queues/messages?${at}&cursor=x`)).error).toEqual([400, 'ERR_BAD_REQUEST']);
    expect((await it.get('queues/messages?pubsubName=pubsub&topic=orders')).json['message']).toBe(
      'the query has no group',
    );
    expect((await it.get(`queues/messages?${where('orders', 'nobody')}`)).error).toEqual([404, 'ERR_QUEUE_NOT_FOUND']);
  });

  test('one message is read with more of its data', async () => {
    const it = await world();
    await it.sidecar.pubsub.queues.addGroup(queue('orders', 'shop/audit'));
    const long = JSON.stringify('x'.repeat(5_000));
    await publish(it, 'orders', '1', long);
    const at = where('orders', 'shop/audit');
    const { messages } = await json<QueuedMessagesReply>(it.get(`queues/messages?${at}`));
    const key = encodeURIComponent(messages[1]?.key ?? '');
    expect(messages[1]?.payload).toMatchObject({ bytes: 5_002, isCut: true });
    const one = await it.get(`queues/messages/one?${at}&key=${key}`);
    expect(one.json).toMatchObject({
      queue: { group: 'shop/audit' },
      message: { payload: { value: long, isCut: false } },
    });
    for (const none of ['999999', '__proto__', '-1'])
      expect((await it.get(`queues/messages/one?${at}&key=${none}`)).error).toEqual([404, 'ERR_NOT_FOUND']);
  });

  test('dead letters are found by their origin, over all queues, page by page', async () => {
    const it = await world();
    await withDeadLetters(it);
    const all = await json<DeadLettersReply>(it.get('dead-letters'));
    expect(
      all.messages.map(({ queue: { topic }, deadLetter }) => [topic, deadLetter?.topic, deadLetter?.attempts]),
    ).toEqual(Array.from({ length: 3 }, () => ['dead-orders', 'orders', 1]));
    expect(JSON.stringify(all)).not.toContain('s3cret');
    const seen: unknown[] = [];
    let cursor = '';
    do {
      const page = await json<DeadLettersReply>(it.get(`dead-letters?limit=1&cursor=${cursor}`));
      expect(page.messages.length).toBeLessThanOrEqual(1);
      seen.push(...page.messages.map(({ key }) => key));
      cursor = page.cursor ?? '';
    } while (cursor !== '');
    expect(seen).toEqual(all.messages.map(({ key }) => key));
    const count = async (filter: string) =>
      (await json<DeadLettersReply>(it.get(`dead-letters?${filter}`))).messages.length;
    expect(await count('fromTopic=orders&fromGroup=shop&reason=503&since=0')).toBe(3);
    expect(await count('reason=(2)')).toBe(1);
    expect(await count(`since=${Date.now() + 60_000}`)).toBe(0);
    expect(await count('until=1')).toBe(0);
    expect(await count('fromTopic=others')).toBe(0);
    expect(await count('topic=orders')).toBe(0);
    const back = await json<DeadLettersReply>(it.get('dead-letters?reverse=true'));
    expect(back.messages.map(({ key }) => key)).toEqual(seen.toReversed());
    for (const bad of [
      'cursor=x',
      'limit=0',
      'limit=1001',
      'since=yesterday',
      'reverse=1',
      'reasn=x',
      'topic=a&topic=b',
    ])
      expect((await it.get(`dead-letters?${bad}`)).error).toEqual([400, 'ERR_BAD_REQUEST']);
  });

  test('a dead letter is redelivered as it was, one with new data keeps every digit', async () => {
    const it = await world();
    const { got, mend } = await withDeadLetters(it);
    mend();
    const { messages } = await json<DeadLettersReply>(it.get('dead-letters'));
    const [first, second, third] = messages.map(({ key }) => key);
    const body = { queue: queue('dead-orders'), selection: [first] };
    expect((await it.post('queues/redeliver', body)).json).toEqual({ count: 1 });
    await eventually('it is redelivered', () => got.length === 1);
    expect(got[0]).toContain(PRECISE);
    const data = { text: '{"id": 98765432109876543210.50}', isJson: true };
    expect((await it.post('queues/redeliver', { ...body, selection: [second], data })).json).toEqual({ count: 1 });
    await eventually('the other one is redelivered', () => got.length === 2);
    expect(got[1]).toContain(data.text);
    expect(
      (await it.post('queues/redeliver', { ...body, selection: [third], data: { text: 'plain', isJson: false } }))
        .status,
    ).toBe(200);
    await eventually('the last one is redelivered', () => got.length === 3);
    expect(got[2]).toContain('"plain"');
  });

  test('dead letters are discarded by a filter, and a queue is purged', async () => {
    const it = await world();
    await withDeadLetters(it);
    const discard = { queue: queue('dead-orders'), selection: { topic: 'orders', reason: '(2)', since: 0 } };
    expect((await it.post('queues/discard', discard)).json).toEqual({ count: 1 });
    expect((await it.post('queues/purge', { queue: queue('dead-orders') })).json).toEqual({ count: 2 });
    expect((await it.post('queues/redeliver', { queue: queue('dead-orders'), selection: 'all' })).json).toEqual({
      count: 0,
    });
  });

  test('a queue is paused and resumed; the answer says whether that changed anything', async () => {
    const it = await world();
    await it.sidecar.pubsub.subscribe('pubsub', 'orders', () => undefined);
    const change = async (path: string) =>
      (await it.post(`queues/${path}`, { queue: queue('orders') })).json['changed'];
    expect([await change('pause'), await change('pause')]).toEqual([true, false]);
    expect((await it.sidecar.pubsub.queues.list())[0]?.isPaused).toBe(true);
    expect([await change('resume'), await change('resume')]).toEqual([true, false]);
  });

  test('a group is added and removed', async () => {
    const it = await world();
    const change = async (path: string) =>
      (await it.post(`queues/${path}`, { queue: queue('orders', 'shop/audit') })).json['changed'];
    expect([await change('add-group'), await change('add-group')]).toEqual([true, false]);
    // Until the host has its shards, the group is busy.
    await expect.poll(() => change('remove-group'), { timeout: 10_000 }).toBe(true);
    expect(await change('remove-group')).toBe(false);
    await it.sidecar.pubsub.subscribe('pubsub', 'orders', () => undefined);
    expect((await it.post('queues/remove-group', { queue: queue('orders') })).error).toEqual([409, 'ERR_QUEUE_BUSY']);
  });
});

describe('subscriptions', () => {
  const DECLARED = {
    ...{ pubsubName: 'pubsub', topic: 'orders', deadLetterTopic: 'dead-orders' },
    routes: {
      rules: [
        { match: 'event.type == "express"', path: '/express' },
        { match: 'event.data.id > 100.0', path: '/big' },
      ],
      default: '/orders',
    },
  };

  test('tell their rules, and why an event takes which route', async () => {
    const it = await inspected({ ...placed('memory'), app: { port: 1 }, subscriptions: [DECLARED] });
    expect((await it.get('subscriptions')).json).toMatchObject({
      subscriptions: [{ topic: 'orders', type: 'DECLARATIVE', deadLetterTopic: 'dead-orders' }],
    });
    const explain = async (event: string) => {
      const { json: reply } = await it.post('subscriptions/explain', { pubsubName: 'pubsub', topic: 'orders', event });
      return (reply['subscriptions'] as { path: string }[])[0]?.path;
    };
    expect(await explain('{"id":1}')).toBe('/orders');
    expect(await explain('{"id":101.5}')).toBe('/big');
    expect(await explain('{"specversion":"1.0","type":"express","source":"x","id":"1","data":{}}')).toBe('/express');
    const bad = await it.post('subscriptions/explain', { pubsubName: 'pubsub', topic: 'orders', event: '{' });
    expect([bad.status, bad.json['message']]).toEqual([400, expect.stringMatching(/^body\.event is not JSON text/)]);
  });
});

describe('bodies', () => {
  const cases: readonly (readonly [path: string, body: unknown, message: string])[] = [
    ['queues/purge', null, 'body must be object'],
    ['queues/purge', {}, 'body.queue is missing'],
    ['queues/purge', { queue: 'orders' }, 'body.queue must be object'],
    ['queues/purge', { queue: { ...queue('orders'), topic: 1 } }, 'body.queue.topic must be string: actual is 1'],
    ['queues/purge', { queue: queue('') }, 'body.queue.topic must NOT have fewer than 1 characters'],
    ['queues/purge', { queue: queue('orders'), __proto__x: 1 }, 'body: unknown field "__proto__x"'],
    ['queues/discard', { queue: queue('orders'), selection: 'some' }, 'body.selection is a string'],
    ['queues/discard', { queue: queue('orders'), selection: [1] }, 'body.selection is an array'],
    ['queues/discard', { queue: queue('orders'), selection: null }, 'body.selection is null'],
    ['queues/discard', { queue: queue('orders'), selection: { reasn: '' } }, 'body.selection: unknown field "reasn"'],
    ['queues/discard', { queue: queue('orders'), selection: { since: 'x' } }, 'body.selection.since must be number'],
    [
      'queues/redeliver',
      { queue: queue('orders'), selection: 'all', data: { text: '1' } },
      'body.data.isJson is missing',
    ],
    [
      'queues/redeliver',
      { queue: queue('orders'), selection: ['1'], data: { text: '{', isJson: true } },
      'body.data.text is not JSON text',
    ],
    ['queues/redeliver', { queue: queue('orders'), selection: 'all', to: { topic: 'x' } }, 'body.to.group is missing'],
  ];

  test.each(cases)('%s %j is told what is wrong', async (path, body, message) => {
    const it = await inspected(placed('memory'));
    await it.sidecar.pubsub.queues.addGroup(queue('orders'));
    const { status, json: reply } = await it.post(path, body);
    expect([status, reply['message']]).toEqual([400, expect.stringContaining(message)]);
  });

  test('text that is not JSON, and __proto__', async () => {
    const it = await inspected(placed('memory'));
    expect((await it.post('queues/purge', '{')).json['message']).toBe('the body is not JSON');
    expect((await it.post('queues/purge', '')).json['message']).toBe('the body is not JSON');
    const proto = await it.post(
      'queues/purge',
      '{"queue":{"pubsubName":"__proto__","topic":"constructor","group":"x"}}',
    );
    expect(proto.error).toEqual([404, 'ERR_PUBSUB_NOT_FOUND']);
    expect((await it.post('queues/purge', `{"__proto__":{"queue":${JSON.stringify(queue('orders'))}}}`)).status).toBe(
      400,
    );
  });
});

test('a component without access to its queues is named', async () => {
  const component = {
    ...{ name: 'broker', type: 'pubsub.mine', version: 'v1' },
    open: async () => ({
      publish: async () => [],
      subscribe: () => Promise.reject(new Error('no')),
      close: async () => undefined,
    }),
  };
  const it = await inspected({ components: [component as never] });
  expect((await it.get('queues')).json).toEqual({ queues: [], unsupported: ['broker'] });
  expect((await it.get('queues?pubsubName=broker')).json).toEqual({ queues: [], unsupported: ['broker'] });
  expect((await it.get('dead-letters')).json).toEqual({ queues: [], messages: [] });
});

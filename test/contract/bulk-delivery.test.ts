import { describe, expect, test } from 'vitest';
import type { Received, Reply } from '../support/app.ts';
import { WAYS } from '../support/served.ts';
import { startWorld, type World, type WorldOptions } from '../support/world.ts';

const bulk = (bulkSubscribe: object = {}, more: object = {}): Record<string, unknown> => ({
  pubsubname: 'pubsub',
  topic: 'orders',
  route: '/orders',
  bulkSubscribe,
  ...more,
});
const dead = { pubsubname: 'pubsub', topic: 'dead', route: '/dead' };

/** A reply that gives every entry a status, by its data. */
function statuses(received: Received, statusOf: (data: unknown) => unknown): Reply {
  return {
    body: { statuses: received.entries.map(({ entryId, event }) => ({ entryId, status: statusOf(event['data']) })) },
  };
}

const succeed = (received: Received): Reply => statuses(received, () => 'SUCCESS');

async function publishAll(world: World, ...texts: readonly string[]): Promise<void> {
  await world.publishBulk(texts.map((text, n) => ({ entryId: `${n}`, event: text, contentType: 'text/plain' })));
}

/** The data of each request’s entries. */
function batches(world: World): unknown[][] {
  return world.deliveries.map(({ entries }) => entries.map(({ event }) => event['data']));
}

function start(options: WorldOptions = {}): Promise<World> {
  return startWorld({
    discovery: [bulk({ maxMessagesCount: 3, maxAwaitDurationMs: 1_000 })],
    answer: succeed,
    ...options,
  });
}

describe('receive bulk topic events', () => {
  test.each(WAYS)('POST to the route with a group of entries, application via %s', async (via) => {
    await using world = await start({ via });
    await world.publishBulk([
      { entryId: 'mine-1', event: { n: 1 }, contentType: 'application/json', metadata: { key: 'value' } },
      { entryId: 'mine-2', event: 'b', contentType: 'text/plain' },
      { entryId: 'mine-3', event: 'c', contentType: 'text/plain' },
    ]);
    const [delivery] = world.deliveries;
    expect(world.deliveries).toHaveLength(1);
    expect([delivery?.method, delivery?.path]).toEqual(['POST', '/orders']);
    expect(delivery?.headers).toMatchObject({ 'content-type': 'application/json', pubsubname: 'pubsub' });
    expect(Object.keys(delivery?.json ?? {}).sort()).toEqual([
      'entries',
      'id',
      'metadata',
      'pubsubname',
      'topic',
      'type',
    ]);
    expect(delivery?.json).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      metadata: { pubsubName: 'pubsub' },
      pubsubname: 'pubsub',
      topic: 'orders',
      type: 'com.sidecar.event.sent.bulk',
    });
    expect(delivery?.entries[0]).toEqual({
      entryId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      event: expect.objectContaining({ specversion: '1.0', data: { n: 1 }, topic: 'orders' }),
      contentType: 'application/cloudevents+json',
      metadata: { key: 'value' },
    });
    expect(delivery?.entries[1]?.metadata).toEqual({});
    expect(new Set(delivery?.entries.map(({ entryId }) => entryId)).size).toBe(3);
    expect(world.emitted('messageDelivered')).toHaveLength(3);
  });

  test('numbers keep every digit', async () => {
    await using world = await start();
    await world.publish('{"n":12345678901234567890,"d":1.10}', { headers: { 'content-type': 'application/json' } });
    await world.pass('1s');
    expect(world.deliveries[0]?.text).toContain('"data":{"n":12345678901234567890,"d":1.10}');
  });

  test('raw entries carry base64 and their own content type', async () => {
    await using world = await start({
      discovery: [bulk({ maxMessagesCount: 1 }, { metadata: { rawPayload: 'true' } })],
    });
    await world.publish(Buffer.from([0, 255]), {
      query: 'metadata.rawPayload=true',
      headers: { 'content-type': 'image/png' },
    });
    expect(world.deliveries[0]?.entries).toMatchObject([{ event: 'AP8=', contentType: 'image/png' }]);
  });

  test('a raw-published message for a subscription without rawPayload is not in the batch', async () => {
    await using world = await start();
    await world.publish('raw', { query: 'metadata.rawPayload=true' });
    await publishAll(world, 'a', 'b');
    expect(batches(world)).toEqual([['a', 'b']]);
    expect(world.emitted('messageDropped')).toHaveLength(1);
  });

  test('an expired message is not in the batch', async () => {
    await using world = await start();
    await world.publish('late', { query: 'metadata.ttl=500ms' });
    await world.publish('good', { query: 'metadata.ttl=5s' });
    await world.pass('1s');
    expect(batches(world)).toEqual([['good']]);
  });

  test('with wire dapr bulkSubscribe opts in only with enabled', async () => {
    await using plain = await start({
      wire: 'dapr',
      discovery: [bulk({ maxMessagesCount: 1 })],
      answer: () => undefined,
    });
    await plain.publish('x');
    expect(plain.deliveries[0]?.json).not.toHaveProperty('entries');
    await using world = await start({ wire: 'dapr', discovery: [bulk({ enabled: true, maxMessagesCount: 1 })] });
    await world.publish('x');
    expect(world.deliveries[0]?.json['type']).toBe('com.dapr.event.sent.bulk');
  });

  test('enabled false opts out', async () => {
    await using world = await start({ discovery: [bulk({ enabled: false })], answer: () => undefined });
    await world.publish('x');
    expect(world.deliveries[0]?.data).toBe('x');
  });
});

describe('batches', () => {
  test('a batch goes out as soon as it is full', async () => {
    await using world = await start();
    await publishAll(world, 'a', 'b', 'c', 'd', 'e', 'f', 'g');
    expect(batches(world)).toEqual([
      ['a', 'b', 'c'],
      ['d', 'e', 'f'],
    ]);
  });

  test('a batch goes out when its oldest message waited long enough', async () => {
    await using world = await start();
    await world.publish('a');
    await world.pass('600ms');
    await world.publish('b');
    await world.pass('399ms');
    expect(batches(world)).toEqual([]);
    await world.pass('1ms');
    expect(batches(world)).toEqual([['a', 'b']]);
    await world.publish('c');
    await world.pass('999ms');
    expect(batches(world)).toHaveLength(1);
    await world.pass('1ms');
    expect(batches(world)[1]).toEqual(['c']);
  });

  test.each([{}, { maxMessagesCount: 0, maxAwaitDurationMs: 0 }, { maxMessagesCount: -1, maxAwaitDurationMs: -1 }])(
    '%j: 100 messages and 1,000 ms',
    async (options) => {
      await using world = await start({ discovery: [bulk(options)] });
      await publishAll(world, ...Array.from({ length: 150 }, (_, n) => String(n)));
      expect(batches(world).map(({ length }) => length)).toEqual([100]);
      await world.pass('999ms');
      expect(batches(world)).toHaveLength(1);
      await world.pass('1ms');
      expect(batches(world).map(({ length }) => length)).toEqual([100, 50]);
    },
  );

  test('one request for each distinct route', async () => {
    const routes = {
      rules: [
        { match: 'event.data == "a"', path: '/a' },
        { match: 'event.data == "b"', path: '/b' },
      ],
    };
    await using world = await start({ discovery: [{ ...bulk({ maxMessagesCount: 5 }), route: undefined, routes }] });
    await publishAll(world, 'a', 'b', 'a', 'none', 'b');
    expect(world.deliveries.map(({ path, entries }) => [path, entries.map(({ event }) => event['data'])])).toEqual([
      ['/a', ['a', 'a']],
      ['/b', ['b', 'b']],
    ]);
    expect(world.deliveries[0]?.json['id']).not.toBe(world.deliveries[1]?.json['id']);
    expect(world.emitted('messageDropped')).toHaveLength(1);
  });
});

describe.each(WAYS)('bulk delivery outcomes, application via %s', (via) => {
  test('each entry is handled per its own status', async () => {
    await using world = await start({
      via,
      answer: (received, nth) => statuses(received, (data) => (nth === 1 ? data : 'SUCCESS')),
    });
    await publishAll(world, 'SUCCESS', 'RETRY', 'DROP');
    expect(world.emitted('messageDelivered')).toHaveLength(1);
    expect(world.emitted('messageRetrying')).toHaveLength(1);
    expect(world.emitted('messageDropped')).toHaveLength(1);
    await world.pass('1m');
    expect(batches(world)).toEqual([['SUCCESS', 'RETRY', 'DROP'], ['RETRY']]);
    expect(world.emitted('messageDelivered')).toHaveLength(2);
  });

  test.each<[what: string, reply: (received: Received) => Reply]>([
    ['no status in the reply for them', () => ({ body: { statuses: [] } })],
    ['entries without status', (received) => statuses(received, () => undefined)],
    ['empty statuses', (received) => statuses(received, () => '')],
    ['unknown statuses', (received) => statuses(received, () => 'LATER')],
    ['statuses in lower case', (received) => statuses(received, () => 'success')],
    ['statuses that are no strings', (received) => statuses(received, () => 5)],
    ['only unknown ids', () => ({ body: { statuses: [{ entryId: 'nope', status: 'SUCCESS' }] } })],
    ['elements that are no objects', () => ({ body: { statuses: [null, 5, 'x', []] } })],
    ['2xx without a body', () => ({ status: 204 })],
    ['2xx with invalid JSON', () => ({ body: 'OK' })],
    ['2xx without statuses', () => ({ body: { status: 'SUCCESS' } })],
    ['2xx with statuses that are no array', () => ({ body: { statuses: {} } })],
    ['HTTP 500', (received) => ({ ...succeed(received), status: 500 })],
    ['HTTP 400', (received) => ({ ...succeed(received), status: 400 })],
    ['HTTP 302', () => ({ status: 302, headers: { location: '/elsewhere' } })],
  ])('%s: all retried', async (_, reply) => {
    await using world = await start({
      via,
      answer: (received, nth) => (nth === 1 ? reply(received) : succeed(received)),
    });
    await publishAll(world, 'a', 'b', 'c');
    expect(world.emitted('messageRetrying')).toHaveLength(3);
    await world.pass('2s');
    expect(world.emitted('messageDelivered')).toHaveLength(3);
    expect(world.deliveries.every(({ path }) => path === '/orders')).toBe(true);
  });

  test('an entry with no status in the reply is retried, the others are not', async () => {
    await using world = await start({
      via,
      answer: (received, nth) => {
        const { body } = succeed(received) as { body: { statuses: unknown[] } };
        return nth === 1 ? { body: { statuses: body.statuses.slice(1) } } : { body };
      },
    });
    await publishAll(world, 'a', 'b', 'c');
    await world.pass('2s');
    expect(batches(world)).toEqual([['a', 'b', 'c'], ['a']]);
  });

  test.each([
    ['Statuses', 'EntryId', 'Status'],
    ['statuses', 'entryID', 'status'],
    ['STATUSES', 'ENTRYID', 'STATUS'],
  ])('names in another case are understood: %s, %s, %s', async (all, id, status) => {
    await using world = await start({
      via,
      answer: ({ entries }) => ({
        body: { [all]: entries.map(({ entryId }) => ({ [id]: entryId, [status]: 'DROP' })) },
      }),
    });
    await publishAll(world, 'a', 'b', 'c');
    expect(world.emitted('messageDropped')).toHaveLength(3);
    expect(world.emitted('messageRetrying')).toEqual([]);
  });

  test('unknown ids in the reply are ignored', async () => {
    await using world = await start({
      via,
      answer: (received) => {
        const { body } = succeed(received) as { body: { statuses: unknown[] } };
        return { body: { statuses: [{ entryId: 'nope', status: 'RETRY' }, ...body.statuses, { status: 'DROP' }] } };
      },
    });
    await publishAll(world, 'a', 'b', 'c');
    expect(world.emitted('messageDelivered')).toHaveLength(3);
  });

  test('statuses in another order belong to their entries', async () => {
    await using world = await start({
      via,
      answer: (received, nth) => {
        const reply = statuses(received, (data) => (nth === 1 && data === 'a' ? 'RETRY' : 'SUCCESS'));
        (reply.body as { statuses: unknown[] }).statuses.reverse();
        return reply;
      },
    });
    await publishAll(world, 'a', 'b', 'c');
    await world.pass('2s');
    expect(batches(world)).toEqual([['a', 'b', 'c'], ['a']]);
  });

  test('HTTP 404: error logged, all messages dropped', async () => {
    await using world = await start({ via, answer: () => ({ status: 404 }) });
    await publishAll(world, 'a', 'b', 'c');
    await world.pass('1h');
    expect(world.deliveries).toHaveLength(1);
    expect(world.emitted('messageDropped')).toHaveLength(3);
    expect(world.logger.at('error').length).toBeGreaterThan(0);
  });

  test.each<[what: string, reply: (received: Received) => Reply]>([
    ['HTTP 404', () => ({ status: 404 })],
    ['DROP', (received) => statuses(received, () => 'DROP')],
  ])('%s goes to the dead-letter topic', async (_, reply) => {
    await using world = await start({
      via,
      discovery: [bulk({ maxMessagesCount: 2 }, { deadLetterTopic: 'dead' }), dead],
      answer: (received) => (received.path === '/orders' ? reply(received) : undefined),
    });
    await publishAll(world, 'a', 'b');
    expect(world.at('/orders')).toHaveLength(1);
    expect(world.at('/dead').map(({ json }) => [json['data'], json['topic']])).toEqual([
      ['a', 'orders'],
      ['b', 'orders'],
    ]);
  });

  test('entries whose retries are used up go to the dead-letter topic, the others do not', async () => {
    await using world = await start({
      via,
      discovery: [bulk({ maxMessagesCount: 2, maxAwaitDurationMs: 10 }, { deadLetterTopic: 'dead' }), dead],
      answer: (received) =>
        received.path === '/orders' ? statuses(received, (data) => (data === 'bad' ? 'RETRY' : 'SUCCESS')) : undefined,
    });
    await publishAll(world, 'bad', 'good');
    await world.pass('1m');
    expect(batchesAt(world, '/orders')).toEqual([['bad', 'good'], ['bad'], ['bad'], ['bad']]);
    expect(world.at('/dead').map((delivery) => delivery.data)).toEqual(['bad']);
  });
});

function batchesAt(world: World, path: string): unknown[][] {
  return world.at(path).map(({ entries }) => entries.map(({ event }) => event['data']));
}

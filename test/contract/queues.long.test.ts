import { CloudEvent } from 'cloudevents';
import { describe, expect, test } from 'vitest';
import { PLACES, QueueWorld } from '../support/queue-world.ts';
import { startWorld } from '../support/world.ts';

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, number) => number);

describe.each(PLACES)('queues, %s', (place) => {
  test('tell how much waits, is delayed and is being delivered, and since when', async () => {
    await using world = await QueueWorld.make({ place });
    const { held, release } = world.hold();
    const retry = { delay: 60_000 };
    await world.subscribe('orders', { concurrency: 1, group: 'slow' }, () => held);
    await world.subscribe('orders', { retry }, (event) => (event.data === 'again' ? 'RETRY' : 'SUCCESS'));
    await world.publish('orders', 'again', 'b', 'c');
    const oldestAt = Date.parse('2026-01-01T00:00:00Z');
    await expect
      .poll(() => world.pubsub.queues.list({ pubsubName: 'pubsub' }))
      .toMatchObject([
        { ...world.queue('orders', 'shop/slow'), ready: 2, delayed: 0, inFlight: 1, consumers: 1, isCapped: false },
        { ...world.queue('orders'), ready: 0, delayed: 1, inFlight: 0, consumers: 1, isPaused: false, oldestAt },
      ]);
    release();
    await world.rest();
    expect(await world.pubsub.queues.list({ topic: 'orders' })).toMatchObject([
      { ready: 0, inFlight: 0 },
      { delayed: 1 },
    ]);
  });

  test('count to 10,000', async () => {
    await using world = await QueueWorld.make({ place });
    await world.pubsub.queues.addGroup(world.queue('orders'));
    const entries = numbers(5_001).map((number) => ({ entryId: String(number), event: number }));
    await world.pubsub.publishBulk('pubsub', 'orders', entries);
    await world.pubsub.publishBulk('pubsub', 'orders', entries);
    expect(await world.pubsub.queues.list()).toMatchObject([{ ready: 10_000, isCapped: true }]);
  });

  test('are read in pages, forwards and backwards, and nothing is consumed', async () => {
    await using world = await QueueWorld.make({ place });
    await world.pubsub.queues.addGroup(world.queue('orders'));
    await world.publish('orders', ...numbers(7));
    for (const reverse of [false, true]) {
      const read: unknown[] = [];
      let cursor: string | undefined;
      do {
        const options = { limit: 3, reverse, ...(cursor === undefined ? {} : { cursor }) };
        const page = await world.pubsub.queues.messagesPage(world.queue('orders'), options);
        read.push(...page.messages.map(({ message }) => JSON.parse(Buffer.from(message.data).toString()).data));
        cursor = page.cursor;
      } while (cursor !== undefined);
      expect(read).toEqual(reverse ? numbers(7).toReversed() : numbers(7));
    }
    await world.subscribe('orders');
    expect(world.data('orders')).toEqual(numbers(7));
  });

  test('show each message in its state, by which they can be read', async () => {
    await using world = await QueueWorld.make({ place });
    const { held, release } = world.hold();
    const retry = { delay: 60_000 };
    await world.subscribe('orders', { concurrency: 2, retry, timeout: 0 }, (event) =>
      event.data === 'again' ? 'RETRY' : held,
    );
    await world.publish('orders', 'again', 'a', 'b', 'c');
    await expect.poll(() => world.data('orders')).toEqual(['again', 'a', 'b']);
    const states = async (state?: 'ready' | 'delayed' | 'inFlight'): Promise<unknown> => {
      const page = await world.pubsub.queues.messagesPage(world.queue('orders'), state === undefined ? {} : { state });
      return page.messages.map(({ message, state: is, attempts }) => [
        JSON.parse(Buffer.from(message.data).toString()).data,
        is,
        attempts,
      ]);
    };
    await expect.poll(() => states('delayed')).toHaveLength(1);
    expect(await states('ready')).toEqual([['c', 'ready', 0]]);
    expect(await states('delayed')).toEqual([['again', 'delayed', 1]]);
    expect(((await states('inFlight')) as unknown[][]).map(([data, state]) => [data, state])).toEqual([
      ['a', 'inFlight'],
      ['b', 'inFlight'],
    ]);
    expect(await states()).toHaveLength(4);
    release();
  });

  test('are purged of all that is not being delivered', async () => {
    await using world = await QueueWorld.make({ place });
    const { held, release } = world.hold();
    await world.subscribe('orders', { concurrency: 1 }, () => held);
    await world.publish('orders', ...numbers(5));
    await expect.poll(() => world.data('orders')).toEqual([0]);
    expect(await world.pubsub.queues.purge(world.queue('orders'))).toBe(4);
    release();
    await world.publish('orders', 'after');
    expect(world.data('orders')).toEqual([0, 'after']);
    expect(await world.waiting('orders')).toEqual([]);
  });

  test('are paused on and after a restart, until they are resumed', async () => {
    await using world = await QueueWorld.make({ place });
    await world.subscribe('orders');
    await world.pubsub.queues.pause(world.queue('orders'));
    await world.publish('orders', 1);
    if (place !== 'memory') await world.restart();
    if (place !== 'memory') await world.subscribe('orders');
    await world.publish('orders', 2);
    await world.pass('1m');
    expect(world.data('orders')).toEqual([]);
    expect(await world.pubsub.queues.list()).toMatchObject([{ isPaused: true, ready: 2 }]);
    await world.pubsub.queues.resume(world.queue('orders'));
    await world.pass('1m');
    expect(world.data('orders')).toEqual([1, 2]);
    expect(await world.pubsub.queues.list()).toMatchObject([{ isPaused: false, ready: 0 }]);
  });

  test('collect for a group that was added, and vanish with one that was removed', async () => {
    await using world = await QueueWorld.make({ place });
    const queue = world.queue('orders', 'audit');
    expect([await world.pubsub.queues.addGroup(queue), await world.pubsub.queues.addGroup(queue)]).toEqual([
      true,
      false,
    ]);
    await world.publish('orders', 1);
    expect(await world.waiting('orders', 'audit')).toEqual([1]);
    expect([await world.pubsub.queues.removeGroup(queue), await world.pubsub.queues.removeGroup(queue)]).toEqual([
      true,
      false,
    ]);
    await world.publish('orders', 2);
    expect(await world.pubsub.queues.list()).toEqual([]);
    expect(await world.pubsub.queues.messagesPage(queue)).toEqual({ messages: [] });
    await world.pubsub.queues.addGroup(queue);
    await world.publish('orders', 3);
    expect(await world.waiting('orders', 'audit')).toEqual([3]);
  });

  test('are not removed while somebody subscribes', async () => {
    await using world = await QueueWorld.make({ place });
    await world.subscribe('orders');
    await expect(world.pubsub.queues.removeGroup(world.queue('orders'))).rejects.toMatchObject({
      code: 'ERR_QUEUE_BUSY',
      status: 409,
    });
    await world.publish('orders', 1);
    expect(world.data('orders')).toEqual([1]);
  });

  test('that are not there have nothing; wrong options are named', async () => {
    await using world = await QueueWorld.make({ place });
    await world.pubsub.queues.addGroup(world.queue('orders'));
    const wrong = world.queue('orders', 'shap');
    const { queues } = world.pubsub;
    expect([
      await queues.messagesPage(wrong),
      await queues.discard(wrong, 'all'),
      await queues.redeliver(wrong, 'all'),
      await queues.pause(wrong),
    ]).toEqual([{ messages: [] }, 0, 0, false]);
    await expect(world.pubsub.queues.list({ pubsubName: 'pubsup' })).rejects.toMatchObject({
      code: 'ERR_PUBSUB_NOT_FOUND',
    });
    await expect(world.pubsub.queues.messagesPage(world.queue('orders'), { limit: 0 })).rejects.toThrow(
      /limit in options of messages is 0/,
    );
    const asText = { limit: '5' as unknown as number };
    await expect(world.pubsub.queues.messagesPage(world.queue('orders'), asText)).rejects.toThrow(
      /limit in options of messages is "5": expected/,
    );
    await expect(world.pubsub.queues.messagesPage(world.queue('orders'), { cursor: 'x' })).rejects.toThrow();
  });
});

describe.each(PLACES)('dead letters, %s', (place) => {
  test('are redelivered to the group that failed and to no other, with a first attempt', async () => {
    await using world = await QueueWorld.make({ place });
    await world.pubsub.queues.addGroup(world.queue('orders', 'other'));
    await world.deadLetters('one', 'two');
    await world.pubsub.queues.purge(world.queue('orders', 'other'));
    await world.restart();
    expect(await world.pubsub.queues.redeliver(world.queue('dead'), 'all')).toBe(2);
    await world.restart();
    await world.subscribe('orders');
    expect(world.seen.get('orders')).toEqual([
      { data: 'one', attempt: 1, deadLetter: undefined },
      { data: 'two', attempt: 1, deadLetter: undefined },
    ]);
    expect(await world.waiting('dead')).toEqual([]);
    expect(await world.waiting('orders', 'other')).toEqual([]);
  });

  test('reach a subscription that is there at once', async () => {
    await using world = await QueueWorld.make({ place });
    await world.deadLetters('one');
    await world.subscribe('orders');
    await world.pubsub.queues.redeliver(world.queue('dead'), 'all');
    await world.clock.settled();
    expect(world.data('orders')).toEqual(['one']);
  });

  test('are redelivered or discarded by their keys', async () => {
    await using world = await QueueWorld.make({ place });
    await world.deadLetters('one', 'two', 'three');
    const { messages } = await world.pubsub.queues.messagesPage(world.queue('dead'));
    const [one = '', two = ''] = messages.map(({ key }) => key);
    expect(await world.pubsub.queues.redeliver(world.queue('dead'), [two, 'none', '999999'])).toBe(1);
    expect(await world.pubsub.queues.discard(world.queue('dead'), [one, two])).toBe(1);
    expect(await world.waiting('dead')).toEqual(['three']);
    expect(await world.waiting('orders')).toEqual(['two']);
  });

  test('are chosen by their origin', async () => {
    await using world = await QueueWorld.make({ place });
    await world.deadLetters('one');
    const end = await world.subscribe(
      'bills',
      { deadLetterTopic: 'dead', group: 'own', retry: { maxRetries: 0 } },
      () => {
        throw new Error('no such customer');
      },
    );
    await world.pass('1h');
    await world.publish('bills', 'two');
    await end();
    const dead = world.queue('dead');
    expect(await world.pubsub.queues.redeliver(dead, { topic: 'orders', group: 'shop/own' })).toBe(0);
    expect(
      await world.pubsub.queues.redeliver(dead, { since: Date.parse('2026-01-01T00:30:00Z'), topic: 'orders' }),
    ).toBe(0);
    expect(await world.pubsub.queues.redeliver(dead, { reason: 'such', group: 'shop/own' })).toBe(1);
    expect(await world.waiting('bills', 'shop/own')).toEqual(['two']);
    expect(await world.pubsub.queues.discard(dead, { until: new Date('2026-01-01T00:30:00Z') })).toBe(1);
    expect(await world.waiting('dead')).toEqual([]);
  });

  test('are redelivered with other data; the rest of the event stays', async () => {
    await using world = await QueueWorld.make({ place });
    await world.deadLetters({ id: 1, price: '1O' });
    const [letter] = (await world.pubsub.queues.messagesPage(world.queue('dead'))).messages;
    const keys = [letter?.key ?? ''];
    await expect(world.pubsub.queues.redeliver(world.queue('dead'), 'all', { data: 1 })).rejects.toThrow(
      /expected one key/,
    );
    await expect(
      world.pubsub.queues.redeliver(world.queue('dead'), keys, { data: { price: Number.NaN } }),
    ).rejects.toThrow(/the data has NaN at price/);
    expect(await world.pubsub.queues.redeliver(world.queue('dead'), keys, { data: { id: 1, price: 10 } })).toBe(1);
    const [again] = (await world.pubsub.queues.messagesPage(world.queue('orders'))).messages;
    const [before, after] = [letter, again].map((one) => JSON.parse(Buffer.from(one?.message.data ?? []).toString()));
    expect(after).toEqual({ ...before, data: { id: 1, price: 10 } });
  });

  test('go to another queue when that is wanted, and nowhere when it does not exist', async () => {
    await using world = await QueueWorld.make({ place });
    await world.deadLetters('one');
    const dead = world.queue('dead');
    await expect(
      world.pubsub.queues.redeliver(dead, 'all', { to: { topic: 'repair', group: 'shop' } }),
    ).rejects.toMatchObject({
      code: 'ERR_QUEUE_NOT_FOUND',
    });
    await expect(world.pubsub.queues.redeliver(dead, 'all', { to: dead })).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
    });
    await world.pubsub.queues.removeGroup(world.queue('orders'));
    await expect(world.pubsub.queues.redeliver(dead, 'all')).rejects.toMatchObject({ code: 'ERR_QUEUE_NOT_FOUND' });
    expect(await world.waiting('dead')).toEqual(['one']);
    await world.pubsub.queues.addGroup(world.queue('repair'));
    expect(await world.pubsub.queues.redeliver(dead, 'all', { to: { topic: 'repair', group: 'shop' } })).toBe(1);
    expect(await world.waiting('repair')).toEqual(['one']);
  });

  test('are left alone while a function processes them', async () => {
    await using world = await QueueWorld.make({ place });
    await world.deadLetters('one', 'two', 'three');
    const { held, release } = world.hold();
    await world.subscribe('dead', { concurrency: 1 }, () => held);
    await expect.poll(() => world.data('dead')).toEqual(['one']);
    expect(await world.pubsub.queues.redeliver(world.queue('dead'), 'all')).toBe(2);
    release();
    await world.pass('1m');
    expect(world.data('dead')).toEqual(['one']);
    expect(await world.waiting('orders')).toEqual(['two', 'three']);
  });

  test('are moved by the thousand', async () => {
    await using world = await QueueWorld.make({ place });
    await world.deadLetters(...numbers(1_200));
    expect(await world.pubsub.queues.redeliver(world.queue('dead'), 'all')).toBe(1_200);
    await world.subscribe('orders', { concurrency: 1 });
    expect(world.data('orders')).toEqual(numbers(1_200));
    expect(await world.waiting('dead')).toEqual([]);
  });

  test('that fail again are dead letters again', async () => {
    await using world = await QueueWorld.make({ place });
    await world.deadLetters('one');
    await world.pubsub.queues.redeliver(world.queue('dead'), 'all');
    await world.deadLetters();
    expect(await world.waiting('dead')).toEqual(['one']);
  });
});

test('an event is explained: the rules of every subscription, and the route that follows', async () => {
  await using world = await QueueWorld.make({ place: 'memory' });
  await world.subscribe('orders', { group: 'audit' });
  const explained = world.pubsub.explain('pubsub', 'orders', { price: 5 });
  expect(explained.subscriptions).toMatchObject([
    {
      ...world.queue('orders', 'shop/audit'),
      type: 'STREAMING',
      state: 'active',
      rules: [{ match: '', path: '/', holds: true }],
      path: '/',
    },
  ]);
  expect(world.pubsub.explain('pubsub', 'bills', 1)).toEqual({ subscriptions: [] });
});

test('an explanation tells which rule holds, which could not be evaluated, and which were not needed', async () => {
  const rules = [
    { match: 'event.data.price.currency == "EUR"', path: '/euro' },
    { match: 'event.type == "com.shop.order"', path: '/order' },
    { match: 'event.data.price > 100', path: '/dear' },
  ];
  const discovery = [
    { pubsubname: 'pubsub', topic: 'orders', routes: { rules, default: '/other' }, deadLetterTopic: 'dead' },
    { pubsubname: 'pubsub', topic: 'orders', group: 'strict', routes: { rules: rules.slice(2) } },
    { pubsubname: 'pubsub', topic: 'orders', group: 'wrong', routes: { rules: [{ match: 'event.', path: '/x' }] } },
  ];
  await using world = await startWorld({ discovery });
  const order = { specversion: '1.0', id: '1', source: 'test', type: 'com.shop.order', data: { price: 5 } };
  const { subscriptions } = world.sidecar.pubsub.explain('pubsub', 'orders', new CloudEvent(order));
  expect(subscriptions).toMatchObject([
    {
      group: 'shop',
      state: 'active',
      type: 'PROGRAMMATIC',
      path: '/order',
      deadLetterTopic: 'dead',
      rules: [
        { path: '/euro', holds: false, error: expect.any(String) },
        { path: '/order', holds: true },
        { path: '/dear', holds: undefined },
        { path: '/other', holds: undefined },
      ],
    },
    { group: 'shop/strict', rules: [{ path: '/dear', holds: false }] },
    { group: 'shop/wrong', state: 'refused', problem: expect.stringContaining('event.') },
  ]);
  expect(subscriptions[1]).not.toHaveProperty('path');
  expect(world.deliveries).toEqual([]);
  await world.sidecar.pubsub.publish('pubsub', 'orders', new CloudEvent(order));
  await world.pass('1s');
  expect(world.deliveries.map(({ path }) => path)).toEqual(['/order']);
});

test('a member named constructor does not hide the others from an explanation', async () => {
  const rules = [{ match: 'event.data.amount == 5', path: '/five' }];
  const discovery = [{ pubsubname: 'pubsub', topic: 'orders', routes: { rules, default: '/other' } }];
  await using world = await startWorld({ discovery });
  const data = { amount: 5, constructor: 'Acme' };
  const { subscriptions } = world.sidecar.pubsub.explain('pubsub', 'orders', data);
  expect(subscriptions).toMatchObject([{ path: '/five', rules: [{ path: '/five', holds: true }, { path: '/other' }] }]);
  await world.publish(data);
  expect(world.deliveries.map(({ path }) => path)).toEqual(['/five']);
});

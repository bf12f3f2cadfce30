import { describe, expect, test } from 'vitest';
import { durablePubSub, memoryPubSub } from '../../src/index.ts';
import { PLACES, QueueWorld } from '../support/queue-world.ts';

describe.each(PLACES)('groups that collect messages for nobody, %s', (place) => {
  test('are in metadata after ten minutes, until they are removed or have a subscription', async () => {
    await using world = await QueueWorld.make({ place });
    const end = await world.subscribe('orders', { group: 'old' });
    await (await world.subscribe('orders', { group: 'empty' }))();
    await end();
    await world.publish('orders', 1, 2);
    await world.pubsub.queues.purge(world.queue('orders', 'shop/empty'));
    await world.pass('9m');
    expect(world.sidecar.metadata.get().unhandled).toBeUndefined();
    await world.pass('2m');
    const groups = [{ pubsubname: 'pubsub', topic: 'orders', group: 'shop/old', count: 2 }];
    expect(world.sidecar.metadata.get().unhandled).toEqual({ groups });
    await world.pass('10m');
    const warnings = world.logger.lines.filter(({ message }) => message.includes('collected messages for ten minutes'));
    expect(warnings).toHaveLength(place === 'memory' ? 0 : 1);
    await world.pubsub.queues.removeGroup(world.queue('orders', 'shop/old'));
    await world.pass('2m');
    expect(world.sidecar.metadata.get().unhandled).toBeUndefined();
  });

  test('are not those that keep dead letters', async () => {
    await using world = await QueueWorld.make({ place });
    await world.deadLetters('one');
    await world.pass('1h');
    expect(world.sidecar.metadata.get().unhandled).toBeUndefined();
  });
});

describe.each(PLACES)('kept dead letters, %s', (place) => {
  test('are the newest ones up to the limit', async () => {
    await using world = await QueueWorld.make({ place, component: { deadLetterRetention: { maxMessages: 3 } } });
    await world.deadLetters(1, 2, 3, 4, 5);
    await world.pass('2m');
    expect(await world.waiting('dead')).toEqual([3, 4, 5]);
    expect(world.logger.lines.filter(({ message }) => message.includes('too many'))).not.toEqual([]);
  });

  test('are removed when they are too old', async () => {
    await using world = await QueueWorld.make({ place, component: { deadLetterRetention: { maxAge: 3_600_000 } } });
    await world.deadLetters(1, 2);
    await world.pass('50m');
    expect(await world.waiting('dead')).toEqual([1, 2]);
    await world.deadLetters(3);
    await world.pass('15m');
    await world.deadLetters(4);
    expect(await world.waiting('dead')).toEqual([3, 4]);
  });

  test('stay in the group of a subscriber', async () => {
    await using world = await QueueWorld.make({ place, component: { deadLetterRetention: { maxMessages: 1 } } });
    await world.pubsub.queues.addGroup(world.queue('dead'));
    await world.deadLetters(1, 2, 3);
    await world.pass('5m');
    expect(await world.waiting('dead')).toEqual([1, 2, 3]);
  });
});

describe.each(['durable', 'durable, on disk'] as const)('a full queue, %s', (place) => {
  const component = { maxQueueMessages: 3 };

  test('refuses publishes and says why, for all groups, until there is room', async () => {
    await using world = await QueueWorld.make({ place, component });
    await world.pubsub.queues.addGroup(world.queue('orders', 'shop/old'));
    await world.subscribe('orders');
    await world.publish('orders', 1, 2, 3);
    await expect(world.publish('orders', 4)).rejects.toMatchObject({
      code: 'ERR_PUBSUB_PUBLISH_MESSAGE',
      message: expect.stringMatching(/queue of group "shop\/old" is full, 3 messages wait: nobody takes them here/),
    });
    expect(world.data('orders')).toEqual([1, 2, 3]);
    await world.publish('other', 'elsewhere');
    await world.pubsub.queues.discard(world.queue('orders', 'shop/old'), 'all');
    await world.pass('1s');
    await world.publish('orders', 5);
    expect(world.data('orders')).toEqual([1, 2, 3, 5]);
  });

  test('takes as many of a bulk as there is room for', async () => {
    await using world = await QueueWorld.make({ place, component });
    await world.pubsub.queues.addGroup(world.queue('orders'));
    const entries = [1, 2, 3, 4, 5].map((event) => ({ entryId: String(event), event }));
    await expect(world.pubsub.publishBulk('pubsub', 'orders', entries)).rejects.toMatchObject({
      failedEntries: [{ entryId: '4' }, { entryId: '5' }],
    });
    expect(await world.waiting('orders')).toEqual([1, 2, 3]);
  });

  test('does not stand in the way of what is processed, over a restart', async () => {
    await using world = await QueueWorld.make({ place, component });
    await world.subscribe('orders');
    for (let number = 0; number < 20; number++) await world.publish('orders', number);
    await world.restart();
    await world.subscribe('orders');
    for (let number = 20; number < 30; number++) await world.publish('orders', number);
    expect(world.data('orders')).toHaveLength(30);
  });

  test('takes dead letters all the same: they would be lost', async () => {
    await using world = await QueueWorld.make({ place, component });
    for (const part of [
      [1, 2],
      [3, 4, 5],
    ])
      await world.deadLetters(...part);
    expect(await world.waiting('dead')).toEqual([1, 2, 3, 4, 5]);
  });
});

describe('a full component, memory', () => {
  test('keeps dead letters, new and old ones, and refuses publishes when nothing else can make room', async () => {
    await using world = await QueueWorld.make({ place: 'memory', component: { maxMessages: 4 } });
    await world.deadLetters(1);
    await (await world.subscribe('other', { group: 'old' }))();
    await world.publish('other', 'a', 'b');
    await world.deadLetters(2, 3, 4);
    expect(await world.waiting('dead')).toEqual([1, 2, 3, 4]);
    await world.subscribe('orders');
    await expect(world.publish('orders', 5)).rejects.toThrow(/is full: 4 messages of 4 .* 4 dead letters that nobody/);
    await world.subscribe('dead');
    expect(world.data('dead')).toEqual([1, 2, 3, 4]);
  });

  test('takes the dead letter of an ordered subscription, which could not go on without', async () => {
    await using world = await QueueWorld.make({ place: 'memory', component: { maxMessages: 2 } });
    await world.subscribe('dead');
    await world.pubsub.queues.addGroup(world.queue('orders'));
    await world.publish('orders', 'bad', 'good');
    await world.subscribe('orders', { concurrency: 1, deadLetterTopic: 'dead' }, ({ data }) =>
      data === 'bad' ? 'DROP' : 'SUCCESS',
    );
    expect([world.data('orders'), world.data('dead')]).toEqual([['bad', 'good'], ['bad']]);
  });

  test('tells of a message whose topic has no group left, since its only one was dropped', async () => {
    await using world = await QueueWorld.make({ place: 'memory', component: { maxMessages: 2 } });
    await (await world.subscribe('orders'))();
    await world.publish('orders', 1, 2, 3);
    expect(world.sidecar.metadata.get().unhandled).toMatchObject({ messages: [{ topic: 'orders', count: 1 }] });
  });
});

test('wrong limits are errors that name the option', () => {
  expect(() => durablePubSub('p', { maxQueueMessages: 0 })).toThrow(
    'maxQueueMessages in options of durablePubSub "p" is 0',
  );
  expect(() => durablePubSub('p', { deadLetterRetention: { maxAge: -1 } })).toThrow(
    'maxAge in deadLetterRetention in options of durablePubSub "p" is -1',
  );
  expect(() => memoryPubSub('p', { deadLetterRetention: { maxMesages: 1 } as object })).toThrow(/maxMessages/);
});

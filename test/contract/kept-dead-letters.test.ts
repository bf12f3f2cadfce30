import { describe, expect, test } from 'vitest';
import { PLACES, QueueWorld } from '../support/queue-world.ts';

const ORIGIN = { topic: 'orders', group: 'shop', reason: 'declined', attempts: 1 };

describe.each(PLACES)('dead letters that nobody has subscribed to, %s', (place) => {
  test('are kept with their origin, over a restart, and the log says so once', async () => {
    await using world = await QueueWorld.make({ place });
    await world.deadLetters('one', 'two');
    await world.restart();
    const [queue] = await world.pubsub.queues.list({ topic: 'dead' });
    expect(queue).toMatchObject({ ...world.queue('dead'), ready: 2, consumers: 0, keepsDeadLetters: true });
    const { messages } = await world.pubsub.queues.messagesPage(world.queue('dead'));
    expect(messages.map(({ message }) => message.deadLetter)).toEqual(
      [1, 2].map(() => expect.objectContaining(ORIGIN)),
    );
    expect(world.logger.lines.filter(({ message }) => message.includes('it is kept'))).toHaveLength(1);
    expect(world.sidecar.metadata.get().unhandled).toBeUndefined();
  });

  test.each(['', 'audit'])(
    'reach the subscription that comes later, in group "%s", in order and once',
    async (group) => {
      await using world = await QueueWorld.make({ place });
      await world.deadLetters('one', 'two');
      await world.restart();
      await world.subscribe('dead', group === '' ? {} : { group });
      await world.publish('dead', 'later');
      await world.deadLetters('three');
      await world.pass('1m');
      expect(await world.pubsub.queues.list({ topic: 'dead' })).toMatchObject([
        { group: group === '' ? 'shop' : `shop/${group}`, ready: 0, keepsDeadLetters: false },
      ]);
    },
  );

  test('are delivered with what comes after them, each once', async () => {
    await using world = await QueueWorld.make({ place });
    await world.deadLetters('one', 'two');
    await world.subscribe('dead', { group: 'audit', concurrency: 1 });
    await world.publish('dead', 'three');
    await world.restart();
    await world.subscribe('dead', { group: 'audit', concurrency: 1 });
    await world.publish('dead', 'four');
    expect(world.data('dead')).toEqual(['one', 'two', 'three', 'four']);
  });

  test('go to a second group no more: it begins with its subscription', async () => {
    await using world = await QueueWorld.make({ place });
    await world.deadLetters('one');
    await world.subscribe('dead', { group: 'first' });
    expect(world.data('dead')).toEqual(['one']);
    await world.subscribe('dead', { group: 'second' });
    await world.publish('dead', 'two');
    expect(world.data('dead')).toEqual(['one', 'two', 'two']);
  });

  test('are not kept once more when the topic has a group', async () => {
    await using world = await QueueWorld.make({ place });
    await world.pubsub.queues.addGroup(world.queue('dead', 'audit'));
    await world.deadLetters('one');
    expect(await world.pubsub.queues.list({ topic: 'dead' })).toMatchObject([{ group: 'audit', ready: 1 }]);
  });

  test('an ordinary message on the topic is lost while it has no group, as on any topic', async () => {
    await using world = await QueueWorld.make({ place });
    await world.publish('dead', 'ordinary');
    await world.deadLetters('one');
    expect(await world.waiting('dead')).toEqual(['one']);
  });
});

import { describe, expect, test } from 'vitest';
import type { DeadLetter, DeadLettersFilter } from '../../src/index.ts';
import { PLACES, QueueWorld } from '../support/queue-world.ts';

async function lettersOf(world: QueueWorld, filter?: DeadLettersFilter): Promise<DeadLetter[]> {
  const letters: DeadLetter[] = [];
  for await (const letter of world.pubsub.deadLetters(filter)) letters.push(letter);
  return letters;
}

async function dataOf(world: QueueWorld, filter?: DeadLettersFilter): Promise<readonly unknown[]> {
  return (await lettersOf(world, filter)).map(({ data }) => data);
}

describe.each(PLACES)('dead letters in code, %s', (place) => {
  test('are none, and nothing is changed, before there are some', async () => {
    await using world = await QueueWorld.make({ place });
    expect(await lettersOf(world)).toEqual([]);
    expect([await world.pubsub.redeliverAll(), await world.pubsub.discardAll()]).toEqual([0, 0]);
  });

  test('come with event, origin and reason, and no group is needed', async () => {
    await using world = await QueueWorld.make({ place });
    await world.deadLetters({ id: 1 });
    const [letter, ...others] = await lettersOf(world);
    expect(others).toEqual([]);
    expect(letter).toMatchObject({
      queue: world.queue('dead'),
      ...{ topic: 'orders', group: 'shop', reason: 'declined', attempts: 1, deadAt: Date.parse('2026-01-01') },
      event: { specversion: '1.0', source: 'shop', topic: 'orders', data: { id: 1 } },
      data: { id: 1 },
    });
    expect(letter?.event?.id).toBe(letter?.message.id);
  });

  test('are found by topic, group, reason, time, component and dead-letter topic', async () => {
    await using world = await QueueWorld.make({ place });
    await world.deadLetters('old');
    await world.pass('1h');
    await world.deadLetters('new');
    const noon = new Date('2026-01-01T00:30:00Z');
    const each = async (filter: DeadLettersFilter) => dataOf(world, filter);
    expect(await each({ topic: 'orders', group: 'shop', reason: 'decl' })).toEqual(['old', 'new']);
    expect(await each({ pubsubName: 'pubsub', deadLetterTopic: 'dead' })).toEqual(['old', 'new']);
    expect([await each({ since: noon }), await each({ until: noon })]).toEqual([['new'], ['old']]);
    for (const other of [{ topic: 'x' }, { group: 'x' }, { reason: 'x' }, { deadLetterTopic: 'x' }])
      expect(await each(other)).toEqual([]);
    await expect(each({ pubsubName: 'x' })).rejects.toMatchObject({ code: 'ERR_PUBSUB_NOT_FOUND' });
    await expect(each({ until: 'soon' })).rejects.toThrow(/until/);
  });

  test('are listed over many pages', async () => {
    await using world = await QueueWorld.make({ place });
    const data = Array.from({ length: 230 }, (_, index) => index);
    await world.deadLetters(...data);
    expect(await dataOf(world)).toEqual(data);
  });

  test('are redelivered one by one or all, and discarded', async () => {
    await using world = await QueueWorld.make({ place });
    await world.deadLetters('a', 'b', 'c', 'd');
    const [first, second] = await lettersOf(world);
    expect([await first?.redeliver({ data: 'mended' }), await first?.redeliver()]).toEqual([true, false]);
    expect([await second?.discard(), await second?.discard()]).toEqual([true, false]);
    expect(await world.pubsub.redeliverAll({ reason: 'another' })).toBe(0);
    expect(await world.pubsub.redeliverAll({ reason: 'declined' })).toBe(2);
    expect(await world.waiting('orders')).toEqual(['mended', 'c', 'd']);
    await world.deadLetters('e');
    expect(await world.pubsub.discardAll()).toBe(4);
    expect(await lettersOf(world)).toEqual([]);
  });

  test('a queue that is not there is empty, and has nothing to change', async () => {
    await using world = await QueueWorld.make({ place });
    const none = world.queue('nothing');
    const { queues } = world.pubsub;
    const messages: unknown[] = [];
    for await (const entry of queues.messages(none)) messages.push(entry);
    expect([messages, await queues.messagesPage(none), await queues.message(none, '1')]).toEqual([
      [],
      { messages: [] },
      undefined,
    ]);
    expect([await queues.redeliver(none, 'all'), await queues.discard(none, 'all'), await queues.purge(none)]).toEqual([
      ...[0, 0, 0],
    ]);
    expect([await queues.pause(none), await queues.resume(none), await queues.removeGroup(none)]).toEqual([
      ...[false, false, false],
    ]);
    await queues.addGroup(none);
    expect([await queues.pause(none), await queues.resume(none)]).toEqual([true, true]);
  });
});

test('of a raw payload are its bytes', async () => {
  await using world = await QueueWorld.make({ place: 'memory' });
  const options = { deadLetterTopic: 'dead', retry: { maxRetries: 0 }, rawPayload: true };
  await world.subscribe('orders', options, () => {
    throw new Error('declined');
  });
  await world.pubsub.publish('pubsub', 'orders', Buffer.from('raw'), { metadata: { rawPayload: 'true' } });
  await world.rest();
  const [letter] = await lettersOf(world);
  expect([letter?.event, String(letter?.data), letter?.reason]).toEqual([undefined, 'raw', 'declined']);
});

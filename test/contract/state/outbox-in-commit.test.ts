import { describe, expect, test } from 'vitest';
import { embeddedState } from '../../../src/components/embedded/index.ts';
import { memoryState } from '../../../src/index.ts';
import { temporaryDirectory } from '../../support/embedded-store.ts';
import { OutboxWorld, sameCommitCases, WatchedState } from '../../support/outbox-world.ts';
import { TestSidecar } from '../../support/sidecar.ts';

describe('an outbox and a durable pub/sub on one state', () => {
  describe('in memory', () => sameCommitCases(() => memoryState()));
  describe('in a directory', () => sameCommitCases(() => embeddedState({ path: temporaryDirectory() })));

  test('also when the store is given as what the sidecar uses', async () => {
    const state = new WatchedState(memoryState());
    await using world = await OutboxWorld.start({ state, store: { store: state } });
    await world.transact({ a: 1 });
    await world.expect(1);
    expect(state.takeCommits().filter((parts) => parts.includes('kv'))).toEqual([['kv', 'pubsub']]);
  });

  test('tell of each event as of a publish', async () => {
    await using world = await OutboxWorld.start({ state: memoryState() });
    await world.transact({ a: 1, b: 2 });
    await world.expect(1, 2);
    const of = { pubsubName: 'pubsub', topic: 'placed' };
    const published = [expect.objectContaining(of), expect.objectContaining(of)];
    expect(world.emitted('messagePublished')).toEqual(published);
    expect(new Set(world.emitted('messagePublished').map(({ messageId }) => messageId)).size).toBe(2);
    await expect(world.transact({ a: 1 }, '7')).rejects.toThrow();
    expect(world.emitted('messagePublished')).toEqual(published);
  });
});

describe('events that cannot be in the commit of the transaction are left in the outbox', () => {
  test('when the values are in another store', async () => {
    const state = new WatchedState(memoryState());
    const values = new WatchedState(memoryState());
    await using world = await OutboxWorld.start({ state, store: { store: values } });
    await world.transact({ a: 1 });
    await world.expect(1);
    expect(values.takeCommits()[0]).toEqual(['kv', 'kv-outbox']);
    expect(state.takeCommits()).toContainEqual(['pubsub']);
  });

  test('when the queue of a group is full; later events do not overtake them', async () => {
    await using world = await OutboxWorld.start({ state: memoryState(), pubsub: { maxQueueMessages: 2 } });
    const queue = { pubsubName: 'pubsub', topic: 'placed', group: 'shop' };
    await world.sidecar.pubsub.queues.pause(queue);
    await world.transact({ a: 1, b: 2, c: 3 });
    await world.clock.settled();
    await world.sidecar.pubsub.queues.resume(queue);
    await world.expect(1, 2);
    // There is room again, and the event that waits is tried again later.
    await world.pass('300ms');
    await world.transact({ d: 4 });
    await world.expect(1, 2);
    await world.pass('1s');
    await world.expect(1, 2, 3, 4);
  });

  test('what a former process has left comes before new events', async () => {
    const state = new WatchedState(memoryState());
    await using keeper = await new TestSidecar({ appId: 'keeper', state }).start();
    const queue = { pubsubName: 'pubsub', topic: 'placed', group: 'shop' };
    const former = await OutboxWorld.start({ state, clock: keeper.clock, pubsub: { maxQueueMessages: 1 } });
    await former.sidecar.pubsub.queues.pause(queue);
    await former.transact({ a: 1, b: 2 });
    await former.clock.settled();
    await former.sidecar.pubsub.queues.resume(queue);
    await former.expect(1);
    await former.stop();
    await keeper.pass('1m');
    const world = new OutboxWorld({ state, clock: keeper.clock });
    await using _ = world;
    await world.sidecar.start();
    await world.transact({ c: 3 });
    await world.subscribe();
    await world.expect(2, 3);
  });

  test('until those before them are published; then they are in the commit again', async () => {
    const state = new WatchedState(memoryState());
    await using world = await OutboxWorld.start({ state, pubsub: { maxQueueMessages: 2 } });
    await world.transact({ a: 1, b: 2, c: 3 });
    await world.pass('2s');
    await world.expect(1, 2, 3);
    state.takeCommits();
    await world.transact({ d: 4 });
    await world.expect(1, 2, 3, 4);
    expect(state.takeCommits()[0]).toEqual(['kv', 'pubsub']);
  });
});

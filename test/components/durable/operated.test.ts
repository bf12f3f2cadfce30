/** What operators do while messages are on their way. */
import { expect, test } from 'vitest';
import { Layout } from '../../../src/components/durable/layout.ts';
import { record } from '../../../src/components/durable/records.ts';
import { durablePubSub, Sidecar } from '../../../src/index.ts';
import { StateError } from '../../../src/state/errors.ts';
import { Alarm } from '../../../src/util/alarm.ts';
import { KeptStore } from '../../support/kept-store.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { QueueWorld } from '../../support/queue-world.ts';
import { SteppedClock } from '../../support/stepped-clock.ts';
import { startWorld } from '../../support/world.ts';

/** An ordered subscription whose first message fails and waits for its retry. */
async function blockedQueue(): Promise<QueueWorld> {
  const world = await QueueWorld.make({ place: 'durable' });
  const retry = { maxRetries: 100, delay: 60_000 };
  await world.subscribe('orders', { concurrency: 1, retry }, ({ data }) => (data === 'poison' ? 'RETRY' : 'SUCCESS'));
  await world.publish('orders', 'poison', 'good');
  return world;
}

test('a message that blocks an ordered queue is gone when it is discarded, and the next one comes', async () => {
  await using world = await blockedQueue();
  const { messages } = await world.pubsub.queues.messagesPage(world.queue('orders'));
  expect(await world.pubsub.queues.discard(world.queue('orders'), [messages[0]?.key ?? ''])).toBe(1);
  await world.pass('10m');
  expect(world.data('orders')).toEqual(['poison', 'good']);
  expect(await world.waiting('orders')).toEqual([]);
});

test('a message that blocks an ordered queue is in the other queue only when it is redelivered there', async () => {
  await using world = await blockedQueue();
  await world.pubsub.queues.addGroup(world.queue('aside'));
  const { messages } = await world.pubsub.queues.messagesPage(world.queue('orders'));
  const key = messages[0]?.key ?? '';
  expect(await world.pubsub.queues.redeliver(world.queue('orders'), [key], { to: world.queue('aside') })).toBe(1);
  await world.pass('10m');
  expect(world.data('orders')).toEqual(['poison', 'good']);
  expect([await world.waiting('orders'), await world.waiting('aside')]).toEqual([[], ['poison']]);
});

test('messages that are larger together than one commit can be redelivered by their keys', async () => {
  await using world = await QueueWorld.make({ place: 'durable' });
  for (const topic of ['orders', 'aside']) await world.pubsub.queues.addGroup(world.queue(topic));
  const large = 'x'.repeat(8_000_000);
  await world.publish('orders', ...Array.from({ length: 9 }, () => large));
  const keys = (await world.pubsub.queues.messagesPage(world.queue('orders'))).messages.map(({ key }) => key);
  expect(await world.pubsub.queues.redeliver(world.queue('orders'), keys, { to: world.queue('aside') })).toBe(9);
  const queues = await world.pubsub.queues.list();
  expect(new Map(queues.map(({ topic, ready }) => [topic, ready]))).toEqual(
    new Map([
      ['orders', 0],
      ['aside', 9],
    ]),
  );
});

test('a group that is removed while somebody joins it is there afterwards, also for the next process', async () => {
  await using world = await QueueWorld.make({ place: 'durable, on disk' });
  const queue = world.queue('orders', 'shop/audit');
  await (await world.subscribe('orders', { group: 'audit' }))();
  await Promise.all([world.subscribe('orders', { group: 'audit' }), world.pubsub.queues.removeGroup(queue)]);
  expect((await world.pubsub.queues.list()).map(({ group }) => group)).toEqual(['shop/audit']);
  await world.publish('orders', 1);
  expect(world.data('orders')).toEqual([1]);
  await world.restart();
  await world.publish('orders', 2);
  expect(await world.waiting('orders', 'shop/audit')).toEqual([2]);
});

test('a limit of the queue holds in a burst', async () => {
  await using world = await QueueWorld.make({ place: 'durable', component: { maxQueueMessages: 10 } });
  await world.pubsub.queues.addGroup(world.queue('orders'));
  const published = await Promise.allSettled(Array.from({ length: 200 }, (_, at) => world.publish('orders', at)));
  expect(published.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
  expect(await world.waiting('orders')).toHaveLength(10);
});

test.each(['delayed', 'inFlight'] as const)(
  'a list of what is %s in a long queue does not read the rest',
  async (state) => {
    const store = new KeptStore();
    const components = [durablePubSub('pubsub')];
    const sidecar = new Sidecar({ appId: 'shop', logger: new RecordingLogger(), state: store, components });
    await sidecar.start();
    const queue = { pubsubName: 'pubsub', topic: 'orders', group: 'shop' };
    await sidecar.pubsub.queues.addGroup(queue);
    const entries = Array.from({ length: 1_000 }, (_, at) => ({ entryId: String(at), event: at }));
    await sidecar.pubsub.publishBulk('pubsub', 'orders', entries);
    const before = store.scans;
    expect((await sidecar.pubsub.queues.messagesPage(queue, { state })).messages).toEqual([]);
    expect(store.scans - before).toBeLessThan(5);
    await sidecar.stop();
  },
);

test('a bulk is not refused when others have been settled meanwhile', async () => {
  await using world = await QueueWorld.make({ place: 'durable', component: { maxQueueMessages: 10 } });
  await world.subscribe('orders');
  const entries = Array.from({ length: 8 }, (_, at) => ({ entryId: String(at), event: at }));
  for (let round = 0; round < 3; round++) {
    await world.pubsub.publishBulk('pubsub', 'orders', entries);
    await world.rest();
  }
  expect(world.data('orders')).toHaveLength(24);
});

test.each([2.5, 0, Number.NaN, -1, '7'])('limits are whole numbers: %s', (value) => {
  const limit = value as number;
  const expected = /expected a whole number of 1 or more, or Infinity/;
  expect(() => durablePubSub('pubsub', { maxQueueMessages: limit })).toThrow(expected);
  expect(() => durablePubSub('pubsub', { deadLetterRetention: { maxMessages: limit } })).toThrow(expected);
});

test('infinity is no limit', async () => {
  const deadLetterRetention = { maxMessages: Number.POSITIVE_INFINITY, maxAge: 3_600_000 };
  const component = { maxQueueMessages: Number.POSITIVE_INFINITY, deadLetterRetention };
  await using world = await QueueWorld.make({ place: 'durable, on disk', component });
  await world.deadLetters(1, 2);
  await world.pass('50m');
  expect(await world.waiting('dead')).toEqual([1, 2]);
  await world.pass('15m');
  expect(await world.waiting('dead')).toEqual([]);
});

test('a delayed message is due within a minute when the clock was set forward', async () => {
  const clock = new SteppedClock();
  let rings = 0;
  const alarm = new Alarm(clock, () => rings++);
  alarm.expect(clock.now() + 3_600_000);
  await clock.time.advance('2m');
  expect(rings).toBe(0);
  clock.step(3_500_000);
  await clock.time.advance('1m');
  expect([rings, clock.time.pendingTimers]).toEqual([1, 0]);
});

test('a full queue has room again although the clock was set back', async () => {
  const clock = new SteppedClock();
  const components = [durablePubSub('pubsub', { maxQueueMessages: 1 })];
  const logger = new RecordingLogger();
  await using sidecar = new Sidecar({ appId: 'shop', clock, state: new KeptStore(), components, logger });
  await sidecar.start();
  const queue = { pubsubName: 'pubsub', topic: 'orders', group: 'shop' };
  await sidecar.pubsub.queues.addGroup(queue);
  await sidecar.pubsub.publish('pubsub', 'orders', 1);
  await expect(sidecar.pubsub.publish('pubsub', 'orders', 2)).rejects.toThrow('is full');
  await sidecar.pubsub.queues.purge(queue);
  clock.step(-3_600_000);
  await clock.time.advance('1s');
  await sidecar.pubsub.publish('pubsub', 'orders', 3);
});

test.each(['publish', 'publishBulk'] as const)('a failed %s does not tell where the state is', async (method) => {
  const state = new KeptStore();
  await using world = await startWorld({ state, components: [durablePubSub('pubsub')], discovery: [] });
  const { pubsub } = world.sidecar;
  await pubsub.queues.addGroup({ pubsubName: 'pubsub', topic: 'orders', group: 'shop' });
  state.interfere = () =>
    Promise.reject(new StateError('full', 'The state directory "/srv/secret" is on a full disk.'));
  const entries = [1, 2].map((event) => ({ entryId: String(event), event }));
  const published =
    method === 'publish' ? pubsub.publish('pubsub', 'orders', 1) : pubsub.publishBulk('pubsub', 'orders', entries);
  const error: unknown = await published.catch((reason: unknown) => reason);
  expect(String(error)).toMatch(/the state store has no space left/);
  expect(String(error)).not.toMatch(/secret/);
  const bodies = { publish: '1', publishBulk: JSON.stringify(entries) };
  const path = method === 'publish' ? 'publish' : 'publish/bulk';
  const answer = await world.send('POST', `/v1.0/${path}/pubsub/orders`, { body: bodies[method] });
  expect(answer.status).toBe(500);
  expect(JSON.stringify(answer)).not.toMatch(/secret/);
  state.interfere = (_batch, commit) => commit();
});

test('messages with the largest numbers can be found, listed and discarded', async () => {
  const state = new KeptStore();
  await state.memory.commit({ put: [{ key: new Layout('pubsub').sequence(), value: record(1e15) }] });
  const components = [durablePubSub('pubsub')];
  await using sidecar = new Sidecar({ appId: 'shop', state, components, logger: new RecordingLogger() });
  await sidecar.start();
  const queue = { pubsubName: 'pubsub', topic: 'orders', group: 'shop' };
  await sidecar.pubsub.queues.addGroup(queue);
  for (const event of [1, 2, 3]) await sidecar.pubsub.publish('pubsub', 'orders', event);
  const first = await sidecar.pubsub.queues.messagesPage(queue, { limit: 1 });
  const key = first.messages[0]?.key ?? '';
  expect(key).toBe('1000000000000000');
  expect((await sidecar.pubsub.queues.message(queue, key))?.key).toBe(key);
  const { cursor = '' } = first;
  const second = await sidecar.pubsub.queues.messagesPage(queue, { limit: 1, cursor });
  expect(second.messages.map((message) => message.key)).toEqual(['1000000000000001']);
  expect(await sidecar.pubsub.queues.discard(queue, [key])).toBe(1);
  await expect(sidecar.pubsub.queues.messagesPage(queue, { cursor: '9999999999999999' })).rejects.toThrow('cursor is');
});

import { expect, test } from 'vitest';
import { durablePubSub } from '../../../src/components/durable/durable-pubsub.ts';
import { MemoryStore } from '../../../src/components/memory/memory-store.ts';
import type { Delivery, PubSubComponent } from '../../../src/components/pubsub.ts';
import { acknowledge, Collector, publishTexts } from '../../../src/kit/collector.ts';
import { ConflictError, StateError } from '../../../src/state/errors.ts';
import type { Batch } from '../../../src/state/store.ts';
import { virtualClock } from '../../../src/testing/virtual-clock.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { RecordingLogger } from '../../support/logger.ts';

const logger = new RecordingLogger();

/** State that outlives processes. Each one is left as it is when the next one begins, as after a crash. */
class Processes {
  readonly #state = new MemoryStore({ clock: systemClock, logger });

  begin(): Promise<PubSubComponent> {
    const context = { appId: 'shop', clock: systemClock, logger, state: this.#state, track: () => () => undefined };
    return durablePubSub('pubsub').open(context);
  }

  /** Begins a process whose consumer settles nothing, and waits for what it is handed out. */
  async collect(expected: number, maxInFlight = 3): Promise<Collector> {
    const consumer = await Collector.join(await this.begin(), { topic: 't', maxInFlight });
    await consumer.expect(expected);
    return consumer;
  }
}

const told = ({ message, attempt, interruptions }: Delivery): unknown[] => [message.id, attempt, interruptions];

async function publish(texts: readonly string[]): Promise<Processes> {
  const processes = new Processes();
  const component = await processes.begin();
  await Collector.join(component, { topic: 't', maxInFlight: 3 });
  await publishTexts(component, 't', texts);
  return processes;
}

test('deliveries that a crash interrupts are counted; from the third on a message is handed out alone', async () => {
  const processes = await publish(['a', 'b', 'c', 'd']);
  // The first crash was not expected: nothing was recorded before it.
  const second = await processes.collect(3);
  expect(second.deliveries.map(told)).toEqual([
    ['id-a', 1, 0],
    ['id-b', 1, 0],
    ['id-c', 1, 0],
  ]);
  const third = await processes.collect(3);
  expect(third.deliveries.map(told)).toEqual([
    ['id-a', 2, 1],
    ['id-b', 2, 1],
    ['id-c', 2, 1],
  ]);
  const fourth = await processes.collect(1);
  expect(fourth.deliveries.map(told)).toEqual([['id-a', 3, 2]]);
  await fourth.deliveries[0]?.ack();
  await fourth.expect(2);
  expect(fourth.deliveries.map(told)).toEqual([
    ['id-a', 3, 2],
    ['id-b', 3, 2],
  ]);
  const fifth = await processes.collect(1);
  expect(fifth.deliveries.map(told)).toEqual([['id-b', 4, 3]]);
  for (const count of [1, 2, 3]) {
    await fifth.deliveries[count - 1]?.ack();
    if (count < 3) await fifth.expect(count + 1);
  }
  expect(fifth.deliveries.map(told).slice(1)).toEqual([
    ['id-c', 3, 2],
    ['id-d', 1, 0],
  ]);
});

test('an outcome ends the count: the process has survived it', async () => {
  const processes = await publish(['a']);
  await processes.collect(1);
  const third = await processes.collect(1);
  expect(third.deliveries.map(told)).toEqual([['id-a', 2, 1]]);
  await third.deliveries[0]?.retry(0);
  await third.expect(2);
  expect(third.deliveries.map(told)[1]).toEqual(['id-a', 3, 0]);
  expect((await processes.collect(1)).deliveries.map(told)).toEqual([['id-a', 3, 0]]);
});

test('a consumer that leaves interrupts nothing', async () => {
  const processes = new Processes();
  const first = await processes.begin();
  await Collector.join(first, { topic: 't' });
  await publishTexts(first, 't', ['a', 'b']);
  for (const _ of [1, 2, 3, 4]) {
    const component = await processes.begin();
    const consumer = await Collector.join(component, { topic: 't', maxInFlight: 1 });
    await consumer.expect(1);
    expect(consumer.deliveries[0]?.interruptions).toBe(0);
    await component.close();
  }
});

test('nor does one that leaves while it is recorded that messages are handed out', async () => {
  const state = new MemoryStore({ clock: systemClock, logger });
  const commit = state.commit.bind(state);
  const begin = (): Promise<PubSubComponent> =>
    durablePubSub('pubsub').open({ appId: 'shop', clock: systemClock, logger, state, track: () => () => undefined });
  const first = await begin();
  await Collector.join(first, { topic: 't' });
  await publishTexts(first, 't', ['a', 'b']);
  await first.close();

  const held: (() => void)[] = [];
  state.commit = async (batch) => {
    await new Promise<void>((resolve) => held.push(resolve));
    return commit(batch);
  };
  const second = await begin();
  await Collector.join(second, { topic: 't' });
  await expect.poll(() => held.length).toBe(1);
  const closed = second.close();
  // As when the state is closed after the components.
  state.commit = commit;
  held[0]?.();
  await closed;
  state.commit = () => Promise.reject(new StateError('closed', 'closed'));
  await new Promise((resolve) => setImmediate(resolve));
  state.commit = commit;

  const third = await Collector.join(await begin(), { topic: 't' });
  await third.expect(2);
  expect(third.deliveries.map(told)).toEqual([
    ['id-a', 1, 0],
    ['id-b', 1, 0],
  ]);
});

test('what is published while a process runs is handed out without being recorded first', async () => {
  const processes = new Processes();
  const component = await processes.begin();
  const consumer = await Collector.join(component, { topic: 't' });
  const before = await component.queues?.status();
  await publishTexts(component, 't', ['a']);
  await consumer.expect(1);
  const [entry] = (await component.queues?.read({ topic: 't', group: 'app' }, { limit: 1 }))?.entries ?? [];
  expect([before?.length, entry?.attempts, entry?.state]).toEqual([1, 0, 'inFlight']);
  await component.close();
});

test.each([
  ['conflicts: they are read again a second later', new ConflictError('fence')],
  ['is refused: they are handed out all the same', new StateError('invalid', 'too large')],
])('messages come though what is recorded of them %s', async (_, refusal) => {
  const clock = virtualClock();
  const state = new RefusingStore({ clock, logger });
  const context = { appId: 'shop', clock, logger, state, track: () => () => undefined };
  const before = await durablePubSub('pubsub').open(context);
  await before.queues?.addGroup({ topic: 't', group: 'app' });
  await publishTexts(before, 't', ['a', 'b']);
  await before.close();
  const component = await durablePubSub('pubsub').open(context);
  state.refusal = refusal;
  const consumer = await Collector.join(component, { topic: 't', maxInFlight: 1 }, acknowledge);
  await clock.advance('2s');
  await consumer.expect(2);
  expect([consumer.texts, state.refusal]).toEqual([['a', 'b'], undefined]);
  await component.close();
});

/** Refuses one commit. */
class RefusingStore extends MemoryStore {
  refusal: Error | undefined;

  override commit(batch: Batch): Promise<number> {
    const { refusal } = this;
    if (refusal === undefined || batch.put?.some(({ key }) => key.includes('!ready!')) !== true)
      return super.commit(batch);
    this.refusal = undefined;
    return Promise.reject(refusal);
  }
}

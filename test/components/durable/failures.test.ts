import { describe, expect, test } from 'vitest';
import { durablePubSub } from '../../../src/components/durable/durable-pubsub.ts';
import { MemoryStore } from '../../../src/components/memory/memory-store.ts';
import type { Delivery, PubSubComponent } from '../../../src/components/pubsub.ts';
import { acknowledge, Collector, eventually, later, publishTexts, textMessage } from '../../../src/kit/collector.ts';
import { ConflictError, StateError } from '../../../src/state/errors.ts';
import type { Batch, KeyedEntry, Scan, StateStore } from '../../../src/state/store.ts';
import { virtualClock } from '../../../src/testing/virtual-clock.ts';
import type { Logger } from '../../../src/util/logger.ts';

const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** State in memory with which a test can interfere. */
class BentStore extends MemoryStore {
  failingCommits = 0;
  failingScans = 0;
  scannedEntries = 0;
  /** Holds the answers of scans for ready messages back. */
  gate: Promise<void> | undefined;

  override async scan(scan: Scan): Promise<readonly KeyedEntry[]> {
    if (this.failingScans > 0) {
      this.failingScans--;
      throw new Error('the disk is on fire');
    }
    const entries = await super.scan(scan);
    this.scannedEntries += entries.length;
    if (scan.from.includes('!ready!')) await this.gate;
    return entries;
  }

  /** The outcome of the next commit, which does not take place. */
  failNext: Promise<number> | undefined;

  override async commit(batch: Batch): Promise<number> {
    const { failNext } = this;
    this.failNext = undefined;
    if (failNext !== undefined) return failNext;
    if (this.failingCommits === 0) return super.commit(batch);
    this.failingCommits--;
    throw new Error('the disk is on fire');
  }
}

class Bench {
  readonly clock = virtualClock();
  readonly store = new BentStore({ clock: this.clock, logger: silent });
  readonly errors: string[] = [];
  readonly #definition = durablePubSub('pubsub');

  open(): Promise<PubSubComponent> {
    const logger = { ...silent, error: (_details: object, message: string) => void this.errors.push(message) };
    const state: StateStore = this.store;
    return this.#definition.open({ appId: 'orders', clock: this.clock, logger, state, track: () => () => {} });
  }

  /** What waits or is in flight, by its key. */
  async left(): Promise<readonly KeyedEntry[]> {
    const all = await this.store.scan({ from: '' });
    return all.filter(({ key }) => key.includes('!ready!') || key.includes('!delayed!'));
  }

  /** Publishes to a group that has no consumers at present. */
  async publish(component: PubSubComponent, texts: readonly string[]): Promise<void> {
    const group = await Collector.join(component, { topic: 't', paused: true });
    await publishTexts(component, 't', texts);
    await group.subscription.close();
  }
}

const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index));

describe('durable pub/sub on a store that fails for a while', () => {
  test('records a retry as soon as the store takes it, and hands the message out again', async () => {
    const bench = new Bench();
    const component = await bench.open();
    const retryOnce = (delivery: Delivery): void => void (delivery.attempt === 1 ? delivery.retry(10) : delivery.ack());
    const consumer = await Collector.join(component, { topic: 't' }, retryOnce);
    await publishTexts(component, 't', ['warm-up']);
    await eventually('it was handed out', () => consumer.texts.length === 1);
    await bench.clock.advance(20);
    await consumer.expect(2);
    await publishTexts(component, 't', ['a']);
    bench.store.failingCommits = 3;
    for (let second = 0; second < 5; second++) await bench.clock.advance(1_000);
    await consumer.expect(4);
    expect(consumer.deliveries.map(({ attempt }) => attempt)).toEqual([1, 2, 1, 2]);
    expect(await bench.left()).toEqual([]);
    await component.close();
  });

  test('records an acknowledgement as soon as the store takes it: the message does not come again', async () => {
    const bench = new Bench();
    const component = await bench.open();
    const consumer = await Collector.join(component, { topic: 't', maxInFlight: 1 });
    await publishTexts(component, 't', ['a', 'b', 'c']);
    await consumer.expect(1);
    bench.store.failingCommits = Number.POSITIVE_INFINITY;
    let recorded = 0;
    for (const index of [0, 1]) {
      void consumer.deliveries[index]?.ack().then(() => recorded++);
      await consumer.expect(2); // the second went out before the store had failed, nothing goes out after that
    }
    await bench.clock.advance(5_000);
    bench.store.failingCommits = 0;
    await consumer.expect(2);
    expect(recorded).toBe(0);
    await bench.clock.advance(1_000);
    await consumer.expect(3);
    expect(recorded).toBe(2);
    await consumer.subscription.close();
    const next = await Collector.join(component, { topic: 't' }, acknowledge);
    await next.expect(1);
    expect(next.texts).toEqual(['c']);
    expect(bench.errors).toEqual(['settlements could not be stored: will be tried again']);
    await component.close();
  });

  test('hands out what the store has taken although it said that it had not', async () => {
    const bench = new Bench();
    const component = await bench.open();
    const consumer = await Collector.join(component, { topic: 't' }, acknowledge);
    await publishTexts(component, 't', ['a']);
    await consumer.expect(1);
    const { commit } = bench.store;
    bench.store.commit = async (batch) => {
      bench.store.commit = commit;
      await commit.call(bench.store, batch);
      throw new Error('the disk is on fire');
    };
    await expect(component.publish([textMessage('t', 'b')])).rejects.toThrow('the state store has failed');
    await publishTexts(component, 't', ['c']);
    await consumer.expect(3);
    expect([[...consumer.texts].sort(), await bench.left()]).toEqual([['a', 'b', 'c'], []]);
    await component.close();
  });

  test('gives a settlement up when the group is left, and closes', async () => {
    const bench = new Bench();
    const component = await bench.open();
    const consumer = await Collector.join(component, { topic: 't' });
    await publishTexts(component, 't', ['a']);
    const [first] = await consumer.expect(1);
    bench.store.failingCommits = Number.POSITIVE_INFINITY;
    const recorded = expect(first?.ack()).rejects.toThrow('the disk is on fire');
    await later(20);
    await component.close();
    await recorded;
    bench.store.failingCommits = 0;
    expect(await bench.left()).toHaveLength(1);
    expect(bench.clock.pendingTimers).toBe(0);
  });

  test('reads on when reading works again', async () => {
    const bench = new Bench();
    const component = await bench.open();
    await bench.publish(component, numbered(1_000));
    bench.store.failingScans = 2;
    const consumer = await Collector.join(component, { topic: 't' }, acknowledge);
    for (let second = 0; second < 4; second++) await bench.clock.advance(1_000);
    await consumer.expect(1_000);
    expect(consumer.texts).toEqual(numbered(1_000));
    await component.close();
    expect(bench.clock.pendingTimers).toBe(0);
  });

  test('leaves an entry alone that it cannot read, and delivers the others once', async () => {
    const bench = new Bench();
    const component = await bench.open();
    await bench.publish(component, ['a', 'b', 'c', 'd']);
    const third = (await bench.left())[2]?.key ?? '';
    await bench.store.commit({ put: [{ key: third, value: Buffer.from([9, 9]) }] });
    const consumer = await Collector.join(component, { topic: 't' });
    for (let second = 0; second < 3; second++) await bench.clock.advance(1_000);
    await consumer.expect(3);
    expect(consumer.texts).toEqual(['a', 'b', 'd']);
    expect(await bench.left()).toHaveLength(4);
    expect(bench.errors).toEqual(['a stored message cannot be read: it stays in the store']);
    await component.close();
  });
});

describe('durable pub/sub: publishes that are committed out of order', () => {
  test('hands out what is published after a later message', async () => {
    const bench = new Bench();
    const component = await bench.open();
    const consumer = await Collector.join(component, { topic: 't' }, acknowledge);
    await publishTexts(component, 't', ['first']);
    await consumer.expect(1);
    let fail = (_error: unknown): void => undefined;
    bench.store.failNext = new Promise((_resolve, reject) => {
      fail = reject;
    });
    const earlier = component.publish([textMessage('t', 'a'), textMessage('t', 'b')]);
    await later(5);
    await publishTexts(component, 't', ['c']);
    fail(new StateError('full', 'no space for both of them'));
    expect(await earlier).toEqual([]);
    await consumer.expect(4);
    expect([...consumer.texts].sort()).toEqual(['a', 'b', 'c', 'first']);
    await component.close();
  });
});

describe('durable pub/sub: joining and leaving', () => {
  test('hands out everything unsettled when a group is left and joined during a scan', async () => {
    const bench = new Bench();
    const component = await bench.open();
    await bench.publish(component, numbered(1_000));
    const first = await Collector.join(component, { topic: 't', maxInFlight: 250 });
    await first.expect(250);
    let open = (): void => undefined;
    bench.store.gate = new Promise((resolve) => {
      open = resolve;
    });
    for (const delivery of first.deliveries.slice(0, 10)) void delivery.ack(); // begins a scan, which is held back
    await first.expect(260);
    await first.subscription.close();
    const second = await Collector.join(component, { topic: 't', maxInFlight: 10_000 });
    bench.store.gate = undefined;
    open();
    await second.expect(990);
    expect(second.texts).toEqual(numbered(1_000).slice(10));
    await component.close();
  });

  test('hands nothing to a consumer that joined while the component was being closed', async () => {
    const bench = new Bench();
    const [closing, other] = [await bench.open(), await bench.open()];
    const joining = Collector.join(closing, { topic: 't' });
    await closing.close();
    await expect(joining).rejects.toThrow('closed');
    const consumer = await Collector.join(other, { topic: 't' }, acknowledge);
    await publishTexts(other, 't', ['a', 'b', 'c', 'd']);
    await consumer.expect(4);
    await other.close();
  });
});

describe('durable pub/sub with many delayed messages', () => {
  test('reads each of them once when all are due, and no more than its consumers need', async () => {
    const bench = new Bench();
    const component = await bench.open();
    const failing = await Collector.join(component, { topic: 't', maxInFlight: 5_000 });
    await publishTexts(component, 't', numbered(5_000));
    await failing.expect(5_000);
    await Promise.all(failing.deliveries.map((delivery) => delivery.retry(10)));
    await failing.subscription.close();
    await bench.clock.advance(20);
    bench.store.scannedEntries = 0;
    const slow = await Collector.join(component, { topic: 't', maxInFlight: 1 });
    await slow.expect(1);
    expect(bench.store.scannedEntries).toBeLessThan(1_100);
    const fast = await Collector.join(component, { topic: 't' }, acknowledge);
    await fast.expect(4_999);
    expect(bench.store.scannedEntries).toBeLessThan(6_000);
    expect(new Set([...slow.texts, ...fast.texts]).size).toBe(5_000);
    expect(new Set(fast.deliveries.map(({ attempt }) => attempt))).toEqual(new Set([2]));
    await component.close();
  });

  test('hands out again at once what is retried without a delay', async () => {
    const bench = new Bench();
    const component = await bench.open();
    const consumer = await Collector.join(component, { topic: 't' });
    await publishTexts(component, 't', ['a']);
    await (await consumer.expect(1))[0]?.retry(10);
    await bench.clock.advance(20);
    await (await consumer.expect(2))[1]?.retry(0);
    await bench.clock.advance(1);
    await consumer.expect(3);
    expect(consumer.deliveries.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    await component.close();
  });
});

describe('durable pub/sub with large messages', () => {
  test('keeps few of them in memory', async () => {
    const bench = new Bench();
    const component = await bench.open();
    const consumer = await Collector.join(component, { topic: 't', maxInFlight: 1 });
    for (const text of numbered(40))
      await component.publish([textMessage('t', text, { id: text, data: Buffer.alloc(512 * 1024) })]);
    const [first] = await consumer.expect(1);
    bench.store.scannedEntries = 0;
    await first?.ack();
    await consumer.expect(2);
    for (let at = 1; at < 40; at++) {
      await eventually('the next came', () => consumer.deliveries.length > at);
      await consumer.deliveries[at]?.ack();
    }
    expect(consumer.deliveries.map(({ message }) => message.id)).toEqual(numbered(40));
    // What was not kept at once was read back.
    expect(bench.store.scannedEntries).toBeGreaterThan(25);
    await component.close();
  });
});

describe('durable pub/sub: changes by operators that fail', () => {
  const queue = { topic: 't', group: 'app' };
  const failed = (error: Error): Promise<number> => {
    const outcome = Promise.reject<number>(error);
    outcome.catch(() => undefined);
    return outcome;
  };

  test('what is acknowledged does not come again after the queue was read anew', async () => {
    const bench = new Bench();
    const component = await bench.open();
    const consumer = await Collector.join(component, { topic: 't', maxInFlight: 3 });
    await publishTexts(component, 't', ['a', 'b', 'c', 'd', 'e']);
    await consumer.expect(3);
    await component.queues?.setPaused(queue, true);
    const page = await component.queues?.read(queue, { state: 'ready', limit: 10 });
    bench.store.failNext = failed(new ConflictError('x'));
    expect(await component.queues?.discard(queue, { keys: [page?.entries[0]?.key ?? ''] })).toBe(1);
    await later(30);
    await Promise.all(consumer.deliveries.map((delivery) => delivery.ack()));
    await component.queues?.setPaused(queue, false);
    await consumer.expect(4);
    expect(consumer.texts).toEqual(['a', 'b', 'c', 'e']);
    await consumer.deliveries[3]?.ack();
    expect(await bench.left()).toEqual([]);
    await component.close();
  });

  test('a queue without consumers delivers its messages afterwards', async () => {
    const bench = new Bench();
    const component = await bench.open();
    await component.queues?.addGroup(queue);
    await publishTexts(component, 't', ['a', 'b']);
    bench.store.failNext = failed(new StateError('full', 'no space left'));
    await expect(component.queues?.discard(queue, {})).rejects.toThrow('no space left');
    const consumer = await Collector.join(component, { topic: 't' }, acknowledge);
    await consumer.expect(2);
    expect(await bench.left()).toEqual([]);
    await component.close();
  });
});

test('an ordered retry whose record comes late does not bring the message back after its end', async () => {
  const bench = new Bench();
  const component = await bench.open();
  const consumer = await Collector.join(component, { topic: 't', maxInFlight: 1, ordered: true });
  await publishTexts(component, 't', ['a']);
  await consumer.expect(1);
  let fail = (_error: unknown): void => undefined;
  bench.store.failNext = new Promise((_resolve, reject) => {
    fail = reject;
  });
  const retried = consumer.deliveries[0]?.retry(10);
  await later(10);
  await bench.clock.advance(20);
  await consumer.expect(1);
  fail(new StateError('failed', 'connection lost'));
  await later(10);
  await bench.clock.advance(1_000);
  await retried;
  await consumer.expect(2);
  await consumer.deliveries[1]?.ack();
  expect(await bench.left()).toEqual([]);
  await component.close();
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decodeQueued, encodeQueued } from '../../../src/components/durable/codec.ts';
import { durablePubSub } from '../../../src/components/durable/durable-pubsub.ts';
import { embeddedState } from '../../../src/components/embedded/index.ts';
import { memoryState } from '../../../src/components/memory/memory-store.ts';
import type { Delivery, PubSubComponent } from '../../../src/components/pubsub.ts';
import { acknowledge, Collector, eventually, publishTexts, textMessage } from '../../../src/kit/collector.ts';
import { pubSubConformance } from '../../../src/kit/pubsub-conformance.ts';
import { MAX_VALUE_BYTES, type StateDefinition, type StateStore } from '../../../src/state/store.ts';
import { virtualClock } from '../../../src/testing/virtual-clock.ts';
import { type Clock, systemClock } from '../../../src/util/clock.ts';
import type { Logger } from '../../../src/util/logger.ts';

const logger: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: (...args) => console.error(args) };

let directory = '';
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'insidecar-durable-'));
});
afterAll(() => rm(directory, { recursive: true }));

async function openOn(
  state: StateStore,
  clock: Clock = systemClock,
  definition = durablePubSub('pubsub'),
): Promise<PubSubComponent> {
  return definition.open({ appId: 'orders', clock, logger, state, track: () => () => {} });
}

const engines: readonly [name: string, make: (run: string) => StateDefinition][] = [
  ['memory', () => memoryState()],
  ['embedded', (run) => embeddedState({ path: join(directory, run) })],
];

describe.each(engines)('durable pub/sub on the %s store: conformance', (engine, make) => {
  let state: StateStore;
  beforeAll(async () => {
    state = await make(`${engine}-conformance`).open({ clock: systemClock, logger });
  });
  afterAll(() => state.close());
  for (const { name, run } of pubSubConformance) {
    test(name, async () => {
      const definition = durablePubSub('pubsub');
      await run(() => openOn(state, systemClock, definition));
    });
  }
});

describe('the stored form of a message', () => {
  test('is read as earlier releases wrote it, without an origin', () => {
    const header = Buffer.from('{"i":"one","a":2}');
    const length = Buffer.alloc(4);
    length.writeUInt32BE(header.length);
    const stored = Buffer.concat([Buffer.from([1]), length, header, Buffer.from('data')]);
    const { message, attempts } = decodeQueued('key', stored, 'orders');
    expect([message.id, attempts, Buffer.from(message.data).toString()]).toEqual(['one', 2, 'data']);
    expect('deadLetter' in message).toBe(false);
  });

  test('leaves out the origin of a dead letter that has no room for it: the message itself gets through', async () => {
    const state = await memoryState().open({ clock: systemClock, logger });
    const component = await openOn(state);
    const consumer = await Collector.join(component, { topic: 'dead' }, acknowledge);
    const room =
      MAX_VALUE_BYTES -
      encodeQueued({ message: textMessage('dead', 'x', { data: Buffer.alloc(0) }), attempts: 0 }).length;
    const largest = textMessage('dead', 'x', { data: Buffer.alloc(room - 64), deadLetter: ORIGIN });
    expect(await component.publish([largest])).toEqual([]);
    const [delivery] = await consumer.expect(1);
    expect([delivery?.message.data.length, delivery?.message.deadLetter]).toEqual([room - 64, undefined]);
    await expect(component.publish([{ ...largest, data: Buffer.alloc(room) }])).rejects.toThrow('too large');
    await component.close();
    await state.close();
  });
});

/** A process that ends and starts again: everything is opened anew on the same directory. */
class Process {
  readonly component: PubSubComponent;
  readonly #state: StateStore;

  private constructor(component: PubSubComponent, state: StateStore) {
    this.component = component;
    this.#state = state;
  }

  static async start(run: string, clock: Clock = systemClock): Promise<Process> {
    const state = await embeddedState({ path: join(directory, run) }).open({ clock, logger });
    return new Process(await openOn(state, clock), state);
  }

  async end(): Promise<void> {
    await this.component.close();
    await this.#state.close();
  }
}

const ORIGIN = {
  topic: 'orders',
  group: 'shop',
  reason: 'declined',
  attempts: 4,
  deadAt: Date.parse('2026-01-01T00:00:00Z'),
};

describe('durable pub/sub over restarts', () => {
  test('keeps where a dead letter comes from, beside its bytes, and over a retry', async () => {
    const bytes = Buffer.from('{"id":1.00}');
    const before = await Process.start('origin');
    const consumer = await Collector.join(before.component, { topic: 'dead' }, (delivery) => void delivery.retry(0));
    await before.component.publish([textMessage('dead', 'x', { data: bytes, deadLetter: ORIGIN })]);
    await eventually('it was handed out twice', () => consumer.deliveries.length >= 2);
    await before.end();
    const after = await Process.start('origin');
    const [delivery] = await (await Collector.join(after.component, { topic: 'dead' })).expect(1);
    expect(delivery?.message.deadLetter).toEqual(ORIGIN);
    expect(Buffer.from(delivery?.message.data ?? []).equals(bytes)).toBe(true);
    await after.end();
  });

  test('keeps what is unsettled and nothing that is settled, in order', async () => {
    const before = await Process.start('restart');
    const consumer = await Collector.join(before.component, { topic: 't', maxInFlight: 3 });
    await publishTexts(before.component, 't', ['a', 'b', 'c', 'd']);
    const [, second] = await consumer.expect(3);
    await second?.ack();
    await before.end();
    const after = await Process.start('restart');
    const next = await Collector.join(after.component, { topic: 't' }, acknowledge);
    await next.expect(3);
    expect(next.texts).toEqual(['a', 'c', 'd']);
    await after.end();
    const last = await Process.start('restart');
    await (await Collector.join(last.component, { topic: 't' })).expect(0);
    await last.end();
  });

  test('keeps a retry, its instant and its attempt count', async () => {
    const clock = virtualClock();
    const before = await Process.start('retry', clock);
    const consumer = await Collector.join(before.component, { topic: 't' });
    await publishTexts(before.component, 't', ['a']);
    const [first] = await consumer.expect(1);
    await first?.retry(60_000);
    await before.end();
    const after = await Process.start('retry', clock);
    const next = await Collector.join(after.component, { topic: 't' });
    await clock.advance(59_999);
    await next.expect(0);
    await clock.advance(1);
    const [again] = await next.expect(1);
    expect(again?.attempt).toBe(2);
    await after.end();
  });

  test('an ordered subscription goes on with the message that was being retried', async () => {
    const before = await Process.start('ordered');
    const fails = (delivery: Delivery): void => void delivery.retry(10_000);
    const consumer = await Collector.join(before.component, { topic: 't', ordered: true, maxInFlight: 1 }, fails);
    await publishTexts(before.component, 't', ['a', 'b']);
    await consumer.expect(1);
    await before.end();
    const after = await Process.start('ordered');
    const next = await Collector.join(after.component, { topic: 't', ordered: true, maxInFlight: 1 }, acknowledge);
    await next.expect(2);
    expect(next.texts).toEqual(['a', 'b']);
    expect(next.deliveries.map(({ attempt }) => attempt)).toEqual([2, 1]);
    await after.end();
  });

  test('a group collects while its application is away', async () => {
    const before = await Process.start('away');
    await (await Collector.join(before.component, { topic: 't' })).subscription.close();
    await before.end();
    const publisher = await Process.start('away');
    await publishTexts(publisher.component, 't', ['a', 'b']);
    await publisher.end();
    const after = await Process.start('away');
    const next = await Collector.join(after.component, { topic: 't' }, acknowledge);
    await next.expect(2);
    await after.end();
  });
});

/** For what has to wait for the disk a thousand times. */
const PATIENCE_MS = 120_000;

describe('durable pub/sub with a backlog', () => {
  test(
    'reads ahead a little and keeps order over many batches',
    async () => {
      const running = await Process.start('backlog');
      const group = await Collector.join(running.component, { topic: 't', paused: true });
      const texts = Array.from({ length: 2_000 }, (_, index) => String(index));
      for (let at = 0; at < texts.length; at += 500)
        await publishTexts(running.component, 't', texts.slice(at, at + 500));
      await group.subscription.close();
      const consumer = await Collector.join(running.component, { topic: 't', maxInFlight: 1 }, acknowledge);
      const more = publishTexts(running.component, 't', ['last']);
      // Each of the first 1,000 waits for the disk.
      await expect.poll(() => consumer.deliveries.length, { timeout: PATIENCE_MS }).toBeGreaterThan(2_000);
      await consumer.expect(2_001);
      await more;
      expect(consumer.texts).toEqual([...texts, 'last']);
      await running.end();
    },
    PATIENCE_MS,
  );

  test('refuses a message that no store takes, and goes on', async () => {
    const running = await Process.start('large');
    const consumer = await Collector.join(running.component, { topic: 't' }, acknowledge);
    const large = textMessage('t', 'large', { data: Buffer.alloc(9 * 1024 * 1024) });
    await expect(running.component.publish([large])).rejects.toThrow(/8388608|8 MiB/);
    await publishTexts(running.component, 't', ['small']);
    await consumer.expect(1);
    await running.end();
  });
});

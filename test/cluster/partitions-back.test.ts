import { describe, expect, test } from 'vitest';
import { Layout } from '../../src/components/durable/layout.ts';
import { OBJECT, readRecord, record } from '../../src/components/durable/records.ts';
import type { StoredSpread } from '../../src/components/durable/spread.ts';
import type { SubscribeOptions } from '../../src/index.ts';
import type { Batch } from '../../src/kit/index.ts';
import { Fleet, type Member } from '../support/fleet.ts';
import { type Got, Recorder } from '../support/topic-recorder.ts';

const QUEUE = { pubsubName: 'pubsub', topic: 'orders', group: 'shop' } as const;
const layout = new Layout('pubsub').queue('orders', 'shop');

const isMessage = (key: string): boolean => /!(ready|delayed)!/.test(key);

async function stored({ memory }: Fleet): Promise<number> {
  return (await memory.scan({ from: 'pubsub!' })).filter(({ key }) => isMessage(key)).length;
}

interface StoredDelegate {
  readonly hostId: string;
  readonly spread: StoredSpread;
}

async function spreadOf({ memory }: Fleet): Promise<StoredDelegate> {
  const entry = await memory.get(layout.delegate);
  return readRecord(layout.delegate, entry?.value ?? Buffer.of(), OBJECT) as StoredDelegate;
}

async function write({ memory }: Fleet, delegate: StoredDelegate): Promise<void> {
  await memory.commit({ put: [{ key: layout.delegate, value: record(delegate) }] });
}

async function idOf({ sidecar }: Member): Promise<string> {
  return (await sidecar.placement.hosts()).find(({ isSelf }) => isSelf)?.hostId ?? '';
}

/** The other host has half of the partitions of one from now on. Answers what was stored before. */
async function takeHalf(fleet: Fleet, from: string): Promise<StoredDelegate> {
  const before = await spreadOf(fleet);
  const half = [...(before.spread.find(([id]) => id === from)?.[1] ?? [])].filter((_, index) => index % 2 === 0);
  const spread = before.spread.map(([id, partitions]): StoredSpread[number] => [
    id,
    id === from ? partitions.filter((partition) => !half.includes(partition)) : [...partitions, ...half],
  ]);
  await write(fleet, { hostId: before.hostId, spread });
  return before;
}

/** Two members that share the topic; the first one has messages, of which it has settled none. */
async function atWork(fleet: Fleet, options: SubscribeOptions = {}) {
  const [a, b] = [await fleet.join({ isApart: true }), await fleet.join({ isApart: true })];
  await fleet.pass(2);
  const recorder = new Recorder();
  await recorder.subscribe(a, { concurrency: 100, ...options });
  const leave = await recorder.subscribe(b, { concurrency: 100, ...options });
  await fleet.pass(3);
  const ends: ((error?: Error) => void)[] = [];
  recorder.onMessage = ({ at }) =>
    at === b
      ? undefined
      : new Promise<void>((resolve, reject) => ends.push((error) => (error === undefined ? resolve() : reject(error))));
  await recorder.publish(b, 64, keys);
  await fleet.pass(1);
  expect(recorder.countAt(a)).toBeGreaterThan(10);
  /** The deliveries of the first member end. From now on all succeed. */
  const end = (error?: Error): void => {
    recorder.onMessage = () => undefined;
    for (const one of ends.splice(0)) one(error);
  };
  return { a, b, recorder, end, leave, id: await idOf(a) };
}

const keys = Array.from({ length: 64 }, (_, index) => `customer-${index}`);

/** Keeps back commits of a member until the returned function is called. */
function holdUp({ store }: Member, isMeant: (batch: Batch) => boolean): () => void {
  let goOn = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  store.holdsUp = (batch) => (isMeant(batch) ? held : undefined);
  return () => {
    store.holdsUp = () => undefined;
    goOn();
  };
}

const timesOf = (recorder: Recorder, isMeant: (got: Got) => boolean): readonly number[] => {
  const meant = new Set(recorder.got.filter(isMeant).map(({ number }) => number));
  return [...meant].map((number) => recorder.got.filter((got) => got.number === number).length);
};

describe('a message in flight whose partition another host gets', () => {
  test.each([
    ['success', undefined, {}],
    ['retry', new Error('not now'), { retry: { delay: '200ms' } }],
    ['retry in its place', new Error('not now'), { order: 'key', retry: { delay: '200ms' } }],
  ] as const)(
    'is delivered again when the partition comes back after its %s was refused',
    async (_, error, options) => {
      await using fleet = new Fleet();
      const { a, b, recorder, end, id } = await atWork(fleet, options);
      // It gives back what it should not have as soon as it goes on.
      b.store.pause();
      await takeHalf(fleet, id);
      await fleet.pass(1, [a]);
      end(error);
      await fleet.pass(1, [a]);
      const left = await stored(fleet);
      expect(left).toBeGreaterThan(0);
      b.store.resume();
      await fleet.pass(5);
      expect(await stored(fleet)).toBe(0);
      expect([...new Set(recorder.numbers)]).toEqual(recorder.sent);
      expect(timesOf(recorder, ({ at }) => at === a).filter((times) => times > 1).length).toBeGreaterThanOrEqual(left);
    },
  );

  test('is settled where it began when the partition has come back in between', async () => {
    await using fleet = new Fleet();
    const { a, b, recorder, end, id } = await atWork(fleet);
    b.store.pause();
    await write(fleet, await takeHalf(fleet, id));
    await fleet.pass(1, [a]);
    end();
    await fleet.pass(1, [a]);
    b.store.resume();
    await fleet.pass(3);
    expect([recorder.numbers, await stored(fleet)]).toEqual([recorder.sent, 0]);
  });

  test('is settled where it began when the partition goes and comes back while the settlement is written', async () => {
    await using fleet = new Fleet();
    const { a, b, recorder, end, id } = await atWork(fleet);
    b.store.pause();
    const goOn = holdUp(a, ({ delete: removed = [] }) => removed.some(isMessage));
    end();
    await new Promise((resolve) => setImmediate(resolve));
    await write(fleet, await takeHalf(fleet, id));
    goOn();
    await fleet.pass(1, [a]);
    expect(a.store.conflicts.length).toBeGreaterThan(0);
    b.store.resume();
    await fleet.pass(3);
    expect([recorder.numbers, await stored(fleet)]).toEqual([recorder.sent, 0]);
  });
});

describe('a message in flight when the other hosts have no consumers any more', () => {
  test('is settled where it began, also while the partitions are put together', async () => {
    await using fleet = new Fleet();
    const { a, recorder, end, leave } = await atWork(fleet);
    const goOn = holdUp(a, ({ delete: removed = [] }) => removed.some(isMessage));
    end();
    await new Promise((resolve) => setImmediate(resolve));
    await leave();
    await fleet.pass(3);
    const entry = await fleet.memory.get(layout.delegate);
    expect(Buffer.from(entry?.value ?? []).toString()).not.toContain('spread');
    goOn();
    await fleet.pass(3);
    expect([recorder.numbers, await stored(fleet)]).toEqual([recorder.sent, 0]);
  });
});

describe('a delivery that is recorded and has not begun when its partition goes', () => {
  const isRecord = ({ put = [], delete: removed = [] }: Batch): boolean =>
    removed.length === 0 && put.some(({ key }) => isMessage(key));

  test.each([
    ['a new message', false],
    ['a retry that is due', true],
  ])('begins when the partition has come back: %s', async (_, isRetry) => {
    await using fleet = new Fleet();
    const [a, b] = [await fleet.join({ isApart: true }), await fleet.join({ isApart: true })];
    await fleet.pass(2);
    const recorder = new Recorder();
    const options = { concurrency: 100, retry: { delay: '2s' } } as const;
    const first = await recorder.subscribe(a, options);
    if (isRetry)
      recorder.onMessage = () => {
        recorder.got.pop();
        throw new Error('not now');
      };
    else await first();
    await recorder.publish(b, 64);
    await fleet.pass(1);
    if (isRetry) await first();
    recorder.onMessage = () => undefined;
    await fleet.pass(3);
    const release = holdUp(a, isRecord);
    await recorder.subscribe(a, options);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await b.sidecar.pubsub.queues.pause(QUEUE);
    release();
    await fleet.pass(1);
    expect(recorder.got).toEqual([]);
    const leave = await recorder.subscribe(b, options);
    await fleet.pass(3);
    expect((await spreadOf(fleet)).spread.map(([, partitions]) => partitions.length)).toEqual([32, 32]);
    await leave();
    await fleet.pass(3);
    await a.sidecar.pubsub.queues.resume(QUEUE);
    await fleet.pass(3);
    expect([recorder.numbers, await stored(fleet)]).toEqual([recorder.sent, 0]);
    expect(recorder.countAt(a)).toBe(64);
  });
});

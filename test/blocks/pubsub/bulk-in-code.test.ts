/** `subscribeBulk`: batches for functions in code. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  type BulkHandler,
  defineTopic,
  durablePubSub,
  memoryPubSub,
  type SubscribeBulkOptions,
} from '../../../src/index.ts';
import type { PubSubDefinition } from '../../../src/kit/index.ts';
import { TestSidecar } from '../../support/sidecar.ts';

const COMPONENTS: readonly (readonly [string, () => PubSubDefinition])[] = [
  ['memory', () => memoryPubSub('pubsub')],
  ['durable', () => durablePubSub('pubsub')],
];

const numbers = defineTopic<number>('numbers');
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** Publishes numbers, and answers the batches that a function gets. */
async function batches(
  world: TestSidecar,
  options: SubscribeBulkOptions,
  count: number,
  handler: BulkHandler<number> = () => undefined,
): Promise<number[][]> {
  const { pubsub } = world.sidecar;
  const seen: number[][] = [];
  await pubsub.subscribeBulk(
    numbers,
    (entries, context) => {
      seen.push(entries.map(({ data }) => data));
      return handler(entries, context);
    },
    options,
  );
  for (const number of upTo(count)) await pubsub.publish(numbers, number);
  // Functions may be running.
  await world.clock.advance(0);
  return seen;
}

describe.each(COMPONENTS)('batches in code, %s', (_, make) => {
  const start = (): Promise<TestSidecar> => new TestSidecar({ components: [make()] }).start();

  test('come when they are full, and the rest when the oldest has waited', async () => {
    await using world = await start();
    const seen = await batches(world, { maxMessagesCount: 3, maxAwaitDuration: '200ms' }, 8);
    expect(seen).toEqual([upTo(3), [3, 4, 5]]);
    await world.clock.advance('199ms');
    expect(seen).toHaveLength(2);
    await world.clock.advance('1ms');
    expect(seen).toEqual([
      [0, 1, 2],
      [3, 4, 5],
      [6, 7],
    ]);
    expect(world.emitted('messageDelivered')).toHaveLength(8);
  });

  test('an entry has what the context of one delivery has', async () => {
    await using world = await start();
    const { pubsub } = world.sidecar;
    const seen: unknown[] = [];
    await pubsub.subscribeBulk<{ id: number }>('pubsub', 'orders', (entries, { signal }) => {
      for (const { data, event, message, attempt, deadLetter } of entries)
        seen.push([data, event.type, message.topic, attempt, deadLetter, signal.aborted]);
    });
    await pubsub.publish('pubsub', 'orders', { id: 7 }, { cloudEvent: { type: 'placed' } });
    await pubsub.publish('pubsub', 'orders', Buffer.from('bytes'));
    await world.clock.advance('1s');
    expect(seen).toEqual([
      [{ id: 7 }, 'placed', 'orders', 1, undefined, false],
      [Buffer.from('bytes'), 'com.sidecar.event.sent', 'orders', 1, undefined, false],
    ]);
  });

  const rejected = (): PromiseSettledResult<unknown> => ({ status: 'rejected', reason: new Error('no') });
  test.each<[string, BulkHandler<number>, number[]]>([
    ['nothing', () => undefined, []],
    ['the rows of a call', () => [{ rows: 1 }], []],
    ['a status for each', () => ['SUCCESS', 'RETRY', 'DROP'], [1]],
    ['objects with a status', () => [{ status: 'RETRY' }, {}, { status: 'SUCCESS' }], [0]],
    ['an error in the list', () => [undefined, new Error('no'), undefined], [1]],
    [
      'allSettled',
      () => [{ status: 'fulfilled', value: 5 }, rejected(), { status: 'fulfilled', value: 'RETRY' }],
      [1, 2],
    ],
    ['one status for all', () => 'RETRY', [0, 1, 2]],
    ['an error for all', () => new Error('no'), [0, 1, 2]],
    ['a list of another length with a failure', () => ['RETRY'], [0, 1, 2]],
    ['a list of another length without', () => ['SUCCESS', 'SUCCESS'], []],
    ['a promise that rejects', () => Promise.reject(new Error('no')), [0, 1, 2]],
  ])('%s decides what is delivered again', async (_name, handler, again) => {
    await using world = await start();
    let isFirst = true;
    const seen = await batches(world, { maxMessagesCount: 3 }, 3, (entries, context) => {
      if (!isFirst) return undefined;
      isFirst = false;
      return handler(entries, context);
    });
    await world.clock.advance('2s');
    expect(seen[0]).toEqual([0, 1, 2]);
    expect(seen.slice(1).flat().sort()).toEqual(again);
  });

  test('a message that does not fit is dead-lettered alone', async () => {
    await using world = await start();
    const { pubsub } = world.sidecar;
    const ids = defineTopic('ids', { schema: z.object({ id: z.number() }) });
    const [seen, dead]: [unknown[], unknown[]] = [[], []];
    await pubsub.subscribe('pubsub', 'dead', ({ data }) => dead.push(data));
    await pubsub.subscribeBulk(ids, (entries) => void seen.push(entries.map(({ data }) => data.id)), {
      deadLetterTopic: 'dead',
      maxMessagesCount: 3,
    });
    for (const id of [1, 'two', 3]) await pubsub.publish('pubsub', 'ids', { id });
    await world.clock.settled();
    expect(seen).toEqual([[1, 3]]);
    expect(dead).toEqual([{ id: 'two' }]);
    for (const id of ['a', 'b', 'c']) await pubsub.publish('pubsub', 'ids', { id });
    await world.clock.settled();
    expect(seen).toHaveLength(1);
    expect(dead).toHaveLength(4);
  });

  test('a batch that fails for good is dead-lettered message by message', async () => {
    await using world = await start();
    const dead: unknown[] = [];
    await world.sidecar.pubsub.subscribe('pubsub', 'dead', ({ data }) => dead.push(data));
    await batches(
      world,
      { maxMessagesCount: 2, maxAwaitDuration: 1, deadLetterTopic: 'dead', retry: { maxRetries: 1 } },
      4,
      () => {
        throw new Error('never');
      },
    );
    await world.clock.advance('10s');
    expect(dead.sort()).toEqual([0, 1, 2, 3]);
  });

  test('concurrency is the number of batches at a time', async () => {
    await using world = await start();
    const free: (() => void)[] = [];
    const seen = await batches(
      world,
      { maxMessagesCount: 2, concurrency: 2 },
      8,
      () => new Promise<void>((resolve) => free.push(resolve)),
    );
    expect(seen).toHaveLength(2);
    free.shift()?.();
    await world.clock.advance(0);
    expect(seen).toHaveLength(3);
    while (seen.length < 4 || free.length > 0) {
      free.shift()?.();
      await world.clock.advance(0);
    }
  });

  test('the signal fires when its time is over, and the batch is done when the function returns', async () => {
    await using world = await start();
    let reason: unknown;
    const seen = await batches(
      world,
      { maxMessagesCount: 2, timeout: '5s' },
      2,
      (_entries, { signal }) =>
        new Promise<void>((resolve) =>
          signal.addEventListener('abort', () => {
            reason = signal.reason;
            resolve();
          }),
        ),
    );
    await world.clock.advance('5s');
    expect(reason).toMatchObject({ message: 'no result within 5000 ms' });
    await world.clock.advance('1m');
    expect(seen).toHaveLength(1);
  });

  test('messages in an incomplete batch come to the next subscription, with no attempt counted', async () => {
    await using world = await start();
    const { pubsub } = world.sidecar;
    const first = await pubsub.subscribeBulk(numbers, () => undefined);
    await pubsub.publish(numbers, 1);
    await world.clock.settled();
    await first.close();
    const attempts: number[] = [];
    await pubsub.subscribeBulk(numbers, (entries) => void attempts.push(...entries.map(({ attempt }) => attempt)));
    await world.clock.advance('1s');
    expect(attempts).toEqual([1]);
  });
});

test.each<[SubscribeBulkOptions, string]>([
  [{ maxMessagesCount: 0 }, 'maxMessagesCount in options of subscribeBulk is 0: expected a whole number of 1 or more'],
  [{ maxMessagesCount: 1.5 }, 'maxMessagesCount in options of subscribeBulk is 1.5'],
  [{ maxAwaitDuration: 0 }, 'maxAwaitDuration'],
  [{ maxAwaitDuration: 'soon' as '1s' }, 'soon'],
  [{ maxMessages: 3 } as SubscribeBulkOptions, 'options of subscribeBulk: unknown field "maxMessages"'],
])('%j is an error', async (options, message) => {
  await using world = await new TestSidecar({ components: [memoryPubSub('pubsub')] }).start();
  await expect(world.sidecar.pubsub.subscribeBulk(numbers, () => undefined, options)).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
    message: expect.stringContaining(message) as string,
  });
  const noFunction = world.sidecar.pubsub.subscribeBulk(numbers, 'fn' as never);
  await expect(noFunction).rejects.toMatchObject({ message: expect.stringContaining('expected a function') as string });
});

test('a subscription of before the start gets batches from then on', async () => {
  const world = new TestSidecar({ components: [memoryPubSub('pubsub')] });
  const seen: number[][] = [];
  await world.sidecar.pubsub.subscribeBulk(numbers, (entries) => void seen.push(entries.map(({ data }) => data)));
  await using started = await world.start();
  await started.sidecar.pubsub.publish(numbers, 4);
  await started.clock.advance('1s');
  expect(seen).toEqual([[4]]);
});

/** The order of keys, limits for each key, and rates: in memory, and durable over several hosts. */
import { describe, expect, test } from 'vitest';
import type { PubSubDefinition } from '../../../src/components/pubsub.ts';
import { redisPubSub } from '../../../src/components/redis/index.ts';
import {
  defineTopic,
  durablePubSub,
  isSidecarError,
  memoryPubSub,
  type PublishOptions,
  type RouteSubscription,
  type SubscribeOptions,
} from '../../../src/index.ts';
import { Fleet } from '../../support/fleet.ts';
import { TestSidecar } from '../../support/sidecar.ts';

const COMPONENTS: readonly (readonly [string, () => PubSubDefinition])[] = [
  ['memory', () => memoryPubSub('pubsub')],
  ['durable', () => durablePubSub('pubsub')],
];

const texts = defineTopic<string>('texts');

/** A sidecar whose function ends when the test says so. The first letter of a message is its key. */
class Held extends TestSidecar {
  readonly begun: string[] = [];
  readonly #ends = new Map<string, (outcome: unknown) => void>();

  async subscribe(options: SubscribeOptions): Promise<() => Promise<void>> {
    const subscription = await this.sidecar.pubsub.subscribe(
      texts,
      (text) =>
        new Promise((resolve) => {
          this.begun.push(text);
          this.#ends.set(text, resolve);
        }),
      options,
    );
    return () => subscription.close();
  }

  async publish(...all: readonly string[]): Promise<void> {
    for (const text of all) await this.sidecar.pubsub.publish(texts, text, text[0] === '-' ? {} : { key: text[0] });
    await this.clock.advance(0);
  }

  async end(text: string, outcome: unknown = undefined): Promise<void> {
    this.#ends.get(text)?.(outcome);
    await this.clock.advance(0);
  }

  async endAll(): Promise<void> {
    for (let size = -1; size !== this.begun.length; ) {
      size = this.begun.length;
      for (const text of this.begun) await this.end(text);
    }
  }
}

const held = async (component: PubSubDefinition, options: SubscribeOptions): Promise<Held> => {
  const world = await new Held({ components: [component] }).start();
  await world.subscribe(options);
  return world;
};

describe.each(COMPONENTS)('keys and rates, %s', (_, make) => {
  test('order: one message of a key at a time, in order, and keys beside each other', async () => {
    await using world = await held(make(), { order: 'key' });
    await world.publish('a1', 'a2', 'b1', '-1', '-2', 'a3', 'c1');
    expect(world.begun).toEqual(['a1', 'b1', '-1', '-2', 'c1']);
    await world.end('b1');
    expect(world.begun).toHaveLength(5);
    await world.end('a1');
    expect(world.begun.slice(5)).toEqual(['a2']);
    await world.publish('b2');
    await world.end('a2');
    expect(world.begun.slice(6)).toEqual(['b2', 'a3']);
    await world.endAll();
  });

  test('order: a message that is retried holds up its key, and takes no place of others', async () => {
    await using world = await held(make(), { order: 'key', concurrency: 2, retry: { delay: '1s', jitter: 0 } });
    await world.publish('a1', 'b1', 'c1', 'a2', 'b2', '-1');
    await world.end('a1', 'RETRY');
    await world.end('b1', 'RETRY');
    expect(world.begun).toEqual(['a1', 'b1', 'c1', '-1']);
    await world.end('c1');
    await world.end('-1');
    await world.clock.advance('1s');
    expect(world.begun.slice(4).sort()).toEqual(['a1', 'b1']);
    await world.end('a1');
    expect(world.begun.slice(6)).toEqual(['a2']);
    await world.endAll();
    expect(world.begun.slice(7)).toEqual(['b2']);
    const attempts = world.emitted('messageDelivered').map(({ attempt }) => attempt);
    expect(attempts).toEqual([1, 1, 2, 2, 1, 1]);
  });

  test('order: a message without a key is retried beside others', async () => {
    await using world = await held(make(), { order: 'key', concurrency: 2, retry: { delay: '1s', jitter: 0 } });
    await world.publish('-1', '-2', '-3');
    await world.end('-1', 'RETRY');
    expect(world.begun).toEqual(['-1', '-2', '-3']);
    await world.end('-2');
    await world.end('-3');
    await world.clock.advance('1s');
    await world.endAll();
    expect(world.begun).toEqual(['-1', '-2', '-3', '-1']);
  });

  test('order: a dead letter frees its key, and keeps it', async () => {
    await using world = await held(make(), { order: 'key', deadLetterTopic: 'dead' });
    const dead: unknown[] = [];
    await world.sidecar.pubsub.subscribe('pubsub', 'dead', ({ data }, { message }) =>
      dead.push([data, message.metadata['partitionKey']]),
    );
    await world.publish('a1', 'a2');
    await world.end('a1', 'DROP');
    await world.endAll();
    expect(dead).toEqual([['a1', 'a']]);
    expect(world.begun).toEqual(['a1', 'a2']);
  });

  test('order: a key with thousands of messages holds up no other', async () => {
    await using world = await new TestSidecar({ components: [make()] }).start();
    const begun: string[] = [];
    let free = (): void => undefined;
    const first = new Promise<void>((resolve) => {
      free = resolve;
    });
    const take = (text: string): Promise<void> | undefined => {
      begun.push(text);
      return text === 'hot 0' ? first : undefined;
    };
    await world.sidecar.pubsub.subscribe(texts, take, { order: 'key' });
    const entries = Array.from({ length: 3_000 }, (_hot, index) => ({ entryId: `${index}`, event: `hot ${index}` }));
    await world.sidecar.pubsub.publishBulk(texts, entries, { key: 'h' });
    for (const text of ['a1', 'a2', 'b1']) await world.sidecar.pubsub.publish(texts, text, { key: text[0] });
    await world.clock.advance(0);
    expect(begun).toEqual(['hot 0', 'a1', 'a2', 'b1']);
    free();
    await world.clock.settled();
    expect(begun.slice(4)).toEqual(entries.slice(1).map(({ event }) => event));
  });

  test('order: the next subscription goes on in order', async () => {
    await using world = await new Held({ components: [make()] }).start();
    const close = await world.subscribe({ order: 'key' });
    await world.publish('a1', 'a2', 'b1', 'a3');
    await world.end('b1');
    const closed = close();
    await world.end('a1', 'RETRY');
    await closed;
    world.begun.length = 0;
    await world.subscribe({ order: 'key' });
    await world.clock.advance(0);
    expect(world.begun).toEqual(['a1']);
    await world.endAll();
    expect(world.begun).toEqual(['a1', 'a2', 'a3']);
  });

  test('perKey: as many of a key at a time, and a retry holds up nothing', async () => {
    await using world = await held(make(), { perKey: 2, retry: { delay: '1s', jitter: 0 } });
    await world.publish('a1', 'a2', 'a3', 'a4', 'b1');
    expect(world.begun).toEqual(['a1', 'a2', 'b1']);
    await world.end('a2', 'RETRY');
    expect(world.begun.slice(3)).toEqual(['a3']);
    await world.clock.advance('1s');
    expect(world.begun).toHaveLength(4);
    await world.end('a1');
    await world.endAll();
    expect(world.begun.slice(4).sort()).toEqual(['a2', 'a4']);
  });

  test('a batch has no more of a key than its limit', async () => {
    await using world = await new TestSidecar({ components: [make()] }).start();
    const batches: string[][] = [];
    const take = (entries: readonly { readonly data: string }[]): void =>
      void batches.push(entries.map(({ data }) => data));
    await world.sidecar.pubsub.subscribeBulk(texts, take, { order: 'key' });
    for (const text of ['a1', 'a2', 'b1', 'a3']) await world.sidecar.pubsub.publish(texts, text, { key: text[0] });
    await world.clock.advance('10s');
    expect(batches).toEqual([['a1', 'b1'], ['a2'], ['a3']]);
  });

  test('rate: no more in any span of its time', async () => {
    await using world = await new TestSidecar({ components: [make()] }).start();
    const at: number[] = [];
    const since = world.clock.now();
    await world.sidecar.pubsub.subscribe(texts, () => void at.push(world.clock.now() - since), {
      rate: { max: 3, per: '1s' },
    });
    for (let n = 0; n < 2; n++) await world.sidecar.pubsub.publish(texts, 'early');
    await world.clock.advance('600ms');
    for (let n = 0; n < 6; n++) await world.sidecar.pubsub.publish(texts, 'late');
    await world.clock.advance('10s');
    expect(at).toEqual([0, 0, 600, 1_000, 1_000, 1_600, 2_000, 2_000]);
    expect(world.clock.pendingTimers).toBeLessThan(10);
  });

  test('rate: repeated deliveries count, and the next subscription goes on with it', async () => {
    await using world = await held(make(), { rate: { max: 2, per: '1m' }, retry: { delay: 1, jitter: 0 } });
    await world.publish('-1', '-2');
    await world.end('-1', 'RETRY');
    await world.clock.advance('10s');
    expect(world.begun).toEqual(['-1', '-2']);
    await world.end('-2');
    await world.clock.advance('50s');
    expect(world.begun).toEqual(['-1', '-2', '-1']);
    await world.endAll();
  });

  test('a hundred thousand a day', async () => {
    await using world = await new TestSidecar({ components: [make()] }).start();
    let count = 0;
    await world.sidecar.pubsub.subscribe(texts, () => void count++, { rate: { max: 1_000, per: '1d' } });
    const entries = Array.from({ length: 1_500 }, (_, index) => ({ entryId: `${index}`, event: 'text' }));
    await world.sidecar.pubsub.publishBulk(texts, entries);
    await world.clock.advance('23h');
    expect(count).toBe(1_000);
    await world.clock.advance('2h');
    expect(count).toBe(1_500);
  });

  test('subscriptions in the options have them', async () => {
    const calls: string[] = [];
    await using world = await new TestSidecar({
      components: [make()],
      app: {
        fetch: async (request) => {
          calls.push(((await request.json()) as { data: string }).data);
          return new Response();
        },
      },
      subscriptions: [{ pubsubName: 'pubsub', topic: 'texts', route: '/', rate: { max: 1, per: '1s' } }],
    }).start();
    for (const text of ['one', 'two']) await world.sidecar.pubsub.publish(texts, text);
    await world.clock.advance(0);
    expect(calls).toEqual(['one']);
    await world.clock.advance('1s');
    expect(calls).toEqual(['one', 'two']);
  });
});

describe('several hosts', () => {
  test.each(['stops', 'stands still'])('the order of keys holds when the host of the group %s', async (end) => {
    await using fleet = new Fleet();
    const order = new Map<string, number[]>();
    const begun: string[] = [];
    const [a, b, publisher] = [await fleet.join(), await fleet.join(), await fleet.join()];
    for (const member of [a, b, publisher]) {
      const take = async ({ data }: { data?: string }, { attempt }: { attempt: number }): Promise<unknown> => {
        const [key = '', number = ''] = data?.split(' ') ?? [];
        begun.push(member === publisher ? 'publisher' : member === a ? 'a' : 'b');
        await new Promise((resolve) => setImmediate(resolve));
        if (attempt === 1 && Number(number) % 5 === 3) return 'RETRY';
        order.set(key, [...(order.get(key) ?? []), Number(number)]);
        return undefined;
      };
      await member.sidecar.pubsub.subscribe('pubsub', 'texts', take, { order: 'key', retry: { delay: '20ms' } });
    }
    await fleet.pass(2);
    for (let number = 0; number < 40; number++)
      for (const key of ['a', 'b', 'c'])
        await publisher.sidecar.pubsub.publish('pubsub', 'texts', `${key} ${number}`, { key });
    // On a busy machine none has begun yet.
    await expect.poll(() => begun).not.toEqual([]);
    const first = begun[0] === 'a' ? a : begun[0] === 'b' ? b : publisher;
    if (end === 'stops') {
      fleet.members.splice(fleet.members.indexOf(first), 1);
      await first.stop();
    }
    const rest = fleet.members.filter((member) => end === 'stops' || member !== first);
    const seenOf = (key: string): readonly number[] => [...new Set(order.get(key))];
    for (let second = 0; second < 120 && ['a', 'b', 'c'].some((key) => seenOf(key).length < 40); second++)
      await fleet.pass(1, rest);
    for (const key of ['a', 'b', 'c']) expect(seenOf(key)).toEqual(Array.from({ length: 40 }, (_, number) => number));
    expect(new Set(begun).size).toBeGreaterThan(1);
  });
});

describe('wrong options', () => {
  test.each<[SubscribeOptions, string]>([
    [{ order: 'strict' as 'key' }, 'order'],
    [{ perKey: 0 }, 'perKey'],
    [{ order: 'key', perKey: 2 }, "perKey is 2: expected 1, or nothing, with order: 'key'"],
    [{ rate: { max: 0, per: '1s' } }, 'max'],
    [{ rate: { max: 1_000_001, per: '1s' } }, 'max'],
    [{ rate: { max: 1, per: 0 } }, 'per'],
    [{ rate: { max: 1 } as { max: number; per: '1s' } }, 'per'],
    [{ rate: { max: 1, per: '1s', burst: 2 } as { max: number; per: '1s' } }, 'burst'],
  ])('%j', async (options, message) => {
    await using world = await new TestSidecar({ components: [memoryPubSub('pubsub')] }).start();
    await expect(world.sidecar.pubsub.subscribe(texts, () => undefined, options)).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
      message: expect.stringContaining(message) as string,
    });
  });

  test.each<[PublishOptions, string]>([
    [{ key: '' }, 'key in options of publish is "": expected a text that is not empty'],
    [{ key: 7 as unknown as string }, 'key in options of publish is 7: expected a text that is not empty'],
  ])('publish with %j', async (options, message) => {
    await using world = await new TestSidecar({ components: [memoryPubSub('pubsub')] }).start();
    await expect(world.sidecar.pubsub.publish(texts, 'text', options)).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
      message,
    });
    const entries = [{ entryId: '1', event: 'text', ...options } as { entryId: string; event: string }];
    await expect(world.sidecar.pubsub.publishBulk(texts, entries)).rejects.toMatchObject({
      message: message.replace('options of publish', 'entry 0 of publishBulk'),
    });
  });
});

describe('a component that cannot keep them', () => {
  const problem = (limit: string): string =>
    `${limit} cannot be kept by component broker (pubsub.redis) over all its processes, which keeps none of order, perKey and rate: expected a component such as durablePubSub, or a subscription without ${limit}`;
  const LIMITS: readonly (readonly [string, Partial<RouteSubscription>])[] = [
    ['order', { order: 'key' }],
    ['perKey', { perKey: 1 }],
    ['rate', { rate: { max: 1, per: '1s' } }],
  ];

  test.each(LIMITS)('%s: a subscription in code is an error before the start', async (limit, options) => {
    const { sidecar } = new TestSidecar({ components: [redisPubSub('broker', { url: 'redis://127.0.0.1:1' })] });
    const error: unknown = await sidecar.pubsub
      .subscribe('broker', 'texts', () => undefined, options)
      .catch((e: unknown) => e);
    expect(isSidecarError(error) && [error.code, error.message]).toEqual(['ERR_INVALID_ARGUMENT', problem(limit)]);
  });
});

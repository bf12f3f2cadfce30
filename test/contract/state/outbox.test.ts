import { describe, expect, test } from 'vitest';
import {
  durablePubSub,
  keyValueStore,
  memoryPubSub,
  memoryState,
  sharedState,
  type WireName,
} from '../../../src/index.ts';
import type { PubSubDefinition } from '../../../src/kit/index.ts';
import { virtualClock } from '../../../src/testing/index.ts';
import { type StateWorld, type StateWorldOptions, startStateWorld } from '../../support/state-world.ts';

type Event = Readonly<Record<string, unknown>>;

interface OutboxWorld {
  readonly world: StateWorld;
  readonly events: Event[];
}

const OUTBOX = { pubsubName: 'pubsub', topic: 'orders' };

async function startWorld(options: StateWorldOptions = {}): Promise<OutboxWorld> {
  const world = await startStateWorld({
    ...options,
    components: [keyValueStore('orders', { outbox: OUTBOX }), memoryPubSub('pubsub'), ...(options.components ?? [])],
  });
  const events: Event[] = [];
  await world.sidecar.pubsub.subscribe('pubsub', 'orders', (event) => {
    events.push({ ...event } as unknown as Event);
  });
  return { world, events };
}

const upsert = (key: string, value: unknown, more: object = {}): object => ({
  operation: 'upsert',
  request: { key, value, ...more },
});

async function transact(world: StateWorld, ...operations: readonly object[]): Promise<number> {
  const { status } = await world.send('POST', '/v1.0/state/orders/transaction', { operations });
  await world.clock.settled();
  return status;
}

/** A pub/sub in memory that refuses messages with such data. */
function refusing(isRefused: (data: unknown) => boolean): PubSubDefinition {
  const pubsub = memoryPubSub('pubsub');
  return {
    ...pubsub,
    open: async (context) => {
      const component = await pubsub.open(context);
      return {
        subscribe: (options) => component.subscribe(options),
        close: () => component.close(),
        publish: (messages) => {
          const isOne = messages.some((message) => isRefused(JSON.parse(Buffer.from(message.data).toString()).data));
          return isOne ? Promise.reject(new Error('refused')) : component.publish(messages);
        },
      };
    },
  };
}

/** A pub/sub that keeps the data of what is published. */
function recording(published: unknown[]): PubSubDefinition {
  const pubsub = memoryPubSub('pubsub');
  return {
    ...pubsub,
    open: async (context) => {
      const component = await pubsub.open(context);
      return {
        subscribe: (options) => component.subscribe(options),
        close: () => component.close(),
        publish: async (messages) => {
          for (const { data } of messages) published.push(JSON.parse(Buffer.from(data).toString()).data);
          return [];
        },
      };
    },
  };
}

describe('an outbox', () => {
  test.each<[WireName, string]>([
    ['sidecar', 'com.sidecar.event.sent'],
    ['dapr', 'com.dapr.event.sent'],
  ])('publishes one event for each upsert, in order, and none for others (wire %s)', async (wire, type) => {
    const { world, events } = await startWorld({ wire });
    await using _ = world;
    await world.send('POST', '/v1.0/state/orders', [{ key: 'x', value: 1 }]);
    expect(
      await transact(world, upsert('a', { n: 1 }), { operation: 'delete', request: { key: 'x' } }, upsert('b', 'text')),
    ).toBe(204);
    const common = {
      ...{ source: 'shop', type, specversion: '1.0', topic: 'orders', pubsubname: 'pubsub' },
      time: '2026-01-01T00:00:00.000Z',
    };
    expect(events).toEqual([
      expect.objectContaining({ ...common, datacontenttype: 'application/json', data: { n: 1 } }),
      expect.objectContaining({ ...common, datacontenttype: 'text/plain', data: 'text' }),
    ]);
    expect(new Set(events.map(({ id }) => id)).size).toBe(2);
    expect(await world.read('orders', 'b')).toBe('text');
  });

  test('publishes nothing of a transaction that fails', async () => {
    const { world, events } = await startWorld();
    await using _ = world;
    expect(await transact(world, upsert('a', 1), upsert('b', 1, { etag: 'x' }))).toBe(409);
    expect(await transact(world, upsert('a', 1), { operation: 'x', request: { key: 'a' } })).toBe(400);
    await world.clock.advance(120_000);
    expect(events).toEqual([]);
  });

  test('metadata become attributes as far as CloudEvents has such names, and do not replace what is fixed', async () => {
    const { world, events } = await startWorld();
    await using _ = world;
    const metadata = {
      ...{ source: 'mine', type: 'order.placed', subject: 'order-1', mine: 'yes' },
      ...{
        id: 'x',
        specversion: '0.3',
        data: 'x',
        topic: 'x',
        pubsubname: 'x',
        ttlInSeconds: '100',
        'a-b': 'x',
        Upper: 'x',
      },
    };
    await transact(world, upsert('a', 1, { metadata, contentType: 'application/vnd.order+json' }));
    const [event = {}] = events;
    expect(event).toMatchObject({
      ...{ source: 'mine', type: 'order.placed', subject: 'order-1', mine: 'yes', data: 1, topic: 'orders' },
      ...{ specversion: '1.0', datacontenttype: 'application/vnd.order+json', pubsubname: 'pubsub' },
    });
    expect(Object.keys(event)).not.toEqual(expect.arrayContaining(['ttlInSeconds']));
    expect(event).not.toHaveProperty('a-b');
    expect(event).not.toHaveProperty('Upper');
    expect(event['id']).not.toBe('x');
  });

  test('content types that are not JSON make the value a text', async () => {
    const { world, events } = await startWorld();
    await using _ = world;
    await transact(
      world,
      upsert('a', { n: 1 }, { contentType: 'text/plain' }),
      upsert('b', 'x', { contentType: 'application/json' }),
    );
    expect(events.map(({ data }) => data)).toEqual(['{"n":1}', 'x']);
  });

  test.each<[what: string, more: object]>([
    ['a time that is none', { metadata: { time: 'yesterday' } }],
    ['an empty subject', { metadata: { subject: '' } }],
    ['a data schema that is no URI', { metadata: { dataschema: 'no URI' } }],
    ['a content type that is none', { contentType: 'json' }],
    ['a content type among the metadata that is none', { metadata: { datacontenttype: 'json' } }],
  ])('%s: the transaction is refused, and does not hold up the events of others', async (_what, more) => {
    const { world, events } = await startWorld();
    await using _ = world;
    const wrong = [upsert('a', 1), upsert('b', 2, more)];
    const refused = await world.send('POST', '/v1.0/state/orders/transaction', { operations: wrong });
    expect(refused.error).toEqual([400, 'ERR_MALFORMED_REQUEST']);
    expect(refused.text).toContain('the event of key \\"b\\" cannot be published');
    expect(await world.read('orders', 'a')).toBeUndefined();
    expect(await transact(world, upsert('c', 3))).toBe(204);
    expect(events.map(({ data }) => data)).toEqual([3]);
  });

  test('a projection is published in place of the value, and not saved', async () => {
    const { world, events } = await startWorld();
    await using _ = world;
    const metadata = { 'outbox.projection': 'true' };
    const operations = [
      upsert('a', { secret: 1 }),
      upsert('a', { shown: 1 }, { metadata }),
      upsert('a', 'late', { metadata }),
    ];
    expect(await transact(world, ...operations)).toBe(204);
    expect(events.map(({ data }) => data)).toEqual([{ shown: 1 }]);
    expect(await world.read('orders', 'a')).toEqual({ secret: 1 });
    expect(await transact(world, upsert('b', 1), upsert('c', 1, { metadata }))).toBe(400);
    expect(await world.read('orders', 'b')).toBeUndefined();
  });

  test('an event that cannot be published stays, and is published when it can', async () => {
    let isDown = true;
    const failing = refusing(() => isDown);
    const world = await startStateWorld({ components: [keyValueStore('orders', { outbox: OUTBOX }), failing] });
    await using _ = world;
    const events: unknown[] = [];
    await world.sidecar.pubsub.subscribe('pubsub', 'orders', ({ data }) => void events.push(data));
    expect(await transact(world, upsert('a', 1), upsert('b', 2))).toBe(204);
    await world.clock.advance(10_000);
    expect(events).toEqual([]);
    expect(world.logger.at('warn').map(({ message }) => message)).toContain(
      'events of an outbox could not be published: it is tried again',
    );
    isDown = false;
    await world.clock.advance(60_000);
    expect(events).toEqual([1, 2]);
    await world.clock.advance('1h');
    expect(events).toEqual([1, 2]);
  });

  test('a thousand events of a transaction are published in their order, each once', async () => {
    const { world, events } = await startWorld();
    await using _ = world;
    const values = Array.from({ length: 1_000 }, (_value, index) => index);
    expect(await transact(world, ...values.map((value) => upsert(`k${value}`, value)))).toBe(204);
    await world.clock.advance('5m');
    expect(events.map(({ data }) => data)).toEqual(values);
    expect(new Set(events.map(({ id }) => id)).size).toBe(1_000);
  });

  test('what a former process has left comes first, in thousands, though its clock was a year ahead', async () => {
    const state = sharedState(memoryState());
    await using _kept = await startStateWorld({ state });
    const published: unknown[] = [];
    const left = Array.from({ length: 2_500 }, (_value, index) => index);
    const start = (startAt: string, pubsub: PubSubDefinition): Promise<StateWorld> =>
      startStateWorld({
        state,
        clock: virtualClock({ startAt }),
        components: [keyValueStore('orders', { outbox: OUTBOX }), pubsub],
      });
    const former = await start(
      '2030-01-01T00:00:00Z',
      refusing(() => true),
    );
    for (let at = 0; at < left.length; at += 500)
      await transact(former, ...left.slice(at, at + 500).map((value) => upsert(`k${value % 7}`, value)));
    await former.stop();
    await using world = await start('2029-01-01T00:00:00Z', recording(published));
    for (const value of [2_500, 2_501]) expect(await transact(world, upsert('k1', value))).toBe(204);
    await world.clock.advance('5m');
    expect(published).toEqual([...left, 2_500, 2_501]);
  });

  test('two processes with one store publish each event once, those of each transaction in order and together', async () => {
    const state = sharedState(memoryState());
    const published: unknown[] = [];
    const start = (): Promise<StateWorld> =>
      startStateWorld({ state, components: [keyValueStore('orders', { outbox: OUTBOX }), recording(published)] });
    await using one = await start();
    await using other = await start();
    const values = Array.from({ length: 600 }, (_value, index) => index);
    const sent = [0, 1, 2].map((part) => values.slice(200 * part, 200 * (part + 1)));
    const statuses = await Promise.all(
      sent.map((part, index) =>
        transact(index === 1 ? other : one, ...part.map((value) => upsert(`k${value}`, value))),
      ),
    );
    expect(statuses).toEqual([204, 204, 204]);
    for (const { clock } of [one, other]) await clock.advance('5m');
    const firsts = published.filter((value) => Number(value) % 200 === 0).map((value) => Number(value) / 200);
    expect(published).toEqual(firsts.flatMap((part) => sent[part]));
    expect(firsts.toSorted()).toEqual([0, 1, 2]);
  });

  test('an event that the component never takes holds up the others for a while only, and is not lost', async () => {
    let isPoison = true;
    const world = await startStateWorld({
      components: [keyValueStore('orders', { outbox: OUTBOX }), refusing((data) => isPoison && data === 'poison')],
    });
    await using _ = world;
    const events: unknown[] = [];
    await world.sidecar.pubsub.subscribe('pubsub', 'orders', ({ data }) => void events.push(data));
    expect(await transact(world, upsert('a', 1), upsert('b', 'poison'), upsert('c', 2))).toBe(204);
    expect(events).toEqual([1]);
    await world.clock.advance('1m');
    expect(events).toEqual([1, 2]);
    await transact(world, upsert('d', 3));
    expect(events).toEqual([1, 2, 3]);
    expect(world.logger.at('error').map(({ message }) => message)).toContain(
      'an event of an outbox cannot be published: it is tried again',
    );
    isPoison = false;
    await world.clock.advance('2m');
    expect(events).toEqual([1, 2, 3, 'poison']);
  });

  test.each([3, 12, 45])(
    '%i events in a row that the component never takes do not stop others, and hold up those of their keys',
    async (count) => {
      let isPoison = true;
      const isRefused = (data: unknown): boolean => isPoison && String(data).startsWith('poison');
      const world = await startStateWorld({
        components: [keyValueStore('orders', { outbox: OUTBOX }), refusing(isRefused)],
      });
      await using _ = world;
      const events: unknown[] = [];
      await world.sidecar.pubsub.subscribe('pubsub', 'orders', ({ data }) => void events.push(data));
      const poison = Array.from({ length: count }, (_value, index) => upsert(`p${index}`, `poison ${index}`));
      await transact(world, ...poison, upsert('a', 1));
      await transact(world, upsert('p0', 'after poison'), upsert('b', 2));
      await world.clock.advance('5m');
      expect(events).toEqual([1, 2]);
      // They do not hold up new ones for a moment, even right after they were tried again.
      for (let n = 3; n < 40; n++) {
        await transact(world, upsert('a', n), upsert('p1', `after poison ${n}`));
        expect(events).toHaveLength(n);
        await world.clock.advance('1s');
      }
      isPoison = false;
      await world.clock.advance('2m');
      const late = events.slice(39).map(String);
      expect(late.filter((data) => data.startsWith('poison'))).toHaveLength(count);
      expect(late).toHaveLength(count + 1 + 37);
      // Those of each key are in order.
      expect(late.indexOf('poison 0')).toBeLessThan(late.indexOf('after poison'));
      const ofOne = late.filter((data) => data === 'poison 1' || /after poison \d/.test(data));
      expect(ofOne).toEqual([
        'poison 1',
        ...Array.from({ length: 37 }, (_value, index) => `after poison ${index + 3}`),
      ]);
    },
  );

  test('after a long outage of the pub/sub, events come in their order, those of the outage, too', async () => {
    let isDown = true;
    const world = await startStateWorld({
      components: [keyValueStore('orders', { outbox: OUTBOX }), refusing(() => isDown)],
    });
    await using _ = world;
    const events: unknown[] = [];
    await world.sidecar.pubsub.subscribe('pubsub', 'orders', ({ data }) => void events.push(data));
    for (let n = 0; n < 30; n++) {
      await transact(world, upsert(`a${n}`, 2 * n), upsert(`b${n}`, 2 * n + 1));
      await world.clock.advance('10s');
    }
    expect(events).toEqual([]);
    isDown = false;
    await world.clock.advance('2m');
    expect(events).toEqual(Array.from({ length: 60 }, (_value, index) => index));
  });

  test('a pub/sub that comes back while one event after the other fails gets all of them at once', async () => {
    let refusals = Number.POSITIVE_INFINITY;
    const world = await startStateWorld({
      components: [keyValueStore('orders', { outbox: OUTBOX }), refusing(() => refusals-- > 0)],
    });
    await using _ = world;
    const events: unknown[] = [];
    await world.sidecar.pubsub.subscribe('pubsub', 'orders', ({ data }) => void events.push(data));
    await transact(world, ...[0, 1, 2, 3].map((n) => upsert(`a${n}`, n)));
    // All of them have failed often by now.
    await world.clock.advance('15m');
    refusals = 2;
    await world.clock.advance('31s');
    expect(events).toEqual([2, 0, 1, 3]);
  });

  test('what a stopped sidecar has left, the next one publishes', async () => {
    const state = sharedState(memoryState());
    const keep = await startStateWorld({ appId: 'keeper', state });
    await using _keep = keep;
    const components = [keyValueStore('orders', { outbox: OUTBOX })];
    const first = await startStateWorld({ state, components: [...components, refusing(() => true)] });
    expect(await transact(first, upsert('a', 1))).toBe(204);
    await first.stop();
    const published: unknown[] = [];
    await using world = await startStateWorld({ state, components: [...components, recording(published)] });
    await world.clock.settled();
    expect(published).toEqual([1]);
  });

  test('transactions of one moment are published in their order', async () => {
    const { world, events } = await startWorld();
    await using _ = world;
    for (let n = 0; n < 100; n++)
      await world.sidecar.state.transact('orders', [{ operation: 'upsert', key: `k${n}`, value: n }]);
    await world.clock.settled();
    expect(events.map(({ data }) => data)).toEqual(Array.from({ length: 100 }, (_value, index) => index));
  });

  test('with a durable pub/sub', async () => {
    const world = await startStateWorld({
      components: [keyValueStore('orders', { outbox: OUTBOX }), durablePubSub('pubsub')],
    });
    await using _ = world;
    const events: unknown[] = [];
    await world.sidecar.pubsub.subscribe('pubsub', 'orders', ({ data }) => void events.push(data));
    await transact(world, upsert('a', { n: 1 }), upsert('b', { n: 2 }));
    await world.clock.advance(1_000);
    expect(events).toEqual([{ n: 1 }, { n: 2 }]);
  });

  test('a pub/sub that is not loaded stops the start', async () => {
    const orders = keyValueStore('orders', { outbox: { pubsubName: 'none', topic: 'orders' } });
    await expect(startStateWorld({ components: [orders, memoryPubSub('pubsub')] })).rejects.toThrow(
      'state store orders publishes to "none", and there is no such pub/sub component',
    );
  });
});

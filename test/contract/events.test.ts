import { describe, expect, test } from 'vitest';
import { startWorld } from '../support/world.ts';

const SUBSCRIPTION = { pubsubname: 'pubsub', topic: 'orders', route: '/orders' };
const message = { pubsubName: 'pubsub', topic: 'orders', messageId: 'my-id' };
const delivery = { ...message, group: 'shop', route: '/orders', attempt: 1 };
const QUERY = 'metadata.cloudevent.id=my-id';

describe('sidecar.events', () => {
  test('tells of a message from publish to success', async () => {
    await using world = await startWorld();
    await world.publish('x', { query: QUERY });
    expect(world.events).toEqual([
      { name: 'subscriptionStarted', info: { pubsubName: 'pubsub', topic: 'orders' } },
      { name: 'appReady', info: {} },
      { name: 'messageDelivering', info: delivery },
      { name: 'messagePublished', info: message },
      { name: 'messageDelivered', info: { ...delivery, durationMs: 0 } },
    ]);
  });

  test('tells of retries and how long they wait', async () => {
    await using world = await startWorld({ answer: (_, nth) => (nth === 1 ? { status: 503 } : undefined) });
    await world.publish('x', { query: QUERY });
    const [retrying] = world.emitted('messageRetrying');
    expect(retrying).toEqual({
      ...delivery,
      reason: 'the application answered 503',
      error: new Error('the application answered 503'),
      delayMs: expect.any(Number),
    });
    const delayMs = Number(retrying?.['delayMs']);
    await world.clock.advance(Math.floor(delayMs) - 1);
    expect(world.deliveries).toHaveLength(1);
    await world.clock.advance(2);
    expect(world.deliveries).toHaveLength(2);
  });

  test('tells of what is dropped and what is dead-lettered', async () => {
    const discovery = [SUBSCRIPTION, { ...SUBSCRIPTION, topic: 'second', deadLetterTopic: 'dead' }];
    await using world = await startWorld({ discovery, answer: () => ({ body: { status: 'DROP' } }) });
    await world.publish('x', { query: QUERY });
    await world.publish('x', { query: QUERY, topic: 'second' });
    const reason = 'the application answered DROP';
    const told = { ...delivery, reason, error: new Error(reason) };
    expect(world.emitted('messageDropped')).toEqual([told]);
    expect(world.emitted('messageDeadLettered')).toEqual([{ ...told, topic: 'second', deadLetterTopic: 'dead' }]);
  });

  test('passes the message with every event about it', async () => {
    const answers = [{ status: 503 }, { body: { status: 'DROP' } }];
    await using world = await startWorld({ answer: (_, nth) => answers[nth - 1] });
    const told: (readonly [string, number, string])[] = [];
    for (const name of ['messagePublished', 'messageDelivering', 'messageRetrying', 'messageDropped'] as const)
      world.sidecar.events.on(name, (info, message) =>
        told.push([
          name,
          'attempt' in info ? info.attempt : 0,
          (JSON.parse(String(Buffer.from(message.data))) as { data: string }).data,
        ]),
      );
    await world.publish('x', { query: QUERY });
    await world.pass('1m');
    expect(told).toEqual([
      ['messageDelivering', 1, 'x'],
      ['messagePublished', 0, 'x'],
      ['messageRetrying', 1, 'x'],
      ['messageDelivering', 2, 'x'],
      ['messageDropped', 2, 'x'],
    ]);
  });

  test('tells of an attempt that a stop has ended', async () => {
    const world = await startWorld();
    await world.sidecar.pubsub.subscribe(
      'pubsub',
      'second',
      (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('broken off')))),
    );
    await world.sidecar.pubsub.publish('pubsub', 'second', 1);
    await world[Symbol.asyncDispose]();
    expect(world.emitted('messageUnsettled')).toMatchObject([
      { topic: 'second', group: 'shop', attempt: 1, reason: 'broken off' },
    ]);
  });

  test('tells how long the application took', async () => {
    await using world = await startWorld({
      answer: async () => {
        void world.clock.advance(250);
        await new Promise((resolve) => world.clock.setTimeout(() => resolve(undefined), 200));
        return undefined;
      },
    });
    await world.publish('x');
    const [told] = world.emitted('messageDelivered');
    expect(told?.['durationMs']).toBeGreaterThanOrEqual(200);
    expect(told?.['durationMs']).toBeLessThanOrEqual(250);
  });

  test('tells of subscriptions that were refused', async () => {
    await using world = await startWorld({ discovery: [{ ...SUBSCRIPTION, pubsubname: 'nope' }] });
    const reason = 'pubsub nope is not found: expected pubsub';
    expect(world.emitted('subscriptionRefused')).toEqual([
      { pubsubName: 'nope', topic: 'orders', reason, error: new Error(reason) },
    ]);
  });

  test('tells of every entry of a bulk publish that was published', async () => {
    await using world = await startWorld();
    const entries = ['1', '2', '3'].map((entryId) => ({ entryId, event: entryId === '2' ? 'x'.repeat(999) : 'x' }));
    await world.publishBulk(entries, 'metadata.maxBulkPubBytes=500');
    expect(world.emitted('messagePublished')).toHaveLength(2);
  });

  test('tells of raw payloads with a UUID', async () => {
    await using world = await startWorld();
    await world.publish('x', { query: 'metadata.rawPayload=true' });
    expect(world.emitted('messagePublished')).toMatchObject([{ messageId: expect.stringMatching(/^[0-9a-f-]{36}$/) }]);
  });

  test('a listener that throws does not undo what has happened', async () => {
    await using world = await startWorld();
    world.sidecar.events.on('messagePublished', () => {
      throw new Error('listener');
    });
    world.sidecar.events.on('messageDelivered', () => {
      throw new Error('listener');
    });
    expect((await world.publish('x')).status).toBe(204);
    await world.clock.advance('1h');
    expect(world.deliveries).toHaveLength(1);
  });

  test('a listener that throws keeps no other one from it', async () => {
    await using world = await startWorld();
    const { events } = world.sidecar;
    const told: string[] = [];
    const failing = (): void => {
      throw new Error('listener');
    };
    const removed = (): number => told.push('removed');
    events.on('messagePublished', failing);
    events.once('messagePublished', () => told.push('once'));
    events.once('messagePublished', removed);
    events.on('messagePublished', () => told.push('on'));
    events.off('messagePublished', removed);
    for (const _ of [1, 2]) await world.publish('x');
    expect(told).toEqual(['once', 'on', 'on']);
    events.off('messagePublished', failing);
    await world.publish('x');
    expect(told).toEqual(['once', 'on', 'on', 'on']);
  });

  test('can be listened to, and nothing else', async () => {
    await using world = await startWorld();
    const { events } = world.sidecar;
    expect(Object.keys(events)).toEqual(['on', 'once', 'off']);
    expect('emit' in events || 'removeAllListeners' in events).toBe(false);
    expect(Object.isFrozen(events)).toBe(true);
    const listener = (): void => undefined;
    expect(events.on('messagePublished', listener).off('messagePublished', listener)).toBe(events);
  });
});

import { describe, expect, test } from 'vitest';
import { type DeliveryContext, durablePubSub, memoryPubSub } from '../../src/index.ts';
import { NEVER } from '../support/app.ts';
import { startWorld, type World, type WorldOptions } from '../support/world.ts';

const COMPONENTS = [
  ['memory', () => memoryPubSub('pubsub')],
  ['durable', () => durablePubSub('pubsub')],
] as const;

/** A function that processes until it is told how to end. */
class Gate {
  readonly calls: { readonly context: DeliveryContext; readonly end: (error?: Error) => void }[] = [];

  readonly pass = (_event: unknown, context: DeliveryContext): Promise<void> =>
    new Promise((resolve, reject) => {
      this.calls.push({ context, end: (error) => (error === undefined ? resolve() : reject(error)) });
    });

  get attempts(): readonly number[] {
    return this.calls.map(({ context }) => context.attempt);
  }

  endAll(): void {
    for (const { end } of this.calls) end();
  }
}

function warnings(world: World): readonly unknown[] {
  return world.logger.at('warn').map(({ message, details }) => [message.slice(0, 43), details]);
}

describe.each(COMPONENTS)('a delivery to a function that takes long, %s component', (_, component) => {
  const start = (options: WorldOptions = {}): Promise<World> =>
    startWorld({ discovery: [], components: [component()], ...options });

  test('has no time-out by default, and is a success in the end', async () => {
    await using world = await start({ deliveryTimeout: 5_000 });
    const gate = new Gate();
    const options = { deadLetterTopic: 'dead', retry: { maxRetries: 2 } };
    await using _subscription = await world.sidecar.pubsub.subscribe('pubsub', 'orders', gate.pass, options);
    await world.sidecar.pubsub.publish('pubsub', 'orders', 'x');
    await world.clock.advance('10m');
    expect([gate.attempts, gate.calls[0]?.context.signal.aborted]).toEqual([[1], false]);
    gate.endAll();
    await world.pass('10m');
    expect([gate.attempts, world.emitted('messageDeadLettered')]).toEqual([[1], []]);
    expect(world.emitted('messageDelivered')).toMatchObject([{ attempt: 1, durationMs: 600_000 }]);
  });

  test('outlives its time-out: its signal fires, and it comes to nobody again before it has ended', async () => {
    await using world = await start();
    const gate = new Gate();
    await using _subscription = await world.sidecar.pubsub.subscribe('pubsub', 'orders', gate.pass, {
      timeout: '5s',
    });
    await world.sidecar.pubsub.publish('pubsub', 'orders', 'x', { cloudEvent: { id: 'one' } });
    await world.clock.advance('4999ms');
    expect(gate.calls[0]?.context.signal.aborted).toBe(false);
    await world.clock.advance(1);
    expect(gate.calls[0]?.context.signal.reason).toMatchObject({ message: 'no result within 5000 ms' });
    await world.clock.advance('10m');
    const details = { pubsubName: 'pubsub', topic: 'orders', messageId: 'one', attempt: 1, timeoutMs: 5_000 };
    expect([gate.attempts, warnings(world)]).toEqual([[1], [['a function has not returned within its time', details]]]);
    gate.endAll();
    await world.pass('10m');
    expect([gate.attempts, world.emitted('messageRetrying')]).toEqual([[1], []]);
    expect(world.emitted('messageDelivered')).toMatchObject([{ attempt: 1 }]);
  });

  test('fails after its time-out: it is delivered again, or dead-lettered, as any other that fails', async () => {
    await using world = await start();
    const gate = new Gate();
    const options = { timeout: 1_000, deadLetterTopic: 'dead', retry: { maxRetries: 1, delay: 10 } };
    await using _subscription = await world.sidecar.pubsub.subscribe('pubsub', 'orders', gate.pass, options);
    await world.sidecar.pubsub.publish('pubsub', 'orders', 'x');
    await world.clock.advance('1m');
    gate.calls[0]?.end(new Error('too late'));
    await world.clock.advance('1m');
    expect(gate.attempts).toEqual([1, 2]);
    gate.calls[1]?.end(new Error('too late again'));
    await world.pass('1m');
    expect(world.emitted('messageDeadLettered')).toMatchObject([{ attempt: 2, reason: 'too late again' }]);
  });

  test('keeps its place among those that are processed at a time', async () => {
    await using world = await start();
    const gate = new Gate();
    const options = { concurrency: 2, timeout: 1_000 };
    await using _subscription = await world.sidecar.pubsub.subscribe('pubsub', 'orders', gate.pass, options);
    for (const data of ['a', 'b', 'c']) await world.sidecar.pubsub.publish('pubsub', 'orders', data);
    await world.clock.advance('10m');
    expect(gate.calls.length).toBe(2);
    gate.calls[1]?.end();
    await world.clock.advance(0);
    expect(gate.calls.length).toBe(3);
    gate.endAll();
  });

  test('is warned of once, after five minutes, with topic and message', async () => {
    await using world = await start();
    const gate = new Gate();
    await using _subscription = await world.sidecar.pubsub.subscribe('pubsub', 'orders', gate.pass);
    await world.sidecar.pubsub.publish('pubsub', 'orders', 'x', { cloudEvent: { id: 'one' } });
    await world.clock.advance('1m');
    await world.sidecar.pubsub.publish('pubsub', 'orders', 'y', { cloudEvent: { id: 'two' } });
    await world.clock.advance('239999ms');
    expect(warnings(world)).toEqual([]);
    await world.clock.advance('10m');
    const text = 'a function has not returned for five minute';
    const details = { pubsubName: 'pubsub', topic: 'orders', attempt: 1, runningMs: 300_000 };
    expect(warnings(world)).toEqual([
      [text, { ...details, messageId: 'one' }],
      [text, { ...details, messageId: 'two' }],
    ]);
    gate.endAll();
  });

  test('a time-out of the resiliency policy fires the signal, and 0 of the subscription switches it off', async () => {
    const spec = {
      policies: { timeouts: { short: '1s' } },
      targets: { components: { pubsub: { inbound: { timeout: 'short' } } } },
    };
    await using world = await start({ resiliency: spec });
    const [by, off] = [new Gate(), new Gate()];
    await using _by = await world.sidecar.pubsub.subscribe('pubsub', 'orders', by.pass);
    await using _off = await world.sidecar.pubsub.subscribe('pubsub', 'other', off.pass, { timeout: 0 });
    await world.sidecar.pubsub.publish('pubsub', 'orders', 'x');
    await world.sidecar.pubsub.publish('pubsub', 'other', 'x');
    await world.clock.advance('10m');
    expect([by.attempts, by.calls[0]?.context.signal.aborted]).toEqual([[1], true]);
    expect([off.attempts, off.calls[0]?.context.signal.aborted]).toEqual([[1], false]);
    by.endAll();
    off.endAll();
  });

  test('a subscription that is closed keeps what it still processes: it comes to no other beside it', async () => {
    await using world = await start();
    const { pubsub } = world.sidecar;
    const [gate, next] = [new Gate(), new Gate()];
    const subscription = await pubsub.subscribe('pubsub', 'orders', gate.pass);
    await pubsub.publish('pubsub', 'orders', 'x');
    await pubsub.publish('pubsub', 'orders', 'y');
    await world.clock.advance(0);
    const closed = subscription.close();
    await world.clock.advance('10s');
    await closed;
    expect(gate.calls.map(({ context }) => context.signal.aborted)).toEqual([true, true]);
    const running = [expect.stringContaining('delivery of message'), expect.stringContaining('of topic orders')];
    expect(warnings(world)).toEqual([
      ['a subscription was closed while functions a', { pubsubName: 'pubsub', topic: 'orders', running }],
    ]);
    await using _next = await pubsub.subscribe('pubsub', 'orders', next.pass);
    await world.clock.advance('10m');
    expect(next.calls).toEqual([]);
    gate.calls[0]?.end();
    gate.calls[1]?.end(new Error('broken off'));
    await world.clock.advance('10m');
    expect(next.attempts.length).toBe(1);
    expect(world.emitted('messageDelivered')).toHaveLength(1);
    next.endAll();
    await world.clock.settled();
    expect(world.emitted('messageDelivered')).toHaveLength(2);
  });
});

describe('a stop', () => {
  test('waits for what a subscription that is being closed still processes', async () => {
    const components = [memoryPubSub('pubsub')];
    await using world = await startWorld({ discovery: [], components });
    const gate = new Gate();
    const subscription = await world.sidecar.pubsub.subscribe('pubsub', 'orders', gate.pass);
    await world.sidecar.pubsub.publish('pubsub', 'orders', 'x');
    await world.clock.advance(0);
    let isStopped = false;
    const stopped = Promise.all([subscription.close(), world.sidecar.stop()]).then(() => {
      isStopped = true;
    });
    await world.clock.advance('1s');
    expect([gate.attempts, isStopped]).toEqual([[1], false]);
    gate.endAll();
    await stopped;
    expect(world.emitted('messageDelivered')).toHaveLength(1);
    const next = new Gate();
    await using other = await startWorld({ discovery: [], components });
    await using _next = await other.sidecar.pubsub.subscribe('pubsub', 'orders', next.pass);
    await other.clock.advance('10m');
    expect(next.attempts).toEqual([]);
  });

  test('waits for what the application still processes for a subscription that it has told no more', async () => {
    const discoveries = [
      { body: JSON.stringify([{ pubsubname: 'pubsub', topic: 'orders', route: '/orders' }]) },
      { body: '[]' },
    ];
    let finish = (): void => undefined;
    const answer = (): Promise<undefined> => new Promise((resolve) => (finish = () => resolve(undefined)));
    const treatment = { health: { interval: 1_000, threshold: 1 } };
    await using world = await startWorld({ discoveries, answer, treatment });
    await world.send('POST', '/v1.0/publish/pubsub/orders', { body: 'x' });
    await world.received(1);
    world.app.health = { status: 500 };
    await world.clock.advance('1s');
    world.app.health = { status: 200 };
    await world.clock.advance('1s');
    let isStopped = false;
    const stopped = world.sidecar.stop().then(() => {
      isStopped = true;
    });
    await world.clock.advance('1s');
    expect(isStopped).toBe(false);
    finish();
    await stopped;
    expect(world.emitted('messageDelivered')).toHaveLength(1);
  });
});

describe('deliveries to the application', () => {
  test.each(['port', 'process'] as const)('have a time-out of their own, or none (via %s)', async (via) => {
    const discovery = [
      { pubsubname: 'pubsub', topic: 'orders', route: '/short', timeout: 1_000 },
      { pubsubname: 'pubsub', topic: 'other', route: '/off', timeout: 0 },
    ];
    await using world = await startWorld({ via, discovery, answer: () => NEVER });
    await world.sidecar.pubsub.publish('pubsub', 'orders', 'x');
    await world.sidecar.pubsub.publish('pubsub', 'other', 'x');
    await world.received(2);
    await world.clock.advance('1050ms');
    expect(world.emitted('messageRetrying')).toMatchObject([{ topic: 'orders', reason: 'no answer within 1000 ms' }]);
    await world.clock.advance('2m');
    expect(world.at('/off').length).toBe(1);
  });

  test('have none with deliveryTimeout 0', async () => {
    await using world = await startWorld({ deliveryTimeout: 0, answer: () => NEVER });
    await world.sidecar.pubsub.publish('pubsub', 'orders', 'x');
    await world.clock.advance('10m');
    expect([world.deliveries.length, world.emitted('messageRetrying')]).toEqual([1, []]);
  });

  test('have none for runs of jobs with jobs.timeoutMs 0, and 60 s without it', async () => {
    const retry = { maxRetries: 1, delay: 0, factor: 1 } as const;
    const runs = async (options: WorldOptions): Promise<number> => {
      await using world = await startWorld({ answer: () => NEVER, ...options });
      await world.sidecar.jobs.schedule('slow', { dueTime: '1s', retry });
      await world.clock.advance('10m');
      return world.at('/job/slow').length;
    };
    expect([await runs({ jobs: { timeout: 0 } }), await runs({})]).toEqual([1, 2]);
  });
});

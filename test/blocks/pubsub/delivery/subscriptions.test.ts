import { describe, expect, test } from 'vitest';
import { memoryPubSub } from '../../../../src/index.ts';
import type { PubSubDefinition } from '../../../../src/kit/index.ts';
import { NEVER, type Reply } from '../../../support/app.ts';
import { startWorld, type World } from '../../../support/world.ts';

/** A component that tells which topics have subscriptions now, and whose next subscriptions a test decides about. */
class Watched {
  readonly topics: string[] = [];
  readonly ahead: (() => Promise<void>)[] = [];

  get definition(): PubSubDefinition {
    const memory = memoryPubSub('pubsub');
    return {
      ...memory,
      open: async (context) => {
        const component = await memory.open(context);
        return {
          publish: (messages) => component.publish(messages),
          close: () => component.close(),
          subscribe: async (options) => {
            await this.ahead.shift()?.();
            const subscription = await component.subscribe(options);
            this.topics.push(options.topic);
            const close = async (): Promise<void> => {
              this.topics.splice(this.topics.indexOf(options.topic), 1);
              await subscription.close();
            };
            return { pause: () => subscription.pause(), resume: () => subscription.resume(), close };
          },
        };
      },
    };
  }
}

const toTopic = (topic: string): { body: unknown } => ({
  body: [{ pubsubname: 'pubsub', topic, routes: { default: `/${topic}` } }],
});

async function goAndReturn(world: World): Promise<void> {
  world.app.health = { status: 503 };
  await world.clock.advance('15s');
  world.app.health = {};
  await world.clock.advance('5s');
}

describe('subscriptions of an application that comes and goes', () => {
  test('are those that it told last, also when ending the ones before takes long', async () => {
    const watched = new Watched();
    await using world = await startWorld({
      treatment: { health: true },
      components: [watched.definition],
      discoveries: [toTopic('first'), toTopic('second'), toTopic('third')],
      answer: ({ path }) => (path === '/first' ? NEVER : undefined),
      stopTimeout: 60_000,
    });
    await world.send('POST', '/v1.0/publish/pubsub/first', { body: 1 });
    await goAndReturn(world);
    await goAndReturn(world);
    await world.pass('60s');
    expect(world.app.discoveries.length).toBeGreaterThanOrEqual(3);
    const { subscriptions } = world.sidecar.metadata.get();
    expect([watched.topics, subscriptions.map(({ topic }) => topic)]).toEqual([['third'], ['third']]);
    await world.publish(3, { topic: 'third' });
    expect(world.at('/third')).toHaveLength(1);
  });

  test('go on as they were, also when two that compete are alike', async () => {
    const watched = new Watched();
    const competing = { pubsubname: 'pubsub', topic: 'orders', route: '/orders', competing: true };
    await using world = await startWorld({
      treatment: { health: true },
      components: [watched.definition],
      discovery: [competing, competing],
    });
    await goAndReturn(world);
    expect(watched.topics).toEqual(['orders', 'orders']);
  });

  test('settle no batch whose answer comes when the messages have gone to others', async () => {
    const batch = { pubsubname: 'pubsub', topic: 'orders', deadLetterTopic: 'dead', bulkSubscribe: {} };
    let answerLate: (reply: Reply) => void = () => undefined;
    await using world = await startWorld({
      treatment: { health: true },
      discoveries: [{ body: [{ ...batch, route: '/first' }] }, { body: [{ ...batch, route: '/second' }] }],
      answer: ({ path, entries }) => {
        if (path === '/first') return new Promise((resolve) => (answerLate = resolve));
        return { body: { statuses: entries.map(({ entryId }) => ({ entryId, status: 'SUCCESS' })) } };
      },
      stopTimeout: 1_000,
    });
    await world.send('POST', '/v1.0/publish/pubsub/orders', { body: 1 });
    await world.clock.advance('1s');
    await world.received(1);
    await goAndReturn(world);
    await world.clock.advance('5s');
    expect(world.at('/second')).toHaveLength(1);
    answerLate({ status: 404 });
    await world.clock.settled();
    expect(world.events.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['messageDelivered', 'messageUnsettled']),
    );
    expect(world.emitted('messageDeadLettered')).toEqual([]);
  });

  test('leave nothing behind when they end while the component is subscribing', async () => {
    const watched = new Watched();
    let subscribe: () => void = () => undefined;
    const subscribing = new Promise<void>((resolve) => {
      subscribe = resolve;
    });
    watched.ahead.push(
      () => Promise.reject(new Error('not now')),
      () => subscribing,
    );
    await using world = await startWorld({
      treatment: { health: true },
      components: [watched.definition],
      discoveries: [toTopic('first'), toTopic('second')],
    });
    await world.pass('4s');
    expect(watched.topics).toEqual([]);
    await goAndReturn(world);
    subscribe();
    await world.clock.settled();
    expect(watched.topics).toEqual(['second']);
  });
});

test('a subscription in code that the component is still opening stays the only one, whatever the application answers', async () => {
  const watched = new Watched();
  let subscribe: () => void = () => undefined;
  const subscribing = new Promise<void>((resolve) => {
    subscribe = resolve;
  });
  await using world = await startWorld({
    treatment: { health: true },
    components: [watched.definition],
    discoveries: [{ body: [] }, { body: [] }],
  });
  watched.ahead.push(() => subscribing);
  const subscribed = world.sidecar.pubsub.subscribe('pubsub', 'orders', () => undefined);
  await goAndReturn(world);
  subscribe();
  await subscribed;
  expect(watched.topics).toEqual(['orders']);
});

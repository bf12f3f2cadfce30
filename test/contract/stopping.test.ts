import { describe, expect, test } from 'vitest';
import { memoryPubSub } from '../../src/index.ts';
import { NEVER } from '../support/app.ts';
import { refusing } from '../support/refusing-pubsub.ts';
import { WAYS } from '../support/served.ts';
import { startWorld } from '../support/world.ts';

const PUBLISH = '/v1.0/publish/pubsub/orders';
const ordered = { pubsubname: 'pubsub', topic: 'orders', route: '/orders', concurrency: 1 };

describe.each(WAYS)('graceful stop, application via %s', (via) => {
  test('what is in flight finishes, the rest is redelivered to another sidecar that shares the component', async () => {
    const components = [memoryPubSub('pubsub')];
    let finish = (): void => undefined;
    const gate = new Promise<undefined>((resolve) => {
      finish = () => resolve(undefined);
    });
    await using first = await startWorld({ via, components, discovery: [ordered], answer: () => gate });
    for (const body of ['1', '2', '3']) await first.send('POST', PUBLISH, { body });
    await first.received(1);
    let isStopped = false;
    const stopped = first.sidecar.stop().then(() => {
      isStopped = true;
    });
    await first.clock.advance('5s');
    expect([first.deliveries.map(({ data }) => data), isStopped]).toEqual([['1'], false]);
    finish();
    await stopped;
    expect(first.deliveries.map(({ data }) => data)).toEqual(['1']);
    expect(first.emitted('messageDelivered')).toHaveLength(1);

    await using second = await startWorld({ via, components, discovery: [ordered] });
    await second.clock.settled();
    expect(second.deliveries.map(({ data }) => data)).toEqual(['2', '3']);
  });

  test('what does not finish in 10 s stays unacknowledged and is delivered again', async () => {
    const components = [memoryPubSub('pubsub')];
    await using first = await startWorld({ via, components, answer: () => NEVER });
    await first.send('POST', PUBLISH, { body: 'x' });
    await first.received(1);
    let isStopped = false;
    const stopped = first.sidecar.stop().then(() => {
      isStopped = true;
    });
    await first.clock.advance('9999ms');
    expect(isStopped).toBe(false);
    await first.clock.advance('1ms');
    await stopped;
    expect(first.emitted('messageDropped')).toEqual([]);

    await using second = await startWorld({ via, components });
    await second.clock.settled();
    expect(second.deliveries.map(({ data }) => data)).toEqual(['x']);
    expect(second.emitted('messageDelivered')).toMatchObject([{ attempt: 2 }]);
  });

  test('a message that waits for its retry is delivered by another sidecar', async () => {
    const components = [memoryPubSub('pubsub')];
    await using first = await startWorld({ via, components, answer: () => ({ status: 500 }) });
    await first.publish('x');
    await first.sidecar.stop();
    await first.clock.advance('1h');
    expect(first.deliveries).toHaveLength(1);
    await using second = await startWorld({ via, components });
    await second.pass('1m');
    expect(second.deliveries.map(({ data }) => data)).toEqual(['x']);
  });

  test('a batch that waits for more is delivered by another sidecar', async () => {
    const components = [memoryPubSub('pubsub')];
    const discovery = [{ ...ordered, concurrency: 10, bulkSubscribe: {} }];
    await using first = await startWorld({ via, components, discovery });
    await first.publish('x');
    await first.sidecar.stop();
    await first.clock.advance('1h');
    expect(first.deliveries).toEqual([]);
    const answer = (): object => ({ status: 404 });
    await using second = await startWorld({ via, components, discovery, answer });
    await second.pass('2s');
    expect(second.deliveries).toHaveLength(1);
    expect(second.emitted('messageDropped')).toMatchObject([{ attempt: 1 }]);
  });

  test('a dead letter that cannot be published is not lost', async () => {
    const components = [refusing(memoryPubSub('pubsub'), 'dead')];
    const discovery = [
      { ...ordered, deadLetterTopic: 'dead' },
      { ...ordered, topic: 'dead', route: '/dead' },
    ];
    await using first = await startWorld({ via, components, discovery, answer: () => ({ status: 404 }) });
    await first.publish('x');
    await first.clock.advance('10s');
    expect(first.emitted('messageDeadLettered')).toEqual([]);
    await first.sidecar.stop();
    await using second = await startWorld({ via, components, discovery });
    await second.clock.settled();
    expect(second.deliveries.map(({ path, data }) => [path, data])).toEqual([['/orders', 'x']]);
  });
});

describe('stop', () => {
  test('twice is fine, and publishing in code is refused from then on', async () => {
    await using world = await startWorld();
    await Promise.all([world.sidecar.stop(), world.sidecar.stop()]);
    await world.sidecar.stop();
    await expect(world.sidecar.pubsub.publish('pubsub', 'orders', 'x')).rejects.toMatchObject({
      code: 'ERR_SHUTTING_DOWN',
    });
    await expect(world.sidecar.pubsub.subscribe('pubsub', 'orders', () => undefined)).rejects.toMatchObject({
      code: 'ERR_SHUTTING_DOWN',
    });
    await expect(world.sidecar.start()).rejects.toMatchObject({ code: 'ERR_CONFIGURATION' });
  });

  test('leaves no timer behind', async () => {
    await using world = await startWorld({ answer: () => ({ status: 500 }) });
    await using _subscription = await world.sidecar.pubsub.subscribe('pubsub', 'other', () => 'RETRY');
    await world.publish('x');
    await world.publish('y', { topic: 'other' });
    await world.sidecar.stop();
    expect(world.clock.pendingTimers).toBe(0);
  });

  test('while discovery is tried again ends the trying', async () => {
    await using world = await startWorld({ discovery: { status: 500 } });
    await world.sidecar.stop();
    await world.clock.advance('1h');
    expect(world.app.discoveries).toHaveLength(1);
  });
});

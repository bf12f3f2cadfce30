import { describe, expect, test } from 'vitest';
import {
  type Definition,
  defineActivity,
  defineSubscription,
  defineTopic,
  defineWorkflow,
  durablePubSub,
  memoryPubSub,
  type SidecarOptions,
} from '../../src/index.ts';
import { KeptStore } from '../support/kept-store.ts';
import { TestSidecar } from '../support/sidecar.ts';

const orders = defineTopic<number>('orders');

function shop(options: Partial<Omit<SidecarOptions, 'clock'>> = {}): TestSidecar {
  return new TestSidecar({ components: [memoryPubSub('pubsub')], ...options });
}

describe('a subscription of before the start', () => {
  test('gets the first message, which is published as soon as the start is over', async () => {
    await using world = shop();
    const seen: number[] = [];
    await world.sidecar.pubsub.subscribe('pubsub', 'orders', ({ data }) => void seen.push(data as number));
    await world.sidecar.start();
    await world.sidecar.pubsub.publish(orders, 1);
    await world.clock.settled();
    expect(seen).toEqual([1]);
  });

  test('is there when the start is, though nobody waits for the call', async () => {
    await using world = shop();
    const seen: number[] = [];
    void world.sidecar.pubsub.subscribe(orders, (id) => void seen.push(id));
    await world.sidecar.start();
    expect(world.sidecar.pubsub.subscriptions()).toMatchObject([{ topic: 'orders', group: 'shop', state: 'active' }]);
    await world.sidecar.pubsub.publish(orders, 1);
    await world.clock.settled();
    expect(seen).toEqual([1]);
  });

  test('gets what another life has left once the function can use the sidecar', async () => {
    const state = new KeptStore();
    const components = [durablePubSub('pubsub')];
    await using first = shop({ state, components });
    const before = await first.sidecar.pubsub.subscribe(orders, () => 'RETRY');
    await first.start();
    await before.close();
    await first.sidecar.pubsub.publish(orders, 1);
    await first.stop();

    await using second = shop({ state, components });
    const { sidecar } = second;
    const seen: unknown[] = [];
    await sidecar.pubsub.subscribe(orders, async (id, { attempt }) => {
      await sidecar.pubsub.publish('pubsub', 'shipped', id);
      seen.push([id, attempt]);
    });
    await second.start();
    expect(seen).toEqual([[1, 1]]);
  });

  test('can be closed before and after the start', async () => {
    await using world = shop();
    const { pubsub } = world.sidecar;
    const seen: string[] = [];
    const early = await pubsub.subscribe(orders, () => void seen.push('early'), { group: 'early' });
    const late = await pubsub.subscribe(orders, () => void seen.push('late'), { group: 'late' });
    await pubsub.subscribe(orders, () => void seen.push('stays'));
    await early.close();
    await world.start();
    await late.close();
    await late.close();
    await pubsub.publish(orders, 1);
    await world.clock.settled();
    expect(seen).toEqual(['stays']);
    expect(pubsub.subscriptions().map(({ group }) => group)).toEqual(['shop']);
  });

  test('is refused at once where the options tell', async () => {
    await using world = shop();
    const { pubsub } = world.sidecar;
    await expect(pubsub.subscribe('other', 'orders', () => undefined)).rejects.toMatchObject({
      code: 'ERR_PUBSUB_NOT_FOUND',
      message: 'pubsub other is not found: expected pubsub',
    });
    await expect(pubsub.subscribe(orders, () => undefined, { concurrency: 0 })).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
    });
  });

  test('fails the start if it is the second of its group', async () => {
    await using world = shop();
    await world.sidecar.pubsub.subscribe(orders, () => undefined);
    await world.sidecar.pubsub.subscribe(orders, () => undefined);
    await expect(world.sidecar.start()).rejects.toMatchObject({
      code: 'ERR_CONFIGURATION',
      message: expect.stringContaining('has a subscription already, in code'),
    });
  });

  test('is tried again while its component cannot', async () => {
    const pubsub = memoryPubSub('pubsub');
    let refusals = 2;
    const flaky: typeof pubsub = {
      ...pubsub,
      open: async (context) => {
        const component = await pubsub.open(context);
        const subscribe: typeof component.subscribe = (options) =>
          refusals-- > 0 ? Promise.reject(new Error('no broker')) : component.subscribe(options);
        return Object.assign(Object.create(component) as typeof component, {
          subscribe,
          publish: component.publish.bind(component),
          close: component.close.bind(component),
        });
      },
    };
    await using world = shop({ components: [flaky] });
    const seen: number[] = [];
    await world.sidecar.pubsub.subscribe(orders, (id) => void seen.push(id));
    await world.sidecar.start();
    await world.sidecar.pubsub.publish(orders, 1);
    await world.pass('10s');
    expect(seen).toEqual([1]);
    expect(world.logger.at('error')).toHaveLength(2);
  });
});

describe('register', () => {
  test('attaches code of every kind before the start', async () => {
    await using world = shop();
    const seen: unknown[] = [];
    const charge = defineActivity('charge', () => 'receipt');
    const checkout = defineWorkflow('checkout', (ctx) => ctx.callActivity<string>('charge'));
    const shipping = defineSubscription(orders, { group: 'shipping' }, (id) => void seen.push(id));
    world.sidecar.register(orders, shipping, checkout, charge);
    await world.start();
    await world.sidecar.pubsub.publish(orders, 1);
    const run = await world.sidecar.workflows.start(checkout);
    await world.clock.settled();
    expect(seen).toEqual([1]);
    expect(await run.state()).toMatchObject({ status: 'COMPLETED', output: 'receipt' });
  });

  test('refuses after the start, and names what works then', async () => {
    await using world = await shop().start();
    expect(() => world.sidecar.register(orders)).toThrow(
      'the sidecar is running: register before start(), or use pubsub.subscribe, jobs.register and workflows.register',
    );
  });

  test.each([
    [undefined, 'register was given undefined: expected what a function such as defineSubscription returns'],
    [() => 1, 'register was given a function: expected what a function such as defineSubscription returns'],
    [{ kind: 'other' }, 'register was given an object: expected what a function such as defineSubscription returns'],
  ])('refuses %s', async (given, message) => {
    await using world = shop();
    expect(() => world.sidecar.register(given as never as Definition)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT', message }),
    );
  });

  test('defineSubscription refuses what is no topic, and no function', () => {
    expect(() => defineSubscription('orders' as never, {}, () => undefined)).toThrow('the topic of defineSubscription');
    expect(() => defineSubscription(orders, {}, 'ship' as never)).toThrow('the handler of topic "orders" is a string');
    expect(() => defineSubscription(orders, 'ship' as never)).toThrow('the handler of topic "orders" is a string');
    expect(() => defineSubscription(orders, undefined as never)).toThrow('the handler of topic "orders" is undefined');
    expect(() => defineSubscription(orders, { concurency: 1 } as never, () => undefined)).toThrow('did you mean');
  });
});

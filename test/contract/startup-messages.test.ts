import { describe, expect, test } from 'vitest';
import {
  type Duration,
  durablePubSub,
  memoryPubSub,
  Sidecar,
  type SidecarOptions,
  sharedState,
} from '../../src/index.ts';
import type { PubSubDefinition, StateDefinition } from '../../src/kit/index.ts';
import type { VirtualClock } from '../../src/testing/index.ts';
import { patientClock } from '../support/clock.ts';
import { Fleet } from '../support/fleet.ts';
import { KeptStore } from '../support/kept-store.ts';
import { RecordingLogger } from '../support/logger.ts';

const orders = { pubsubname: 'pubsub', topic: 'orders' };
const toOrders = [{ ...orders, route: '/orders' }];

/** An application that is asked in vain for its subscriptions until it is up. */
class App {
  readonly options = { fetch: (request: Request): Promise<Response> => this.#answer(request) };
  isUp = false;
  readonly got: unknown[] = [];
  readonly #subscriptions: readonly object[];

  constructor(subscriptions: readonly object[] = []) {
    this.#subscriptions = subscriptions;
  }

  async #answer(request: Request): Promise<Response> {
    if (request.url.endsWith('/subscribe'))
      return this.isUp ? Response.json(this.#subscriptions) : new Response(null, { status: 503 });
    const body = (await request.json()) as {
      data?: unknown;
      entries?: { entryId: string; event: { data: unknown } }[];
    };
    this.got.push(...(body.entries?.map(({ event }) => event.data) ?? [body.data]));
    return Response.json({ statuses: body.entries?.map(({ entryId }) => ({ entryId, status: 'SUCCESS' })) });
  }
}

/** Sidecars of one process that share a component, and a clock that stands still. */
class Process implements AsyncDisposable {
  readonly clock: VirtualClock = patientClock();
  readonly logger = new RecordingLogger();
  readonly store: KeptStore;
  readonly #shared: StateDefinition;
  readonly #component: PubSubDefinition;
  readonly #sidecars: Sidecar[] = [];

  constructor(component: PubSubDefinition, store = new KeptStore()) {
    this.store = store;
    this.#shared = sharedState(store);
    this.#component = component;
  }

  make(appId: string, options: SidecarOptions = {}): Sidecar {
    const { clock, logger } = this;
    const components = [this.#component];
    const sidecar = new Sidecar({ appId, clock, logger, components, state: this.#shared, ...options });
    this.#sidecars.push(sidecar);
    return sidecar;
  }

  async start(appId: string, options: SidecarOptions = {}): Promise<Sidecar> {
    const sidecar = this.make(appId, options);
    await sidecar.start();
    return sidecar;
  }

  /** The application is up and has been asked. */
  async up(app: App): Promise<void> {
    app.isUp = true;
    await this.pass('1m');
  }

  async pass(by: Duration): Promise<void> {
    await this.clock.advance(by);
    await this.clock.settled();
  }

  warnings(text: string): readonly Readonly<Record<string, unknown>>[] {
    return this.logger
      .at('warn')
      .filter(({ message }) => message.includes(text))
      .map(({ details }) => details);
  }

  /** Keys of messages in the store. */
  async messageKeys(): Promise<readonly string[]> {
    const entries = await this.store.memory.scan({ from: 'pubsub!', to: 'pubsub"' });
    return entries.map(({ key }) => key).filter((key) => /!(kept|ready|delayed)!/.test(key));
  }

  async stop(): Promise<void> {
    const stopped = Promise.all(this.#sidecars.map((sidecar) => sidecar.stop()));
    await this.clock.advance('11s');
    await stopped;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

const publish = async (sidecar: Sidecar, ...messages: readonly unknown[]): Promise<void> => {
  for (const message of messages) await sidecar.pubsub.publish('pubsub', 'orders', message);
};
const range = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

describe.each<[kind: string, make: () => PubSubDefinition]>([
  ['memory', () => memoryPubSub('pubsub')],
  ['durable', () => durablePubSub('pubsub')],
])('before subscriptions are known, with a %s component', (_kind, make) => {
  test('an application that comes up later gets what was published before, in order, once', async () => {
    await using process = new Process(make());
    const billing = new App(toOrders);
    const shop = await process.start('shop');
    await process.start('billing', { app: billing.options });
    await publish(shop, ...range(5));
    expect(billing.got).toEqual([]);
    await process.up(billing);
    await publish(shop, 5);
    await process.pass('1s');
    expect(billing.got).toEqual(range(6));
    expect(await process.messageKeys()).toEqual([]);
    expect(process.warnings('')).toHaveLength(process.warnings('could not be asked').length);
  });

  test('a sidecar that is made and not started yet gets it too, for its options and its application', async () => {
    await using process = new Process(make());
    const [billing, stock] = [new App(), new App(toOrders)];
    const subscriptions = [{ pubsubName: 'pubsub', topic: 'orders', route: '/orders' }];
    const [first, second] = [
      process.make('billing', { app: billing.options, subscriptions }),
      process.make('stock', { app: stock.options }),
    ];
    const shop = await process.start('shop');
    await publish(shop, 1);
    [billing.isUp, stock.isUp] = [true, true];
    await first.start();
    await second.start();
    await process.clock.settled();
    expect([billing.got, stock.got]).toEqual([[1], [1]]);
  });

  test('an application gets what it has published itself before it told its subscriptions', async () => {
    await using process = new Process(make());
    const app = new App(toOrders);
    const sidecar = await process.start('shop', { app: app.options });
    await publish(sidecar, 1, 2);
    await process.up(app);
    expect(app.got).toEqual([1, 2]);
  });

  test('a group that is there gets its messages at once, and only once', async () => {
    await using process = new Process(make());
    const billing = new App(toOrders);
    const shop = await process.start('shop');
    await process.start('billing', { app: billing.options });
    const got: unknown[] = [];
    await shop.pubsub.subscribe('pubsub', 'orders', ({ data }) => void got.push(data));
    await publish(shop, 1);
    await process.clock.settled();
    expect(got).toEqual([1]);
    await process.up(billing);
    expect([got, billing.got]).toEqual([[1], [1]]);
  });

  test('named groups of the application begin with it too', async () => {
    await using process = new Process(make());
    const billing = new App([
      { ...orders, route: '/a' },
      { ...orders, route: '/b', group: 'audit' },
    ]);
    const shop = await process.start('shop');
    await process.start('billing', { app: billing.options });
    await publish(shop, 1);
    await process.up(billing);
    expect(billing.got).toEqual([1, 1]);
  });

  test('a raw payload, a bulk publish and a dead letter are kept as well', async () => {
    await using process = new Process(make());
    const billing = new App([
      { ...orders, route: '/a' },
      { ...orders, topic: 'dead', route: '/dead' },
    ]);
    const shop = await process.start('shop');
    await process.start('billing', { app: billing.options });
    await shop.pubsub.subscribe('pubsub', 'orders', () => 'DROP', { deadLetterTopic: 'dead' });
    await shop.pubsub.publishBulk('pubsub', 'orders', [
      { entryId: '1', event: 1 },
      { entryId: '2', event: 2 },
    ]);
    await process.clock.settled();
    await process.up(billing);
    expect(billing.got.sort()).toEqual([1, 1, 2, 2]);
  });

  test('once they are known a topic without subscribers keeps nothing: one warning, and a count in metadata', async () => {
    await using process = new Process(make());
    const billing = new App([]);
    const shop = await process.start('shop');
    await process.start('billing', { app: billing.options });
    await publish(shop, 1, 2);
    expect(shop.metadata.get().unhandled).toBe(undefined);
    await process.up(billing);
    await publish(shop, 3);
    const got: unknown[] = [];
    await shop.pubsub.subscribe('pubsub', 'orders', ({ data }) => void got.push(data));
    await process.clock.settled();
    expect(got).toEqual([]);
    expect(process.warnings('without subscribers')).toEqual([{ pubsubName: 'pubsub', topic: 'orders' }]);
    expect(shop.metadata.get().unhandled).toEqual({
      messages: [{ pubsubname: 'pubsub', topic: 'orders', count: 3 }],
    });
    expect(await process.messageKeys()).toEqual([]);
  });

  test('a message is not lost when its topic gets a dead letter before they are known', async () => {
    await using process = new Process(make());
    const app = new App([{ ...orders, topic: 'failed', route: '/failed' }]);
    const shop = await process.start('shop', { app: app.options });
    const once = { deadLetterTopic: 'failed', retry: { maxRetries: 0 } };
    await shop.pubsub.subscribe('pubsub', 'orders', () => 'DROP', once);
    await shop.pubsub.publish('pubsub', 'failed', 'm1');
    await publish(shop, 'dead');
    await process.clock.settled();
    expect(process.warnings('it is kept')).toHaveLength(1);
    await process.up(app);
    expect(app.got.sort()).toEqual(['dead', 'm1']);
    await process.pass('2m');
    expect(await process.messageKeys()).toEqual([]);
  });

  test('a function that subscribes later, in a sidecar whose subscriptions are known, gets what comes then', async () => {
    await using process = new Process(make());
    await process.start('billing', { app: new App(toOrders).options });
    const shop = await process.start('shop');
    await publish(shop, 1);
    const got: unknown[] = [];
    await shop.pubsub.subscribe('pubsub', 'orders', ({ data }) => void got.push(data));
    await publish(shop, 2);
    await process.clock.settled();
    expect(got).toEqual([2]);
  });

  test('they are waited for two minutes: a warning names the application, and what was kept is gone', async () => {
    await using process = new Process(make());
    const billing = new App(toOrders);
    const shop = await process.start('shop');
    await process.start('billing', { app: billing.options });
    await publish(shop, 1);
    await process.pass('119s');
    expect(process.warnings('still not known')).toEqual([]);
    await process.pass('1s');
    const details = { pubsubName: 'pubsub', applications: ['billing'], messages: 1, afterMs: 120_000 };
    expect(process.warnings('still not known')).toEqual([details]);
    expect(shop.metadata.get().unhandled?.messages).toMatchObject([{ count: 1 }]);
    await publish(shop, 2);
    await process.up(billing);
    await publish(shop, 3);
    await process.pass('1s');
    expect(billing.got).toEqual([3]);
    expect(await process.messageKeys()).toEqual([]);
  });

  test('they are waited for from the first message on, not from the start', async () => {
    await using process = new Process(make());
    const billing = new App(toOrders);
    const shop = await process.start('shop');
    await process.start('billing', { app: billing.options });
    await process.pass('10m');
    await publish(shop, 1);
    await process.up(billing);
    expect(billing.got).toEqual([1]);
  });

  test('the first 10,000 messages are kept: a warning says that no more are', async () => {
    await using process = new Process(make());
    const billing = new App([{ ...orders, route: '/orders', bulkSubscribe: { maxMessagesCount: 1_000 } }]);
    const shop = await process.start('shop');
    await process.start('billing', { app: billing.options });
    const entries = range(10_002).map((n) => ({ entryId: String(n), event: n }));
    await shop.pubsub.publishBulk('pubsub', 'orders', entries);
    expect(process.warnings('no more are kept')).toMatchObject([{ applications: ['billing'], messages: 10_000 }]);
    expect(shop.metadata.get().unhandled?.messages).toMatchObject([{ count: 2 }]);
    await process.up(billing);
    expect([billing.got.length, billing.got.at(-1)]).toEqual([10_000, 9_999]);
  });

  test('at most 16 MiB are kept', async () => {
    await using process = new Process(make());
    const billing = new App(toOrders);
    const shop = await process.start('shop');
    await process.start('billing', { app: billing.options });
    for (const _ of range(4)) await publish(shop, 'x'.repeat(5 * 1024 * 1024));
    expect(process.warnings('no more are kept')).toMatchObject([{ messages: 3 }]);
    await process.up(billing);
    expect(billing.got.length).toBe(3);
  });

  test('an application that may not use the component is not waited for', async () => {
    const component = make();
    await using process = new Process({ ...component, scopes: ['shop'] });
    await process.start('billing', { app: new App(toOrders).options });
    const shop = await process.start('shop');
    await publish(shop, 1);
    expect(process.warnings('without subscribers')).toHaveLength(1);
  });

  test('a sidecar that is stopped before its application was known does not take what others keep along', async () => {
    await using process = new Process(make());
    const [billing, stock] = [new App(toOrders), new App(toOrders)];
    const shop = await process.start('shop');
    const stopped = await process.start('billing', { app: billing.options });
    await process.start('stock', { app: stock.options });
    await publish(shop, 1);
    await stopped.stop();
    await process.up(stock);
    expect(stock.got).toEqual([1]);
    // The same application, once more.
    billing.isUp = true;
    await process.start('billing', { app: billing.options });
    await process.pass('1s');
    expect(billing.got).toEqual([1]);
    expect(await process.messageKeys()).toEqual([]);
  });

  test('a sidecar whose options are refused is waited for by nobody', async () => {
    await using process = new Process(make());
    expect(() => process.make('billing', { app: new App(), identity: { keys: [] } } as never)).toThrow();
    const shop = await process.start('shop');
    await publish(shop, 1);
    expect(process.warnings('without subscribers')).toHaveLength(1);
  });

  test('a test that waits until all has settled does not wait for them', async () => {
    await using process = new Process(make());
    const shop = await process.start('shop');
    await process.start('billing', { app: new App(toOrders).options });
    await publish(shop, 1);
    await process.clock.settled();
    expect(process.clock.now()).toBe(patientClock().now());
  });
});

describe('before subscriptions are known, on disk', () => {
  const waiting = async (): Promise<{ process: Process; store: KeptStore }> => {
    const process = new Process(durablePubSub('pubsub'));
    const shop = await process.start('shop');
    await process.start('billing', { app: new App(toOrders).options });
    await publish(shop, 1, 2);
    return { process, store: process.store };
  };
  const next = async (store: KeptStore, billing: App): Promise<Process> => {
    const process = new Process(durablePubSub('pubsub'), store);
    await process.start('shop');
    await process.start('billing', { app: billing.options });
    await process.clock.settled();
    return process;
  };

  test('a stop keeps what was published for the next start', async () => {
    const { process, store } = await waiting();
    await process.stop();
    expect(process.logger.at('error')).toEqual([]);
    const billing = new App(toOrders);
    await using restarted = await next(store, billing);
    await restarted.up(billing);
    expect(billing.got).toEqual([1, 2]);
    await restarted.pass('2m');
    expect(await restarted.messageKeys()).toEqual([]);
  });

  test('a kill keeps it too', async () => {
    const { process, store } = await waiting();
    store.interfere = () => new Promise(() => undefined);
    const billing = new App(toOrders);
    billing.isUp = true;
    const restarted = new Process(durablePubSub('pubsub'), new KeptStore(store.memory));
    const shop = await restarted.start('shop');
    await restarted.start('billing', { app: billing.options });
    await publish(shop, 3);
    await restarted.clock.settled();
    expect(billing.got).toEqual([1, 2, 3]);
    await restarted.pass('2m');
    expect(await restarted.messageKeys()).toEqual([]);
    await restarted.stop();
    expect(process.logger.at('error')).toEqual([]);
  });

  test.each([1, 2, 3, 4, 5, 6])('a kill at commit %i of the subscription loses nothing', async (count) => {
    const { store } = await waiting();
    // The process of before hangs; in a second one the application is known, and at some commit that is killed as well.
    store.interfere = () => new Promise(() => undefined);
    const killed = new KeptStore(store.memory);
    const first = new App(toOrders);
    first.isUp = true;
    const dying = new Process(durablePubSub('pubsub'), killed);
    let commits = 0;
    killed.interfere = (batch, commit) => {
      if (batch.put?.some(({ key }) => key.startsWith('pubsub!')) !== true && batch.delete?.length === undefined)
        return commit();
      return ++commits >= count ? new Promise(() => undefined) : commit();
    };
    const starting = dying.start('shop').then(() => dying.start('billing', { app: first.options }));
    await Promise.race([starting, new Promise((resolve) => setTimeout(resolve, 100))]);
    const billing = new App(toOrders);
    billing.isUp = true;
    await using restarted = await next(new KeptStore(store.memory), billing);
    await restarted.pass('1s');
    expect([...new Set([...first.got, ...billing.got])].sort()).toEqual([1, 2]);
    await restarted.pass('2m');
    expect(await restarted.messageKeys()).toEqual([]);
  });

  test('what was kept for an application that is in no run any more goes two minutes after the next start', async () => {
    const { process, store } = await waiting();
    await process.stop();
    await using restarted = new Process(durablePubSub('pubsub'), store);
    const shop = await restarted.start('shop');
    await restarted.pass('1m');
    expect(await restarted.messageKeys()).toHaveLength(2);
    await restarted.pass('1m');
    expect(await restarted.messageKeys()).toEqual([]);
    expect(restarted.warnings('without subscribers')).toEqual([{ pubsubName: 'pubsub', topic: 'orders' }]);
    expect(shop.metadata.get().unhandled?.messages).toMatchObject([{ topic: 'orders', count: 2 }]);
  });

  test('a group that was ever known keeps collecting, also before its application is asked again', async () => {
    const store = new KeptStore();
    const billing = new App(toOrders);
    const before = await next(store, billing);
    await before.up(billing);
    await before.stop();
    const alone = new Process(durablePubSub('pubsub'), store);
    await publish(await alone.start('shop'), 1);
    await alone.stop();
    expect(alone.warnings('')).toEqual([]);
    billing.isUp = false;
    await using process = new Process(durablePubSub('pubsub'), store);
    const shop = await process.start('shop');
    await process.start('billing', { app: billing.options });
    await publish(shop, 2);
    await process.up(billing);
    expect(billing.got).toEqual([1, 2]);
    expect(await process.messageKeys()).toEqual([]);
  });

  test('a topic of any length, and of any name', async () => {
    for (const topic of ['t'.repeat(1_000), '__proto__', 'a/b!"#', 'größe']) {
      await using process = new Process(durablePubSub('pubsub'));
      const billing = new App([{ ...orders, topic, route: '/orders' }]);
      const shop = await process.start('shop');
      await process.start('billing', { app: billing.options });
      await shop.pubsub.publish('pubsub', topic, 1);
      await shop.pubsub.publish('pubsub', `${topic}-other`, 2);
      await process.up(billing);
      expect(billing.got).toEqual([1]);
      expect(shop.metadata.get().unhandled?.messages).toEqual([
        { pubsubname: 'pubsub', topic: `${topic}-other`, count: 1 },
      ]);
    }
  });

  test('a message of the largest size', async () => {
    await using process = new Process(durablePubSub('pubsub'));
    const billing = new App(toOrders);
    const shop = await process.start('shop');
    await process.start('billing', { app: billing.options });
    const message = 'x'.repeat(8 * 1024 * 1024 - 1_000);
    await publish(shop, message);
    await process.up(billing);
    expect(billing.got.map((got) => String(got).length)).toEqual([message.length]);
  });

  test('what another process keeps on the same store is left to it while it may still need it', async () => {
    await using fleet = new Fleet();
    const billing = new App(toOrders);
    const a = await fleet.join({ appId: 'billing', app: billing.options });
    await a.sidecar.pubsub.publish('pubsub', 'orders', 1);
    const b = await fleet.join({ appId: 'shop' });
    await fleet.pass(5);
    const kept = async (): Promise<number> =>
      (await fleet.memory.scan({ from: 'pubsub!', to: 'pubsub"' })).filter(({ key }) => key.includes('!kept!')).length;
    expect(await kept()).toBe(1);
    await b.stop();
    billing.isUp = true;
    await fleet.pass(60, [a]);
    expect([billing.got, await kept()]).toEqual([[1], 0]);
  });
});

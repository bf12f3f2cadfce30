import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { embeddedState } from '../../src/components/embedded/index.ts';
import {
  defineJob,
  durableLocks,
  durablePubSub,
  environmentSecrets,
  keyValueStore,
  memoryConfiguration,
  memoryPubSub,
  nodeHandler,
  type RequestListener,
  Sidecar,
  sharedState,
} from '../../src/index.ts';
import { type InspectOptions, type Inspector, inspect } from '../../src/inspector/index.ts';
import type { AnyComponentDefinition, Clock, KeyValueDefinition } from '../../src/kit/index.ts';
import { type Listening, listen } from '../support/http.ts';
import { RecordingLogger } from '../support/logger.ts';
import { Basket } from './actors.ts';
import { approval, checkout, packOrder, WORKFLOWS } from './workflows.ts';

export const TOKEN = 'the-token-of-the-inspector';

/** A state store that encrypts, beside `carts`. */
const VAULT = keyValueStore('vault', {
  primaryEncryptionKey: { name: 'key-1', key: '0123456789abcdef0123456789abcdef' },
});

/** A state store that does not list its keys, as that of Redis. */
const SESSIONS: KeyValueDefinition = {
  ...keyValueStore('sessions'),
  open: async (context) => {
    const store = await keyValueStore('sessions').open(context);
    return {
      read: (keys) => store.read(keys),
      write: (operations, options) => store.write(operations, options),
      close: () => store.close(),
    };
  },
};

export const FAILED = { pubsubName: 'pubsub', topic: 'orders-failed', group: 'shop' };

interface Order {
  readonly id: number;
  readonly price: unknown;
  /** Fails at its first attempt. */
  readonly isFlaky?: boolean;
}

/** How a world differs from the usual one. */
export interface WorldOptions {
  readonly inspect?: InspectOptions;
  /** Puts the inspector into a server. Default: it is the server. */
  readonly mount?: (inspector: Inspector) => RequestListener;
  /** Where it is mounted, such as `/inspector/`. */
  readonly path?: string;
  readonly clock?: Clock;
  /** Where the state is. Default: in a directory of its own. */
  readonly directory?: string;
}

/** Two applications with something of everything, an inspector of both, and the server that it is in. */
export class World implements AsyncDisposable {
  readonly shop: Sidecar;
  /** The second application, and a second host of it. */
  readonly billing: Sidecar;
  readonly otherBilling: Sidecar;
  readonly inspector: Inspector;
  /** What the shop logs. */
  readonly logger = new RecordingLogger();
  /** The orders that were processed, by their IDs. */
  readonly paid: number[] = [];
  /** The runs of jobs, by name. */
  readonly runs: string[] = [];
  /** The configuration of the shop. */
  readonly settings = memoryConfiguration('settings', { items: { currency: 'EUR', greeting: 'hello' } });
  /** Whether orders can be paid at all. */
  isBankUp = true;
  readonly #server: Listening;
  readonly #carrier: Listening;
  readonly #directory: string;
  readonly #path: string;
  readonly #seen = new Set<number>();

  private constructor(directory: string, servers: { server: Listening; carrier: Listening }, options: WorldOptions) {
    const { logger } = this;
    const { clock, path = '/' } = options;
    const time = clock === undefined ? undefined : { clock };
    const quick = { stopTimeout: 200, ...time };
    this.#directory = directory;
    this.#server = servers.server;
    this.#carrier = servers.carrier;
    this.#path = path;
    const state = sharedState(embeddedState({ path: directory }));
    this.shop = new Sidecar({
      appId: 'shop',
      components: [durablePubSub('pubsub'), memoryPubSub('notes'), ...this.#stores()],
      secrets: { scopes: [{ storeName: 'env', allowedSecrets: ['BANK_TOKEN', 'DB_PASSWORD'] }] },
      state,
      app: { listener: shopApp },
      httpEndpoints: [{ name: 'carrier', baseUrl: servers.carrier.url }],
      logger,
      ...quick,
    });
    const components = [durablePubSub('ledger')];
    const host = { appId: 'billing', components, app: { listener: billingApp }, state, logger, ...quick };
    this.billing = new Sidecar(host);
    this.otherBilling = new Sidecar(host);
    this.inspector = inspect([this.shop, this.billing], { token: TOKEN, record: 'always', ...options.inspect });
    servers.server.use(options.mount?.(this.inspector) ?? nodeHandler(this.inspector));
  }

  #stores(): readonly AnyComponentDefinition[] {
    const secrets = environmentSecrets('env', { prefix: 'SHOP_' });
    return [keyValueStore('carts'), VAULT, SESSIONS, durableLocks('locks'), this.settings, secrets];
  }

  static async open(options: WorldOptions = {}): Promise<World> {
    const directory = options.directory ?? (await mkdtemp(join(tmpdir(), 'insidecar-browser-')));
    const world = new World(directory, { server: await listen(), carrier: await listen(carrier) }, options);
    await world.#start();
    return world;
  }

  /** The address to open, with the token. */
  get url(): string {
    return `${this.origin}${this.#path}?token=${TOKEN}`;
  }

  get origin(): string {
    return this.#server.url;
  }

  async #start(): Promise<void> {
    const { shop, billing, otherBilling } = this;
    shop.workflows.register(...WORKFLOWS);
    shop.actors.register(Basket);
    shop.register(
      defineJob('*', (_, { name }) => {
        this.runs.push(name);
        if (name === 'report') throw new Error('the printer is on fire');
      }),
    );
    for (const sidecar of [shop, billing, otherBilling]) await sidecar.start();
    await shop.pubsub.subscribe<Order>('pubsub', 'orders', ({ data }) => this.#pay(data), {
      deadLetterTopic: FAILED.topic,
      retry: { maxRetries: 1, delay: 10 },
    });
    await shop.pubsub.subscribe('notes', 'notes', () => undefined);
    await billing.pubsub.subscribe('ledger', 'invoices', () => undefined);
  }

  #pay(order: Order | undefined): void {
    if (typeof order?.price !== 'number') throw new Error(`the price is ${JSON.stringify(order?.price)}`);
    const isFirst = !this.#seen.has(order.id);
    this.#seen.add(order.id);
    if (!this.isBankUp || (order.isFlaky === true && isFirst)) throw new Error('the bank does not answer');
    this.paid.push(order.id);
  }

  /** Publishes an order; its message has the ID `order-<id>`. */
  async order(order: Order): Promise<void> {
    await this.shop.pubsub.publish('pubsub', 'orders', order, { cloudEvent: { id: `order-${order.id}` } });
  }

  /** Lets orders fail until they are dead letters. */
  async fail(...ids: readonly number[]): Promise<void> {
    this.isBankUp = false;
    const before = await this.failed();
    for (const id of ids) await this.order({ id, price: id });
    await this.until(async () => (await this.failed()) === before + ids.length);
    this.isBankUp = true;
  }

  /** How many orders are dead letters. */
  async failed(): Promise<number> {
    return (await this.shop.pubsub.queues.list({ topic: FAILED.topic }))[0]?.ready ?? 0;
  }

  /** Lets something of everything happen, and waits until it has. */
  async fill(): Promise<void> {
    await this.#fillPubSub();
    await this.#fillJobs();
    await this.#fillWorkflows();
    await this.#fillStores();
    await this.shop.actors.get(Basket, 'ann').put('apple');
    const { invocation } = this.shop;
    await invocation.invoke('billing', 'charge', { method: 'POST', body: { order: 1 } });
    await invocation.invoke('carrier', 'parcels/1');
    await invocation.invoke('carrier', 'parcels', { method: 'POST' });
  }

  async #fillPubSub(): Promise<void> {
    const { shop, billing } = this;
    await this.order({ id: 1, price: 10 });
    await this.order({ id: 2, price: 20, isFlaky: true });
    for (const id of [3, 4, 5]) await this.order({ id, price: `${id}O.00` });
    await shop.pubsub.publish('pubsub', 'parcels', { weight: 120 }, { cloudEvent: { id: 'parcel-1', type: 'big' } });
    await shop.pubsub.publish('notes', 'notes', 'a note', { cloudEvent: { id: 'note-1' } });
    await billing.pubsub.publish('ledger', 'invoices', { total: 10 }, { cloudEvent: { id: 'invoice-1' } });
    await this.until(async () => (await this.failed()) === 3);
    // One of which nobody knows where it came from.
    await shop.pubsub.publish('pubsub', FAILED.topic, { id: 6 }, { cloudEvent: { id: 'order-6' } });
    await shop.pubsub.queues.addGroup({ pubsubName: 'pubsub', topic: 'orders', group: 'archive' });
    for (const id of [7, 8]) await this.order({ id, price: id });
    await this.until(() => this.paid.includes(8));
  }

  async #fillJobs(): Promise<void> {
    const { jobs } = this.shop;
    await jobs.schedule('report', { schedule: '0 30 2 * * *', retry: { maxRetries: 0 }, data: { pages: 3 } });
    await jobs.schedule('sync', { schedule: '@every 1h' });
    await jobs.schedule('reminder', { dueTime: '48h', data: { text: 'buy milk', password: 'swordfish' } });
    await jobs.run('report');
    await jobs.run('sync');
    await this.until(async () => (await jobs.get('report'))?.lastRun !== undefined);
    await this.until(async () => (await jobs.get('sync'))?.lastRun !== undefined);
  }

  async #fillWorkflows(): Promise<void> {
    const { workflows } = this.shop;
    await workflows.start(checkout, { order: 1, card: 'good' }, { instanceId: 'checkout-1' });
    await workflows.start(checkout, { order: 2, card: 'stolen' }, { instanceId: 'checkout-2' });
    await workflows.start(packOrder, { parcels: 3 }, { instanceId: 'pack-1' });
    await workflows.start(approval, { amount: 1000 }, { instanceId: 'approval-1' });
    for (const id of ['checkout-1', 'checkout-2', 'pack-1']) await workflows.run(id).ended();
    await this.until(async () => (await workflows.get('approval-1'))?.customStatus === 'waiting for the boss');
  }

  async #fillStores(): Promise<void> {
    const { state, locks } = this.shop;
    await state.set('carts', 'cart/1', { items: [{ id: 7, count: 2 }], login: { user: 'ann', password: 'swordfish' } });
    await state.set('carts', 'cart/2', { items: [] }, { ttl: '1h' });
    await state.set('carts', 'user:1:password', 'swordfish');
    await state.set('vault', 'card-1', { number: 'swordfish' });
    await state.set('sessions', 'session-1', { user: 'ann' });
    await locks.tryLock('locks', 'nightly-report', { ttl: '1h', owner: 'worker-1' });
    await this.watchSettings();
    this.settings.set('currency', { value: 'swordfish' });
  }

  /** Has the shop told about its configuration, until it stops. */
  async watchSettings(): Promise<void> {
    const changes = this.shop.configuration.watch('settings', ['currency'], { initial: true });
    await changes.next();
    void (async () => {
      for await (const _change of changes);
    })();
  }

  async until(holds: () => boolean | Promise<boolean>): Promise<void> {
    const deadline = performance.now() + 15_000;
    while (!(await holds())) {
      if (performance.now() > deadline) throw new Error(`timed out waiting until ${holds}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const sidecar of [this.shop, this.otherBilling, this.billing]) await sidecar.stop();
    await this.#server[Symbol.asyncDispose]();
    await this.#carrier[Symbol.asyncDispose]();
    await rm(this.#directory, { recursive: true, force: true });
  }
}

const PARCELS = {
  pubsubname: 'pubsub',
  topic: 'parcels',
  deadLetterTopic: 'parcels-failed',
  routes: { rules: [{ match: 'event.type == "big"', path: '/big' }], default: '/parcels' },
};

function shopApp({ url }: IncomingMessage, res: ServerResponse): void {
  const isDiscovery = url === '/sidecar/subscribe';
  res.writeHead(200, { 'content-type': 'application/json' }).end(isDiscovery ? JSON.stringify([PARCELS]) : '');
}

function billingApp({ url }: IncomingMessage, res: ServerResponse): void {
  res.writeHead(url === '/charge' ? 200 : 404).end();
}

/** A service without a sidecar that takes no parcels. */
function carrier({ method }: IncomingMessage, res: ServerResponse): void {
  res.writeHead(method === 'POST' ? 422 : 200).end();
}

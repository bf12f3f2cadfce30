import { pubsubsOf } from '../../src/components/any-component.ts';
import { type AppOptions, type MemoryPubSubOptions, memoryPubSub } from '../../src/index.ts';
import type { PubSubDefinition } from '../../src/kit/index.ts';
import { type Answering, type Received, RecordingApp, type Reply } from './app.ts';
import type { Answer, Sent } from './http.ts';
import { openServers, ServedSidecar, type Servers, type Way } from './served.ts';
import type { TestSidecarOptions } from './sidecar.ts';

export interface WorldOptions extends TestSidecarOptions {
  /** Where the application is. Default: in this process. */
  readonly via?: Way;
  /** How it is treated. */
  readonly treatment?: Pick<AppOptions, 'health' | 'maxConcurrency'>;
  /** What it answers to health checks, until told otherwise. Default: 200. */
  readonly health?: Reply | Promise<undefined>;
  /** What the application answers to discovery. An array is a list of subscriptions. Default: `orders` to `/orders`. */
  readonly discovery?: Reply | readonly unknown[];
  /** What it answers to discovery, time after time. */
  readonly discoveries?: readonly Reply[];
  /** What it answers to deliveries. Default: 200 without a body. */
  readonly answer?: Answering;
  /** Options of the component `pubsub`. */
  readonly memory?: MemoryPubSubOptions;
}

/** A sidecar behind a real HTTP server, with an application that records what it gets. */
export class World extends ServedSidecar<RecordingApp> {
  readonly components: readonly PubSubDefinition[];

  constructor(
    app: RecordingApp,
    servers: Servers,
    options: TestSidecarOptions & { readonly components: readonly PubSubDefinition[] },
  ) {
    super(app, servers, options);
    this.components = options.components;
  }

  get deliveries(): readonly Received[] {
    return this.app.deliveries;
  }

  /** What was delivered to one path. */
  at(path: string): readonly Received[] {
    return this.app.at(path);
  }

  /** Publishes to topic `orders` of `pubsub` and waits until everything has come to rest. */
  async publish(body: unknown, sent: Omit<Sent, 'body'> & { topic?: string; query?: string } = {}): Promise<Answer> {
    const { topic = 'orders', query = '', ...rest } = sent;
    const path = `/v1.0/publish/pubsub/${topic}${query === '' ? '' : `?${query}`}`;
    const answer = await this.send('POST', path, { ...rest, body });
    await this.clock.settled();
    return answer;
  }

  /** Waits, without moving time, until the application has got so many deliveries. */
  async received(count: number): Promise<void> {
    const startedAt = performance.now();
    while (this.deliveries.length < count) {
      if (performance.now() - startedAt > 10_000)
        throw new Error(`${this.deliveries.length} deliveries after 10 s: expected ${count}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Publishes in bulk, likewise. */
  async publishBulk(body: unknown, query = ''): Promise<Answer> {
    const path = `/v1.0/publish/bulk/pubsub/orders${query === '' ? '' : `?${query}`}`;
    const headers = { 'content-type': 'application/json' };
    const answer = await this.send('POST', path, { headers, body });
    await this.clock.settled();
    return answer;
  }
}

const ORDERS = [{ pubsubname: 'pubsub', topic: 'orders', routes: { default: '/orders' } }];

/** Makes a world in which the sidecar has not been started. */
export async function createWorld(options: WorldOptions = {}): Promise<World> {
  const {
    via = 'process',
    discovery = ORDERS,
    answer = () => undefined,
    memory,
    treatment,
    health = {},
    ...rest
  } = options;
  const { discoveries = [Array.isArray(discovery) ? { body: discovery } : (discovery as Reply)], ...overrides } = rest;
  const app = new RecordingApp(discoveries, answer);
  app.health = health;
  const { target, ...servers } = await openServers(app, via);
  const components = pubsubsOf(overrides.components ?? [memoryPubSub('pubsub', memory)]);
  return new World(app, servers, { app: { ...target, ...treatment }, ...overrides, components });
}

/** Makes a world in which the sidecar runs and the application is known. */
export async function startWorld(options: WorldOptions = {}): Promise<World> {
  return (await createWorld(options)).start();
}

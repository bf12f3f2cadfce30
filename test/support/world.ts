import {
  type AppOptions,
  type Logger,
  type MemoryPubSubOptions,
  memoryPubSub,
  nodeListener,
  type PubSubDefinition,
  Sidecar,
  type SidecarEvents,
  type SidecarOptions,
} from '../../src/index.ts';
import type { VirtualClock } from '../../src/testing/index.ts';
import { type Answering, type Received, RecordingApp, type Reply } from './app.ts';
import { patientClock } from './clock.ts';
import { type Answer, type Listening, listen, type Sent, send } from './http.ts';

/** A line of the log. */
export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export class RecordingLogger implements Logger {
  readonly lines: LogLine[] = [];

  debug(details: object, message: string): void {
    this.#keep('debug', details, message);
  }
  info(details: object, message: string): void {
    this.#keep('info', details, message);
  }
  warn(details: object, message: string): void {
    this.#keep('warn', details, message);
  }
  error(details: object, message: string): void {
    this.#keep('error', details, message);
  }

  at(level: string): readonly LogLine[] {
    return this.lines.filter((line) => line.level === level);
  }

  #keep(level: string, details: object, message: string): void {
    this.lines.push({ level, message, details: details as Record<string, unknown> });
  }
}

export type Way = 'port' | 'process';

/** The two places in which an application can be. */
export const WAYS: readonly Way[] = ['port', 'process'];

export interface WorldOptions extends Partial<SidecarOptions> {
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
  readonly clock?: VirtualClock;
}

/** A sidecar behind a real HTTP server, its application, and a clock that stands still. */
export class World implements AsyncDisposable {
  readonly sidecar: Sidecar;
  readonly app: RecordingApp;
  readonly clock: VirtualClock;
  readonly logger: RecordingLogger;
  readonly server: Listening;
  readonly components: readonly PubSubDefinition[];
  /** Everything that `sidecar.events` told, in order. */
  readonly events: { readonly name: keyof SidecarEvents; readonly info: Readonly<Record<string, unknown>> }[] = [];
  readonly #appServer: Listening | undefined;

  constructor(
    parts: Pick<World, 'sidecar' | 'app' | 'clock' | 'logger' | 'server' | 'components'>,
    appServer: Listening | undefined,
  ) {
    this.sidecar = parts.sidecar;
    this.app = parts.app;
    this.clock = parts.clock;
    this.logger = parts.logger;
    this.server = parts.server;
    this.components = parts.components;
    this.#appServer = appServer;
    for (const name of EVENTS)
      this.sidecar.events.on(name, (info?: object) => {
        this.events.push({ name, info: { ...info } });
      });
  }

  get deliveries(): readonly Received[] {
    return this.app.deliveries;
  }

  /** What was delivered to one path. */
  at(path: string): readonly Received[] {
    return this.app.at(path);
  }

  /** What was told under one name. */
  told(name: keyof SidecarEvents): readonly Readonly<Record<string, unknown>>[] {
    return this.events.filter((event) => event.name === name).map(({ info }) => info);
  }

  send(method: string, path: string, sent?: Sent): Promise<Answer> {
    return send(this.server.url, method, path, sent);
  }

  /** Publishes to topic `orders` of `pubsub` and waits until everything has come to rest. */
  async publish(body: unknown, sent: Omit<Sent, 'body'> & { topic?: string; query?: string } = {}): Promise<Answer> {
    const { topic = 'orders', query = '', ...rest } = sent;
    const path = `/v1.0/publish/pubsub/${topic}${query === '' ? '' : `?${query}`}`;
    const answer = await this.send('POST', path, { ...rest, body });
    await this.clock.settled();
    return answer;
  }

  /** Moves time on, then waits until everything has come to rest, however slow the machine is. */
  async pass(by: number | string): Promise<void> {
    await this.clock.advance(by);
    await this.clock.settled();
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

  async [Symbol.asyncDispose](): Promise<void> {
    const stopped = this.sidecar.stop();
    await this.clock.advance('1h');
    await stopped;
    await this.server[Symbol.asyncDispose]();
    await this.#appServer?.[Symbol.asyncDispose]();
  }
}

const EVENTS = [
  'published',
  'delivered',
  'retrying',
  'dropped',
  'deadLettered',
  'appReady',
  'appHealthy',
  'appUnhealthy',
  'circuitBreaker',
  'subscribed',
  'subscriptionRefused',
] as const satisfies readonly (keyof SidecarEvents)[];

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
    clock = patientClock(),
    ...rest
  } = options;
  const { discoveries = [Array.isArray(discovery) ? { body: discovery } : (discovery as Reply)], ...overrides } = rest;
  const app = new RecordingApp(discoveries, answer);
  app.health = health;
  const appServer = via === 'port' ? await listen(app.listener) : undefined;
  const logger = new RecordingLogger();
  const components = overrides.components ?? [memoryPubSub('pubsub', memory)];
  const sidecar = new Sidecar({
    appId: 'shop',
    app: { ...(appServer === undefined ? { listener: app.listener } : { port: appServer.port }), ...treatment },
    clock,
    logger,
    ...overrides,
    components,
  });
  const server = await listen(nodeListener(sidecar));
  return new World({ sidecar, app, clock, logger, server, components }, appServer);
}

/** Makes a world in which the sidecar runs and the application is known. */
export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const world = await createWorld(options);
  await world.sidecar.start();
  await world.clock.settled();
  return world;
}

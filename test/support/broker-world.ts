import { randomUUID } from 'node:crypto';
import { nodeHandler, type RouteSubscription, Sidecar, type SidecarOptions } from '../../src/index.ts';
import type { PubSubDefinition } from '../../src/kit/index.ts';
import { type Answering, RecordingApp } from './app.ts';
import { type Answer, type Listening, listen, type Sent, send } from './http.ts';
import { RecordingLogger } from './logger.ts';

/** Waits in real time until something holds: brokers have no clock of ours. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, patienceMs = 15_000): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`after ${patienceMs} ms it is not so that ${what}`);
    await pause(10);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export interface BrokerWorldOptions {
  /** The component, named `pubsub`. */
  readonly component: PubSubDefinition;
  readonly appId?: string;
  /** Subscriptions of the application to the component. */
  readonly subscriptions?: readonly Omit<RouteSubscription, 'pubsubName'>[];
  readonly answer?: Answering;
  readonly options?: Partial<SidecarOptions>;
}

/** A sidecar on a real broker in real time, behind a real HTTP server, with an application that records what it gets. */
export class BrokerWorld implements AsyncDisposable {
  readonly app: RecordingApp;
  readonly logger = new RecordingLogger();
  readonly sidecar: Sidecar;
  readonly #server: Listening;

  private constructor(server: Listening, { component, appId = `app-${randomUUID()}`, ...rest }: BrokerWorldOptions) {
    this.#server = server;
    this.app = new RecordingApp([{ body: [] }], rest.answer ?? (() => undefined));
    this.sidecar = new Sidecar({
      appId,
      app: { listener: this.app.listener },
      components: [component],
      subscriptions: (rest.subscriptions ?? []).map((one) => ({ pubsubName: 'pubsub', ...one })),
      logger: this.logger,
      ...rest.options,
    });
    server.use(nodeHandler(this.sidecar));
  }

  /** Starts the sidecar. */
  static async start(options: BrokerWorldOptions): Promise<BrokerWorld> {
    const world = new BrokerWorld(await listen(), options);
    await world.sidecar.start();
    return world;
  }

  /** Publishes over HTTP. */
  publish(topic: string, body: unknown, { query = '', ...sent }: Sent & { query?: string } = {}): Promise<Answer> {
    const path = `/v1.0/publish/pubsub/${encodeURIComponent(topic)}${query === '' ? '' : `?${query}`}`;
    return send(this.#server.url, 'POST', path, { ...sent, body });
  }

  publishBulk(topic: string, body: unknown): Promise<Answer> {
    const headers = { 'content-type': 'application/json' };
    return send(this.#server.url, 'POST', `/v1.0/publish/bulk/pubsub/${encodeURIComponent(topic)}`, { headers, body });
  }

  /** Waits for this many deliveries to a route and a little longer; throws if there are more. */
  async received(path: string, count: number, patienceMs?: number): Promise<ReturnType<RecordingApp['at']>> {
    await until(`${path} got ${count} deliveries`, () => this.app.at(path).length >= count, patienceMs);
    await pause(100);
    const got = this.app.at(path);
    if (got.length > count) throw new Error(`${path} got ${got.length} deliveries: expected ${count}`);
    return got;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sidecar.stop();
    await this.#server[Symbol.asyncDispose]();
  }
}

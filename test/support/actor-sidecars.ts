import { MemoryStore } from '../../src/components/memory/memory-store.ts';
import { nodeHandler } from '../../src/index.ts';
import { virtualClock } from '../../src/testing/index.ts';
import { ActorApp } from './actors-world.ts';
import { IDENTITY } from './apart.ts';
import { patientClock } from './clock.ts';
import { type Answer, type Listening, listen, type Sent, send } from './http.ts';
import { RecordingLogger } from './logger.ts';
import { PausableStore } from './pausable-store.ts';
import { TestSidecar, type TestSidecarOptions } from './sidecar.ts';

/** A host as if it were in a process of its own, with its application. */
export class ActorSidecar extends TestSidecar {
  readonly app: ActorApp;
  readonly store: PausableStore;
  readonly servers: readonly [api: Listening, peers: Listening, app: Listening];

  constructor(app: ActorApp, store: PausableStore, servers: ActorSidecar['servers'], options: TestSidecarOptions) {
    super(options);
    this.app = app;
    this.store = store;
    this.servers = servers;
    servers[0].use(nodeHandler(this.sidecar));
    servers[1].use(nodeHandler(this.sidecar.peers));
  }

  call(path: string, sent?: Sent, method = 'POST'): Promise<Answer> {
    return send(this.servers[0].url, method, `/v1.0/actors/${path}`, sent);
  }

  /** The actors that got a turn here. */
  get actors(): ReadonlySet<string> {
    return new Set(this.app.of('PUT').map(({ path }) => path.split('/')[3] ?? ''));
  }
}

/** Hosts of one application with actors, each with a port of its own, on one store and one virtual time. */
export class ActorSidecars implements AsyncDisposable {
  readonly list: ActorSidecar[] = [];
  readonly #memory = new MemoryStore({ clock: virtualClock(), logger: new RecordingLogger() });
  #now = Date.parse('2026-01-01T00:00:00Z');
  /** What happened at the applications, in order. */
  readonly log: string[] = [];

  async join(options: TestSidecarOptions & { readonly configuration?: unknown } = {}): Promise<ActorSidecar> {
    const { configuration = { entities: ['Cart'] }, ...others } = options;
    const app = new ActorApp(configuration);
    const number = this.list.length;
    app.answer = ({ method, path }) => void this.log.push(`${number} ${method} ${path.split('/')[3]}`);
    const store = new PausableStore(this.#memory, false, true);
    const servers = [await listen(), await listen(), await listen(app.listener)] as const;
    const clock = patientClock({ startAt: this.#now });
    const own = { app: { port: servers[2].port }, state: store, address: servers[1].url, identity: IDENTITY, clock };
    const host = new ActorSidecar(app, store, servers, { ...own, ...others });
    this.list.push(host);
    return (await host.start()) as ActorSidecar;
  }

  async pass(seconds: number, hosts: readonly ActorSidecar[] = this.list): Promise<void> {
    for (let second = 0; second < seconds; second++) for (const { clock } of hosts) await clock.advance(1_000);
    this.#now += seconds * 1_000;
  }

  /** Waits for calls, while time passes. */
  async passing<T>(calls: Promise<T>, hosts: readonly ActorSidecar[] = this.list): Promise<T> {
    let isDone = false;
    void calls.finally(() => {
      isDone = true;
    });
    for (let tries = 0; !isDone && tries < 60; tries++) await this.pass(1, hosts);
    return calls;
  }

  async leave(host: ActorSidecar): Promise<void> {
    this.list.splice(this.list.indexOf(host), 1);
    await host.stop();
    for (const server of host.servers) await server[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const host of [...this.list]) {
      host.store.resume();
      await this.leave(host);
    }
  }
}

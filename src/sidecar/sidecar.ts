import type { AppMonitor } from '../app/app-monitor.ts';
import type { AppChannel } from '../app/channel.ts';
import { Actors } from '../blocks/actors/actors.ts';
import { Bindings } from '../blocks/bindings/bindings.ts';
import type { BlockService } from '../blocks/block-service.ts';
import { Configuration } from '../blocks/configuration/configuration.ts';
import type { Health } from '../blocks/health/health.ts';
import { inCode } from '../blocks/in-code.ts';
import type { Invocation } from '../blocks/invocation/invocation.ts';
import { withdrawPeer } from '../blocks/invocation/resolution/registry.ts';
import { Jobs } from '../blocks/jobs/jobs.ts';
import { Locks } from '../blocks/locks/locks.ts';
import type { Metadata } from '../blocks/metadata/metadata.ts';
import type { Placement } from '../blocks/placement/placement.ts';
import { PubSub } from '../blocks/pubsub/pubsub.ts';
import { Secrets } from '../blocks/secrets/secrets.ts';
import { State } from '../blocks/state/state.ts';
import { Workflows } from '../blocks/workflow/workflows.ts';
import type { Membership } from '../cluster/membership.ts';
import type { Shards } from '../cluster/shards.ts';
import { SidecarError } from '../errors.ts';
import { SidecarEventEmitter, type SidecarEventSource } from '../events.ts';
import { Answers } from '../http/answers.ts';
import type { Handler, RequestHandler } from '../http/message.ts';
import { apart, type Probe } from '../probe.ts';
import type { StateStore } from '../state/store.ts';
import type { Logger } from '../util/logger.ts';
import { outside } from '../util/outside.ts';
import { Work } from '../util/work.ts';
import { buildSidecar } from './build-sidecar.ts';
import { closedWithin, windDown } from './closing.ts';
import { checkComponentNames } from './component-names.ts';
import { configurationOf } from './configuration.ts';
import { type JoinDeps, joinHosts } from './join-cluster.ts';
import type { StoreBlocks } from './make-stores.ts';
import { ObservedStore } from './observed-store.ts';
import { Opening } from './opening.ts';
import { type ResolvedOptions, resolveOptions, type SidecarOptions } from './options.ts';
import { OutsideStore } from './outside-store.ts';
import { type Definition, register } from './register.ts';

type Phase = 'created' | 'starting' | 'running' | 'stopping' | 'stopped';

/**
 * The sidecar: the HTTP API behind {@link Sidecar.handle}, and the same building blocks as typed classes.
 *
 * @example
 * ```ts
 * await using sidecar = new Sidecar({ appId: 'orders', app: { listener: app }, components: [memoryPubSub('pubsub')] });
 * await sidecar.start();
 * await sidecar.pubsub.publish('pubsub', 'orders', { id: 1 });
 * ```
 * @public
 */
export class Sidecar implements RequestHandler, AsyncDisposable {
  /** Events about messages, subscriptions, jobs and workflows. */
  readonly events: SidecarEventSource;
  /** Publish and subscribe. */
  readonly pubsub: PubSub;
  /** Values by key, in the stores of components. Not the sidecar's own state. */
  readonly state: State;
  /** Jobs that run at a time or on a schedule. */
  readonly jobs: Jobs;
  /** Workflows: code whose progress is stored. */
  readonly workflows: Workflows;
  /** Virtual actors: objects with an identity and durable state, one call at a time. */
  readonly actors: Actors;
  /** Secrets of the application. */
  readonly secrets: Secrets;
  /** Configuration and its changes. */
  readonly configuration: Configuration;
  /** Locks that several processes share. */
  readonly locks: Locks;
  /** Calls of outside systems, and events of them. */
  readonly bindings: Bindings;
  /** Calls of other applications and services. */
  readonly invocation: Invocation;
  /** The sidecar's information about itself. */
  readonly metadata: Metadata;
  /** Readiness. */
  readonly health: Health;
  /** The table of hosts and their actor types. */
  readonly placement: Placement;
  /** Answers a request of the HTTP API. Never rejects. */
  readonly handle: Handler;
  /**
   * Handles calls of other sidecars to the own application, under access control, and the health probes of the API
   * (`GET /v1.0/healthz`, `GET /v1.0/healthz/outbound`), and nothing else. For a separate port; on the port of the API,
   * {@link Sidecar.handle} accepts these calls too.
   */
  readonly peers: RequestHandler;
  readonly #options: ResolvedOptions;
  readonly #events: SidecarEventEmitter;
  readonly #work: Work;
  /** Requests in progress. @internal */
  readonly answers: Answers = new Answers();
  readonly #app: AppChannel | undefined;
  readonly #monitor: AppMonitor | undefined;
  readonly #joinDeps: JoinDeps;
  readonly #probe: Probe | undefined;
  /** In the order in which they open. */
  readonly #services: readonly BlockService[];
  /** The blocks whose components are stores, for the inspector. @internal */
  readonly stores: StoreBlocks;
  /** The component that is not open yet. */
  readonly #unopened: () => string | undefined;
  #state: StateStore | undefined;
  #host: Membership | undefined;
  #opening: Opening | undefined;
  #phase: Phase = 'created';
  #isAtRest = false;
  #stopped: Promise<void> | undefined;

  /** @throws SidecarError `ERR_CONFIGURATION` naming the option, its value and what was expected. */
  constructor(options: SidecarOptions = {}) {
    this.#options = resolveOptions(options, process.env);
    checkComponentNames(this.#options.components);
    this.#work = new Work(this.#options.clock);
    this.#events = new SidecarEventEmitter(this.#options.logger, apart(this.#options.telemetry));
    this.events = this.#events.source();
    this.#options.clock.watch?.(this.#work);
    const parts = buildSidecar(this.#options, {
      events: this.#events,
      work: this.#work,
      answers: this.answers,
      admit: () => this.#admit(),
      isRunning: () => this.#phase === 'running',
      state: () => this.#state,
      shards: () => this.#host && ownedCount(this.#host.shards),
      shutDown: (isForced) => this.#shutDown(isForced),
    });
    this.#app = parts.app;
    this.#monitor = parts.monitor;
    this.pubsub = new PubSub(parts.pubsub);
    this.state = new State(parts.stores.state);
    this.jobs = new Jobs(parts.jobs);
    this.workflows = new Workflows(parts.workflows);
    this.actors = new Actors(parts.actors);
    this.stores = parts.stores;
    this.secrets = new Secrets(parts.stores.secrets);
    this.configuration = new Configuration(parts.stores.configuration);
    this.locks = new Locks(parts.stores.locks);
    this.bindings = new Bindings(parts.stores.bindings);
    this.#unopened = () => parts.stores.unopened ?? parts.pubsub.unopened;
    this.#services = [...parts.stores.services, parts.pubsub, parts.jobs, parts.workflows, parts.actors];
    this.invocation = parts.invocation;
    this.metadata = parts.metadata;
    this.health = parts.health;
    this.placement = parts.placement;
    this.#joinDeps = parts;
    this.#probe = parts.probe;
    this.handle = parts.handle;
    this.peers = { handle: parts.handlePeer };
    // Last: announce nothing if the constructor throws.
    parts.pubsub.announce();
  }

  /**
   * The options with their defaults, for display. Secrets are masked: tokens, keys, values of headers, and of URLs all
   * but scheme, host and port. Code is left out, as are the options of components and of the state store.
   *
   * @example
   * ```ts
   * console.log(sidecar.settings());
   * ```
   */
  settings(): Readonly<Record<string, unknown>> {
    return configurationOf(this.#options);
  }

  /** The app ID. */
  get appId(): string {
    return this.#options.appId;
  }

  /** The namespace of the app ID. */
  get namespace(): string {
    return this.#options.namespace;
  }

  /** Whether a stop has begun. @internal */
  get isStopping(): boolean {
    return this.#stopped !== undefined;
  }

  /** Where it logs. @internal */
  get logger(): Logger {
    return this.#options.logger;
  }

  /**
   * Attaches code: subscriptions, jobs, workflows and activities. They are there before the first message is let in. Topics
   * and events need no code; they may be in the list too.
   *
   * @throws SidecarError `ERR_INVALID_ARGUMENT` for what is no definition, or one that cannot be used; `ERR_CONFIGURATION`
   * once the sidecar has been started.
   * @example
   * ```ts
   * const orders = defineTopic<{ id: number }>('orders');
   * sidecar.register(defineSubscription(orders, { concurrency: 5 }, (order) => console.log(order.id)));
   * await sidecar.start();
   * ```
   */
  register(...definitions: readonly Definition[]): void {
    if (this.#phase !== 'created')
      throw new SidecarError(
        'ERR_CONFIGURATION',
        `the sidecar is ${this.#phase}: register before start(), or use pubsub.subscribe, jobs.register and workflows.register`,
      );
    for (const one of definitions) register(this, one);
  }

  /**
   * Opens the components and starts deliveries. If the application already accepts requests, its subscriptions are
   * known when this resolves. If not, they are requested as soon as it does; {@link Sidecar.ready} waits for them.
   *
   * @throws SidecarError `ERR_CONFIGURATION` for a component that cannot be used, or the component's own error.
   * @example
   * ```ts
   * const sidecar = new Sidecar({ appId: 'orders', components: [memoryPubSub('pubsub')] });
   * await sidecar.start();
   * ```
   */
  async start(): Promise<void> {
    try {
      // Its loops last longer than the request that may have started it.
      await outside(() => this.#start());
    } catch (error) {
      throw inCode(error);
    }
  }

  async #start(): Promise<void> {
    if (this.#phase !== 'created')
      throw new SidecarError('ERR_CONFIGURATION', `the sidecar is ${this.#phase}: it can be started once`);
    this.#phase = 'starting';
    this.#opening = new Opening((signal) => this.#open(signal));
    try {
      await this.#opening.outcome;
    } catch (error) {
      await this.#closeAfter(error);
      throw error;
    }
    if (this.#stopped !== undefined) return this.#stopped;
    this.#phase = 'running';
    for (const service of this.#services) service.start(this.#isAtRest);
    await this.#monitor?.start();
  }

  /** Starts without running jobs or workflows, for commands on a stopped application. @internal */
  startAtRest(): Promise<void> {
    this.#isAtRest = true;
    return this.start();
  }

  async #open(signal: AbortSignal): Promise<void> {
    await this.#app?.open();
    signal.throwIfAborted();
    const { state, clock, logger } = this.#options;
    const opened = new OutsideStore(await state.open({ clock, logger }));
    const store = this.#probe === undefined ? opened : new ObservedStore(opened, this.#probe);
    this.#state = store;
    signal.throwIfAborted();
    this.#host = await joinHosts(this.#options, store, { ...this.#joinDeps, work: this.#work });
    for (const service of this.#services) {
      signal.throwIfAborted();
      await service.open(this.#host);
    }
  }

  /** Closes everything that a failed start opened. Logs errors of this, since `start()` rejects with the cause. */
  async #closeAfter(cause: unknown): Promise<void> {
    try {
      await this.stop();
    } catch (error) {
      this.#options.logger.error({ error, cause }, 'not everything could be closed after a start that failed');
    }
  }

  /**
   * Resolves when the application accepts requests and its subscriptions are known; at once without an application.
   *
   * @example
   * ```ts
   * await sidecar.start();
   * await sidecar.ready(); // the application is up and its subscriptions are known
   * ```
   */
  async ready(): Promise<void> {
    if (this.#phase === 'created') throw notStarted();
    await this.#monitor?.known;
  }

  /**
   * Stops accepting work, waits for messages and responses in flight, including streamed ones, and closes everything.
   * Messages that are unsettled after `stopTimeout` are delivered again after a restart, as far as the component
   * keeps them; responses that have not ended by then are aborted. A second call is harmless.
   *
   * @example
   * ```ts
   * process.once('SIGTERM', () => {
   *   void sidecar.stop().then(() => server.close());
   * });
   * ```
   */
  stop(): Promise<void> {
    this.#stopped ??= outside(() => this.#stop());
    return this.#stopped;
  }

  /** Equals {@link Sidecar.stop}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(): Promise<void> {
    this.#phase = 'stopping';
    this.#events.emit('sidecarStopping');
    this.#monitor?.stop();
    const { clock, stopTimeoutMs, logger } = this.#options;
    // Components can be closed only once they are open.
    const isOpen = (await this.#opening?.endWithin(clock, stopTimeoutMs)) ?? true;
    if (!isOpen) logger.error({ opening: this.#late() }, 'the stop gave up waiting for something to open');
    const closed = await this.#close();
    if (!isOpen) void this.#opening?.closeLate(() => this.#close(), logger);
    this.#probe?.close();
    this.#phase = 'stopped';
    throwFirst(closed);
  }

  /** The parts that are being opened. */
  #late(): string {
    if (this.#state === undefined) return 'state store';
    if (this.#host === undefined) return 'hosts of the state store';
    const component = this.#unopened();
    return component === undefined ? 'jobs' : `component ${component}`;
  }

  /** The second time, closes what has opened since. */
  async #close(): Promise<readonly PromiseSettledResult<unknown>[]> {
    if (this.#host !== undefined) withdrawPeer(this.#host);
    this.#host?.patience.beginStop();
    this.#host?.retire();
    const inFlight = { work: this.#work, answers: this.answers };
    const blocks = await windDown([...this.#services, this.invocation], inFlight, this.#options);
    // The work that the stop waited for may have made calls until now.
    this.answers.breakOff(new SidecarError('ERR_SHUTTING_DOWN', 'the sidecar has stopped before the answer had ended'));
    const calls = await closedWithin('calls of other applications', this.invocation.close(), this.#options);
    // Code that handled messages and requests until now has used them.
    const stores = await closedWithin('stores', this.stores.close(), this.#options);
    const host = await closedWithin('hosts of the state store', this.#host?.leave(), this.#options);
    this.placement.stop();
    const [app] = await Promise.all([
      closedWithin('application', this.#app?.close(), this.#options),
      closedWithin('name resolution', this.#joinDeps.resolver.close(), this.#options),
    ]);
    const state = await closedWithin('state store', this.#state?.close(), this.#options);
    return [...blocks, calls, stores, host, app, state];
  }

  /** Stops the sidecar; logs errors, since no caller awaits this stop. */
  #shutDown(isForced: boolean): void {
    this.#events.emit('shutdownRequested', { isForced });
    this.stop().catch((error: unknown) => this.#options.logger.error({ error }, 'not everything could be closed'));
  }

  #admit(): void {
    if (this.#phase === 'running') return;
    if (this.#phase === 'created' || this.#phase === 'starting') throw notStarted();
    throw new SidecarError('ERR_SHUTTING_DOWN', 'the sidecar is stopping', { headers: { 'retry-after': '1' } });
  }
}

function ownedCount(shards: Shards): number {
  let owned = 0;
  for (let shard = 0; shard < shards.count; shard++) if (shards.owns(shard)) owned++;
  return owned;
}

function notStarted(): SidecarError {
  return new SidecarError('ERR_NOT_STARTED', 'the sidecar is not started: call start() first');
}

/** Throws the first error, after everything has been tried. */
function throwFirst(results: readonly PromiseSettledResult<unknown>[]): void {
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

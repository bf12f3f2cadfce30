import type { AppChannel } from './app/channel.ts';
import type { Health } from './blocks/health/health.ts';
import type { Jobs } from './blocks/jobs/jobs.ts';
import type { Metadata } from './blocks/metadata/metadata.ts';
import type { PubSub } from './blocks/pubsub/pubsub.ts';
import { RESERVED_PUBSUB_NAME } from './blocks/pubsub/routes.ts';
import { compose } from './compose.ts';
import { SidecarError } from './errors.ts';
import { eventEmitter, type SidecarEventEmitter } from './events.ts';
import type { Handler, RequestHandler } from './http/message.ts';
import { type ResolvedOptions, resolveOptions, type SidecarOptions } from './options.ts';
import type { StateStore } from './state/store.ts';
import { Work } from './util/work.ts';

type Phase = 'created' | 'starting' | 'running' | 'stopping' | 'stopped';

/** How long `start()` waits for the first answer of an application that takes requests already. */
const FIRST_ANSWER_MS = 5_000;

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
  /** Tells of what happens to messages and subscriptions. */
  readonly events: SidecarEventEmitter;
  /** Publish and subscribe. */
  readonly pubsub: PubSub;
  /** Jobs that run at a time or on a schedule. */
  readonly jobs: Jobs;
  /** What the sidecar tells about itself. */
  readonly metadata: Metadata;
  /** Readiness. */
  readonly health: Health;
  /** Answers a request of the HTTP API. Never rejects. */
  readonly handle: Handler;
  readonly #options: ResolvedOptions;
  readonly #work = new Work();
  readonly #app: AppChannel | undefined;
  readonly #stopRequested = new AbortController();
  #state: StateStore | undefined;
  #opened: Promise<void> | undefined;
  #phase: Phase = 'created';
  #appReady: Promise<void> | undefined;
  #appIsReady = false;
  #stopped: Promise<void> | undefined;

  /** @throws SidecarError `ERR_CONFIGURATION` naming the option, its value and what was expected. */
  constructor(options: SidecarOptions = {}) {
    this.#options = resolveOptions(options, process.env);
    this.events = eventEmitter(this.#options.logger);
    this.#options.clock.watch?.(this.#work);
    const parts = compose(this.#options, {
      events: this.events,
      work: this.#work,
      admit: () => this.#admit(),
      isRunning: () => this.#phase === 'running',
      stateFailure: () => this.#state?.failure,
      isAppReady: () => this.#appIsReady,
    });
    this.#app = parts.app;
    this.pubsub = parts.pubsub;
    this.jobs = parts.jobs;
    this.metadata = parts.metadata;
    this.health = parts.health;
    this.handle = parts.handle;
  }

  /** The app ID. */
  get appId(): string {
    return this.#options.appId;
  }

  /**
   * Opens the components and begins to deliver. When the application takes requests already, its subscriptions are
   * known when this resolves; when it does not, they are asked for as soon as it does: {@link Sidecar.ready} waits.
   *
   * @throws SidecarError `ERR_CONFIGURATION` for a component that cannot be used, or the component's own error.
   */
  async start(): Promise<void> {
    if (this.#phase !== 'created')
      throw new SidecarError('ERR_CONFIGURATION', `the sidecar is ${this.#phase}: it can be started once`);
    this.#phase = 'starting';
    const opening = this.#open();
    this.#opened = opening.then(
      () => undefined,
      () => undefined,
    );
    let state: StateStore;
    try {
      state = await opening;
    } catch (error) {
      await this.#closeAfter(error);
      throw error;
    }
    if (this.#stopped !== undefined) return this.#stopped;
    this.#phase = 'running';
    this.jobs.start(state);
    if (this.#app !== undefined) await this.#meetApp(this.#app);
  }

  async #open(): Promise<StateStore> {
    checkComponentNames(this.#options);
    const { state, clock, logger } = this.#options;
    this.#state = await state.open({ clock, logger });
    await this.pubsub.start(this.#state);
    return this.#state;
  }

  /** What a start that failed has opened; that something of it does not close is not the error to tell. */
  async #closeAfter(cause: unknown): Promise<void> {
    try {
      await this.stop();
    } catch (error) {
      this.#options.logger.error({ error, cause }, 'not everything could be closed after a start that failed');
    }
  }

  /** Resolves when the application takes requests and its subscriptions are known; at once without an application. */
  async ready(): Promise<void> {
    if (this.#phase === 'created') throw notStarted();
    await this.#appReady;
  }

  /**
   * Takes nothing new, waits for messages in flight, closes everything. What is unsettled then is delivered again
   * after a restart, as far as the component keeps it. Twice is fine.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /** The same as {@link Sidecar.stop}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(): Promise<void> {
    this.#phase = 'stopping';
    this.#stopRequested.abort(new Error('the sidecar is stopping'));
    // What is being opened can be closed only then.
    await this.#opened;
    const blocks = await Promise.allSettled([this.pubsub.stop(), this.jobs.stop()]);
    const [app] = await Promise.allSettled([this.#app?.close()]);
    const [state] = await Promise.allSettled([this.#state?.close()]);
    this.#phase = 'stopped';
    throwFirst([...blocks, app, state]);
  }

  #admit(): void {
    if (this.#phase === 'running') return;
    if (this.#phase === 'created' || this.#phase === 'starting') throw notStarted();
    throw new SidecarError('ERR_SHUTTING_DOWN', 'the sidecar is stopping', { headers: { 'retry-after': '1' } });
  }

  /** An application that is up is asked now, one that is not as soon as it is. */
  async #meetApp(app: AppChannel): Promise<void> {
    const isUp = await app.isReachable();
    const met = isUp ? this.#greet() : this.#greetLater(app);
    this.#appReady = met;
    if (!isUp) return;
    await within(met, FIRST_ANSWER_MS);
  }

  async #greetLater(app: AppChannel): Promise<void> {
    try {
      await app.untilReachable(this.#stopRequested.signal);
    } catch {
      return;
    }
    await this.#greet();
  }

  async #greet(): Promise<void> {
    this.jobs.appReady();
    const done = this.#work.begin('discovery of subscriptions');
    await this.pubsub.appReady().finally(done);
    if (this.#stopRequested.signal.aborted) return;
    this.#appIsReady = true;
    this.events.emit('appReady');
  }
}

function notStarted(): SidecarError {
  return new SidecarError('ERR_HEALTH_NOT_READY', 'the sidecar is not started: call start() first');
}

function checkComponentNames({ components }: ResolvedOptions): void {
  const seen = new Set<string>();
  for (const { name } of components) {
    if (name === RESERVED_PUBSUB_NAME)
      throw new SidecarError(
        'ERR_CONFIGURATION',
        `a pub/sub may not be named ${name}: its routes are those of bulk publishing`,
      );
    if (seen.has(name))
      throw new SidecarError('ERR_CONFIGURATION', `component name ${JSON.stringify(name)} is used twice`);
    seen.add(name);
  }
}

/** Everything has been tried: now the first error is told. */
function throwFirst(results: readonly PromiseSettledResult<unknown>[]): void {
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** Waits, but not longer; real time, because it bounds an application that does not answer. */
async function within(promise: Promise<void>, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([promise, limit]).finally(() => clearTimeout(timer));
}

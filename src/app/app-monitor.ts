import type { SidecarEventEmitter } from '../events.ts';
import { type Backoff, backoffDelayMs } from '../util/backoff.ts';
import { type Clock, sleep, type Timer } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { withTimeLimit } from '../util/time-limit.ts';
import type { Work } from '../util/work.ts';
import type { AppChannel } from './channel.ts';
import { AppHealth, type HealthSettings } from './health.ts';

/**
 * The state of the application:
 * - `absent`: it has accepted no connection yet;
 * - `unhealthy`: its health checks have failed, or have not passed yet;
 * - `greeting`: it accepts requests, and its subscriptions are being discovered;
 * - `ready`: its subscriptions are known;
 * - `unreachable`: it was ready, then a call could not connect; the monitor retries the connection.
 */
export type AppState = 'absent' | 'unhealthy' | 'greeting' | 'ready' | 'unreachable';

/** Called on every change of the state. The state `greeting` lasts until the promises of its listeners resolve. */
export type AppListener = (state: AppState) => unknown;

/** The dependencies of an {@link AppMonitor}. */
export interface AppMonitorDeps {
  readonly app: Pick<AppChannel, 'isReachable' | 'probe' | 'address'>;
  readonly health: HealthSettings | undefined;
  /** After how long an application on a port is warned about that takes no requests. */
  readonly startTimeoutMs: number | undefined;
  readonly events: SidecarEventEmitter;
  readonly work: Work;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A number from 0 to 1, for jitter. */
  readonly random: () => number;
}

const DEFAULT_START_TIMEOUT_MS = 10_000;
const POLL_INTERVAL_MS = 100;
const BACKOFF: Backoff = { initialDelayMs: 100, maxDelayMs: 5_000, factor: 2, jitter: 0.2 };
/** How long a start waits for the first response of an application that already accepts connections. */
const FIRST_ANSWER_MS = 5_000;
/**
 * Like `FIRST_ANSWER_MS`, on a virtual clock: shorter than the time limit of a test, so that the test can name what
 * hangs.
 */
const FIRST_ANSWER_IN_TEST_MS = 500;

/** Tracks the state of the application. Blocks read it and listen to its changes. */
export class AppMonitor {
  readonly #deps: AppMonitorDeps;
  readonly #health: AppHealth | undefined;
  readonly #stopping = new AbortController();
  readonly #listeners = new Set<AppListener>();
  /** Resolves when the subscriptions of the application are known, or at a stop. */
  readonly known: Promise<void>;
  #setKnown: () => void = () => undefined;
  #state: AppState = 'absent';
  #epoch = 0;
  #greeted: Promise<void> | undefined;
  /** While the application has not been ready yet. */
  #lateness: Timer | undefined;

  constructor(deps: AppMonitorDeps) {
    this.#deps = deps;
    this.known = new Promise((resolve) => {
      this.#setKnown = resolve;
    });
    const { app, health } = deps;
    const probe = (path: string, timeLimitMs: number): Promise<string | undefined> => app.probe(path, timeLimitMs);
    this.#health = health && new AppHealth(health, { ...deps, probe, changed: (problem) => this.#changed(problem) });
  }

  get state(): AppState {
    return this.#state;
  }

  /** Incremented when the application comes or goes. Responses to requests of an earlier epoch are out of date. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Whether the application accepts new work. */
  get isPresent(): boolean {
    return this.#state === 'greeting' || this.#state === 'ready';
  }

  /** Whether its subscriptions are known. Stays true while it cannot be reached: messages have their own retries. */
  get isKnown(): boolean {
    return this.#state === 'ready' || this.#state === 'unreachable';
  }

  /** Whether its health checks pass; always true without health checks. */
  get isHealthy(): boolean {
    return this.#health === undefined || this.isPresent || this.isKnown;
  }

  /** Readiness: with health checks, the application accepts connections; without, its subscriptions are known. */
  get isReady(): boolean {
    return this.#health === undefined ? this.isKnown : this.#state !== 'absent';
  }

  onChange(listener: AppListener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  /** Greets an application that is already up; otherwise waits for it in the background. */
  async start(): Promise<void> {
    const { app, clock } = this.#deps;
    const limitMs = clock.realGracePeriodMs === undefined ? FIRST_ANSWER_MS : FIRST_ANSWER_IN_TEST_MS;
    this.#warnWhenLate();
    const isReachable = await app.isReachable();
    if (this.#stopping.signal.aborted) return;
    if (!isReachable) return void this.#awaitArrival();
    const late = new Error('the application has not answered');
    await withTimeLimit(this.#arrived(), limitMs, () => late).catch((error: unknown) => {
      if (error !== late) throw error;
    });
  }

  /** Stops monitoring; the state no longer changes. */
  stop(): void {
    this.#epoch++;
    this.#stopping.abort(new Error('the sidecar is stopping'));
    this.#health?.stop();
    this.#lateness?.cancel();
    this.#setKnown();
  }

  /** A call could not connect. The state changes again once a retry makes sense. */
  reportUnreachable(reason: string): void {
    // Every other state changes without this.
    if (this.#state !== 'ready' || this.#stopping.signal.aborted) return;
    this.#deps.logger.warn({ reason }, 'the application cannot be reached: jobs wait for it');
    this.#enter('unreachable');
    void this.#awaitReturn();
  }

  /** Without it, a wrong port would stay unnoticed: messages and jobs wait for the application. */
  #warnWhenLate(): void {
    const { app, clock, logger, startTimeoutMs = DEFAULT_START_TIMEOUT_MS } = this.#deps;
    const { host, port } = app.address;
    if (port === undefined) return;
    const startedAt = clock.now();
    this.#lateness = clock.setTimeout(() => {
      const seconds = Math.round((clock.now() - startedAt) / 1_000);
      logger.warn(
        { host, port },
        `the application takes no requests at ${host}:${port} after ${seconds} s: does it listen on that port, and is it healthy?`,
      );
    }, startTimeoutMs);
  }

  async #awaitArrival(): Promise<void> {
    if (await this.#find(() => POLL_INTERVAL_MS)) await this.#arrived();
  }

  async #awaitReturn(): Promise<void> {
    if (await this.#find((tries) => backoffDelayMs(BACKOFF, tries, this.#deps.random))) this.#enter('ready');
  }

  /** Polls until the application accepts connections. Resolves with false if the epoch changes, or at a stop. */
  async #find(delayMs: (tries: number) => number): Promise<boolean> {
    const { app, clock } = this.#deps;
    const { signal } = this.#stopping;
    const epoch = this.#epoch;
    for (let tries = 1; epoch === this.#epoch && !signal.aborted; tries++) {
      await sleep(clock, delayMs(tries), signal).catch(() => undefined);
      if (epoch === this.#epoch && !signal.aborted && (await app.isReachable())) return epoch === this.#epoch;
    }
    return false;
  }

  async #arrived(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    if (this.#health === undefined) return this.#greet();
    this.#enter('unhealthy');
    await this.#health.start();
    await this.#greeted;
  }

  #changed(problem: string | undefined): void {
    const { events, logger } = this.#deps;
    if (problem === undefined) {
      events.emit('appHealthy');
      this.#greeted = this.#greet();
      return;
    }
    this.#epoch++;
    this.#enter('unhealthy');
    logger.warn({ problem }, 'the application is not healthy: nothing is sent to it until it is');
    events.emit('appUnhealthy', { reason: problem, error: new Error(problem) });
  }

  /** Never rejects. */
  async #greet(): Promise<void> {
    const { events, work, logger } = this.#deps;
    const done = work.begin('discovery of subscriptions');
    const epoch = ++this.#epoch;
    try {
      await Promise.all(this.#enter('greeting'));
      if (epoch !== this.#epoch) return;
      this.#enter('ready');
      this.#setKnown();
      events.emit('appReady');
    } catch (error) {
      logger.error({ error }, 'the subscriptions of the application could not be set up');
    } finally {
      done();
    }
  }

  #enter(state: AppState): readonly unknown[] {
    this.#state = state;
    if (this.isReady) this.#lateness?.cancel();
    return [...this.#listeners].map((listener) => listener(state));
  }
}

import type { AppChannel } from '../app/channel.ts';
import { AppHealth, type HealthSettings } from '../app/health.ts';
import type { JobService } from '../blocks/jobs/job-service.ts';
import type { PubSubService } from '../blocks/pubsub/pubsub-service.ts';
import type { SidecarEventEmitter } from '../events.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import type { Work } from '../util/work.ts';

/** How long a start waits for the first answer of an application that takes requests already. */
const FIRST_ANSWER_MS = 5_000;
/** The same on a clock that a test moves: it is to tell what hangs before the test is given up. */
const FIRST_ANSWER_IN_TEST_MS = 500;

/** What a meeting is made of. */
export interface AppMeetingParts {
  readonly app: AppChannel;
  readonly health: HealthSettings | undefined;
  readonly pubsub: PubSubService;
  readonly jobs: JobService;
  readonly events: SidecarEventEmitter;
  readonly work: Work;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Finds out when the application is there, and whether it is well, and tells those who have something for it. */
export class AppMeeting {
  readonly #parts: AppMeetingParts;
  readonly #health: AppHealth | undefined;
  readonly #stopRequested = new AbortController();
  /** Resolves when the application is known, or a stop has come first. */
  readonly known: Promise<void>;
  #setKnown: () => void = () => undefined;
  #isKnown = false;
  #isReached = false;
  #greetings = 0;
  #greeting: Promise<void> | undefined;

  constructor(parts: AppMeetingParts) {
    this.#parts = parts;
    this.known = new Promise((resolve) => {
      this.#setKnown = resolve;
    });
    const { app, health, clock, work } = parts;
    if (health === undefined) return;
    app.isHealthy = false;
    this.#health = new AppHealth(health, {
      clock,
      work,
      probe: (path, timeLimitMs) => app.probe(path, timeLimitMs),
      changed: (problem) => this.#changed(problem),
    });
  }

  /** Whether it takes requests and, unless its health decides that, has told its subscriptions. */
  get isReady(): boolean {
    return this.#health === undefined ? this.#isKnown : this.#isReached;
  }

  /** An application that is up is asked now, one that is not as soon as it is. */
  async start(): Promise<void> {
    const isUp = await this.#parts.app.isReachable();
    const met = isUp ? this.#meet() : this.#meetLater();
    const isInTest = this.#parts.clock.realPatienceMs !== undefined;
    if (isUp) await within(met, isInTest ? FIRST_ANSWER_IN_TEST_MS : FIRST_ANSWER_MS);
  }

  /** Asks no more. */
  stop(): void {
    this.#stopRequested.abort(new Error('the sidecar is stopping'));
    this.#health?.stop();
    this.#setKnown();
  }

  async #meetLater(): Promise<void> {
    try {
      await this.#parts.app.untilReachable(this.#stopRequested.signal);
    } catch {
      return;
    }
    await this.#meet();
  }

  async #meet(): Promise<void> {
    if (this.#stopRequested.signal.aborted) return;
    this.#isReached = true;
    if (this.#health === undefined) return this.#greet();
    await this.#health.start();
    await this.#greeting;
  }

  #changed(problem: string | undefined): void {
    const { app, pubsub, jobs, events, logger } = this.#parts;
    app.isHealthy = problem === undefined;
    if (problem === undefined) {
      events.emit('appHealthy');
      this.#greeting = this.#greet().catch((error: unknown) =>
        logger.error({ error }, 'the subscriptions of the application could not be set up'),
      );
      return;
    }
    pubsub.appAway();
    jobs.appAway();
    logger.warn({ problem }, 'the application is not healthy: nothing is sent to it until it is');
    events.emit('appUnhealthy', { reason: problem });
  }

  async #greet(): Promise<void> {
    const { app, pubsub, jobs, events, work } = this.#parts;
    const greetings = ++this.#greetings;
    jobs.appReady();
    const done = work.begin('discovery of subscriptions');
    await pubsub.appReady().finally(done);
    // It may have gone, or gone and come back: then its new greeting tells.
    if (this.#stopRequested.signal.aborted || !app.isHealthy || greetings !== this.#greetings) return;
    this.#isKnown = true;
    this.#setKnown();
    events.emit('appReady');
  }
}

/** Waits, but not longer; real time, because it bounds an application that does not answer. */
async function within(promise: Promise<void>, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([promise, limit]).finally(() => clearTimeout(timer));
}

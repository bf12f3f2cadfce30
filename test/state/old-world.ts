import { sharedState } from '../../src/cluster/shared-state.ts';
import { type DeadLetterOrigin, type Duration, durablePubSub, type Message, Sidecar } from '../../src/index.ts';
import type { VirtualClock } from '../../src/testing/index.ts';
import { application, SUBSCRIPTIONS, type SubscriptionOfFixture, subscribe } from '../fixtures/state/application.mjs';
import { patientClock } from '../support/clock.ts';
import { RecordingLogger } from '../support/logger.ts';
import type { OldState } from './old-fixtures.ts';

/** What the application does for a message, a job or an activity. */
export interface Begun {
  readonly kind: 'message' | 'job' | 'activity';
  readonly name: string;
  readonly attempt: number;
  readonly topic?: string;
  readonly group?: string;
  readonly data?: unknown;
  readonly dueAt?: number;
  readonly message?: Message;
  readonly deadLetter?: DeadLetterOrigin;
  /** When it was begun. */
  readonly at: number;
}

/** The applications of a fixture, run by the present code. */
export class OldWorld implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly logger = new RecordingLogger();
  readonly begun: Begun[] = [];
  shop: Sidecar;
  billing: Sidecar;
  readonly #make: (appId: string) => Sidecar;
  #takeOverMs: number;

  /** `downMs` is how long no process ran, in milliseconds. */
  constructor({ definition, manifest, takeOverMs }: OldState, { downMs = 0, hasMessages = true } = {}) {
    this.clock = patientClock({ startAt: manifest.writtenAt + downMs });
    this.#takeOverMs = takeOverMs;
    const state = sharedState(definition);
    const { clock, logger } = this;
    this.#make = (appId) =>
      new Sidecar({ appId, state, clock, logger, components: hasMessages ? [durablePubSub('pubsub')] : [] });
    [this.shop, this.billing] = [this.#make('shop'), this.#make('billing')];
  }

  get #deps() {
    const log = (what: Omit<Begun, 'at'>): void => void this.begun.push({ ...what, at: this.clock.now() });
    return { isLater: true, log };
  }

  /** Starts the shop, which runs its jobs and workflows, and waits until it has taken over all that is there. */
  async start(): Promise<this> {
    application(this.shop, this.#deps);
    await this.shop.start();
    await this.clock.settled();
    if (this.#takeOverMs > 0) await this.pass(this.#takeOverMs);
    return this;
  }

  /** Stops all, and starts the shop again later. On a server that is far faster than the heartbeats of so much time. */
  async startAgainAfter(by: Duration): Promise<void> {
    await this[Symbol.asyncDispose]();
    await this.clock.advance(by);
    [this.shop, this.billing] = [this.#make('shop'), this.#make('billing')];
    this.#takeOverMs = 0;
    await this.start();
  }

  /** Subscribes to a topic as the shop does. */
  async subscribe(isWanted: (subscription: SubscriptionOfFixture) => boolean = () => true): Promise<void> {
    for (const one of SUBSCRIPTIONS.filter(isWanted)) await subscribe(this.shop, one, this.#deps);
    await this.clock.settled();
  }

  /** What was begun of a kind. */
  all(kind: Begun['kind']): readonly Begun[] {
    return this.begun.filter((one) => one.kind === kind);
  }

  async pass(by: Duration): Promise<void> {
    await this.clock.advance(by);
    await this.clock.settled();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.shop.stop(), this.billing.stop()]);
  }
}

import type { KeyValueOutbox, OutboxEvent } from '../../../components/key-value.ts';
import { Alarm } from '../../../util/alarm.ts';
import { CancelSource } from '../../../util/cancel-token.ts';
import { sleep } from '../../../util/clock.ts';
import { outside } from '../../../util/outside.ts';
import type { BlockDeps } from '../../block-deps.ts';
import { openEvent } from './events.ts';
import type { OutboxPublisher } from './publisher.ts';

const PORTION = 100;
/** After this time, others publish events that a process has claimed and not removed. */
const LEASE_MS = 30_000;
/** How often it is looked for events that processes have left which are no more. */
const LOOK_MS = LEASE_MS + 1_000;
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;

/** The dependencies of an {@link OutboxRelay}. */
export interface OutboxRelayDeps extends Pick<BlockDeps, 'clock' | 'logger' | 'work'> {
  readonly storeName: string;
  readonly outbox: KeyValueOutbox;
  readonly publisher: () => OutboxPublisher;
}

/**
 * Publishes the events that transactions have left, one after the other, and removes them then: whatever ends between the
 * two publishes them again.
 */
export class OutboxRelay {
  readonly #deps: OutboxRelayDeps;
  readonly #alarm: Alarm;
  readonly #stopping = new CancelSource();
  /** Claimed events that are still to be published. */
  #claimed: readonly OutboxEvent[] = [];
  #running: Promise<void> | undefined;
  #isWoken = false;
  #isStarted = false;

  constructor(deps: OutboxRelayDeps) {
    this.#deps = deps;
    this.#alarm = new Alarm(deps.clock, () => this.wake());
  }

  /** Begins with what former processes have left. */
  start(): void {
    this.#isStarted = true;
    this.wake();
  }

  /** There may be events. */
  wake(): void {
    if (!this.#isStarted || this.#stopping.aborted) return;
    this.#isWoken = true;
    this.#running ??= outside(() => this.#run()).finally(() => {
      this.#running = undefined;
      if (this.#isWoken) this.wake();
    });
  }

  async #run(): Promise<void> {
    const { clock, logger, storeName } = this.#deps;
    let delayMs = FIRST_DELAY_MS;
    while (this.#isWoken && !this.#stopping.aborted) {
      this.#isWoken = false;
      try {
        await this.#publishAll();
        delayMs = FIRST_DELAY_MS;
      } catch (error) {
        if (this.#stopping.aborted) return;
        logger.warn({ storeName, error, delayMs }, 'events of an outbox could not be published: it is tried again');
        this.#isWoken = true;
        await sleep(clock, delayMs, this.#stopping).catch(() => undefined);
        delayMs = Math.min(delayMs * 2, MAX_DELAY_MS);
      }
    }
    if (!this.#stopping.aborted) this.#alarm.set(clock.now() + LOOK_MS);
  }

  async #publishAll(): Promise<void> {
    const { outbox, work, storeName } = this.#deps;
    const done = work.begin(`publishing the outbox of ${storeName}`);
    try {
      while (!this.#stopping.aborted) {
        if (this.#claimed.length === 0) this.#claimed = await outbox.claim(PORTION, LEASE_MS);
        if (this.#claimed.length === 0) return;
        await this.#publish();
      }
    } finally {
      done();
    }
  }

  async #publish(): Promise<void> {
    const { outbox, publisher } = this.#deps;
    const published: string[] = [];
    try {
      for (const { id, bytes } of this.#claimed) {
        if (this.#stopping.aborted) return;
        const { to, event } = openEvent(bytes);
        await publisher().publish(to, event);
        published.push(id);
      }
    } finally {
      this.#claimed = this.#claimed.slice(published.length);
      await outbox.remove(published);
    }
  }

  /** Waits for the event that is being published. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the sidecar is stopping'));
    this.#alarm.off();
    await this.#running;
  }
}

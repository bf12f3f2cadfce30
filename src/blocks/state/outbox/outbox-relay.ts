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
/** An event that has failed as often may itself be at fault: the next one is tried, too. */
const MAX_FAILURES = 5;
/** So many of those are tried one after the other; in an outage, each may take long to fail. */
const MAX_SUSPECTS = 10;

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
  /** How often claimed events could not be published, by their IDs. */
  readonly #failures = new Map<string, number>();
  /** Whether an event has just gone through, so that one that does not is at fault. */
  #works = false;
  #running: Promise<void> | undefined;
  #isWoken = false;
  #isStarted = false;
  /** Whether events may wait that it does not know of, or that it has not published. */
  #mayWait = true;

  constructor(deps: OutboxRelayDeps) {
    this.#deps = deps;
    this.#alarm = new Alarm(deps.clock, () => this.#wake());
  }

  /**
   * Whether events of this process or of former ones may wait that a message published now would overtake. It does not
   * know what other processes have left, or have claimed, nor events that it has put off because they are refused.
   */
  get isBehind(): boolean {
    return this.#mayWait;
  }

  /** Begins with what former processes have left. */
  start(): void {
    this.#isStarted = true;
    this.#wake();
  }

  /** Events have been left. */
  expect(): void {
    this.#mayWait = true;
    this.#wake();
  }

  /** There may be events. */
  #wake(): void {
    if (!this.#isStarted || this.#stopping.aborted) return;
    this.#isWoken = true;
    this.#running ??= outside(() => this.#run()).finally(() => {
      this.#running = undefined;
      if (this.#isWoken) this.#wake();
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
    const { work, storeName } = this.#deps;
    const done = work.begin(`publishing the outbox of ${storeName}`);
    try {
      while (!this.#stopping.aborted) {
        if (this.#claimed.length < PORTION && this.#claimed.every((event) => this.#isStuck(event))) await this.#claim();
        this.#mayWait = this.#claimed.length > 0 || this.#isWoken;
        if (this.#claimed.length === 0 || !(await this.#publish())) return;
      }
    } finally {
      done();
    }
  }

  /** Claims more. An earlier claim may have ended since, so that its events are claimed again. */
  async #claim(): Promise<void> {
    const claimed = new Set(this.#claimed.map(({ id }) => id));
    const found = await this.#deps.outbox.claim(PORTION, LEASE_MS);
    this.#claimed = [...this.#claimed, ...found.filter(({ id }) => !claimed.has(id))];
  }

  /**
   * Publishes what is claimed, in order; returns whether to go on. If one goes through after suspects have failed, these
   * are tried once more: the pub/sub may be back only now. They are left for later if they fail again.
   */
  async #publish(): Promise<boolean> {
    const [published, left] = [new Set<string>(), new Set<string>()];
    const works = this.#works;
    this.#works = false;
    let suspects = 0;
    try {
      for (const event of this.#claimed) {
        if (this.#stopping.aborted || suspects === MAX_SUSPECTS) break;
        if (await this.#publishOne(event)) {
          published.add(event.id);
          this.#works = suspects > 0;
          if (this.#works) break;
        } else if (works) left.add(event.id);
        else suspects++;
      }
    } finally {
      this.#claimed = this.#claimed.filter(({ id }) => !published.has(id) && !left.has(id));
      await this.#deps.outbox.remove([...published]);
    }
    return published.size + left.size > 0;
  }

  /** Returns whether it went through; throws if it has not failed often yet. */
  async #publishOne(event: OutboxEvent): Promise<boolean> {
    const { publisher, logger, storeName } = this.#deps;
    try {
      const { to, event: bytes } = openEvent(event.bytes);
      await publisher().publish(to, bytes);
      this.#failures.delete(event.id);
      return true;
    } catch (error) {
      this.#failures.set(event.id, (this.#failures.get(event.id) ?? 0) + 1);
      if (!this.#isStuck(event)) throw error;
      logger.error(
        { storeName, eventId: event.id, error },
        'an event of an outbox cannot be published: it is tried again',
      );
      return false;
    }
  }

  #isStuck({ id }: OutboxEvent): boolean {
    return (this.#failures.get(id) ?? 0) >= MAX_FAILURES;
  }

  /** Waits for the event that is being published. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the sidecar is stopping'));
    this.#alarm.off();
    await this.#running;
  }
}

import type { KeyValueOutbox, KeyValueStore, OutboxEvent } from '../../../components/key-value.ts';
import { Alarm } from '../../../util/alarm.ts';
import { CancelSource } from '../../../util/cancel-token.ts';
import { sleep } from '../../../util/clock.ts';
import { outside } from '../../../util/outside.ts';
import type { BlockDeps } from '../../block-deps.ts';
import { openEvent } from './events.ts';
import type { OutboxPublisher } from './publisher.ts';
import { RelayLease } from './relay-lease.ts';
import { WaitingEvents } from './waiting-events.ts';

/** So many published events are removed at once: whatever ends before publishes them again. */
const PORTION = 100;
/** How often it is looked for events of processes that are no more, and those set aside are tried again. */
const LOOK_MS = 15_000;
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;
/** How often it is looked whether another relay still publishes. */
const FIRST_TURN_MS = 100;
const MAX_TURN_MS = 1_000;

/** The dependencies of an {@link OutboxRelay}. */
export interface OutboxRelayDeps extends Pick<BlockDeps, 'appId' | 'clock' | 'logger' | 'work' | 'newId'> {
  readonly storeName: string;
  readonly store: KeyValueStore;
  readonly outbox: KeyValueOutbox;
  readonly publisher: () => OutboxPublisher;
}

/** What a relay has done: all it could; nothing, as another one publishes; a part, as its lease is over. */
type Done = 'all' | 'elsewhere' | 'part';

/**
 * Publishes the events that transactions have left, one after the other, and removes them then: whatever ends between the
 * two publishes them again. Of the relays of a store, one publishes at a time, so that their events do not mix.
 */
export class OutboxRelay {
  readonly #deps: OutboxRelayDeps;
  readonly #alarm: Alarm;
  readonly #stopping = new CancelSource();
  readonly #lease: RelayLease;
  readonly #waiting = new WaitingEvents();
  /** Behind the last event of the last walk. */
  #cursor: string | undefined;
  #running: Promise<void> | undefined;
  #isWoken = false;
  #isStarted = false;
  /** Whether events may wait that it does not know of, or that it has not published. */
  #mayWait = true;
  /** Whether transactions of this process have left events since the last walk. */
  #hasLeft = false;

  constructor(deps: OutboxRelayDeps) {
    this.#deps = deps;
    const { store, appId, storeName, clock, newId } = deps;
    const key = `insidecar||outbox||${appId}||${storeName}||relay`;
    this.#lease = new RelayLease({ store, key, clock, ownerId: newId() });
    this.#alarm = new Alarm(deps.clock, () => this.#look());
  }

  /**
   * Whether events of this process or of former ones may wait that a message published now would overtake. It does not
   * know what other processes have left since it has last looked.
   */
  get isBehind(): boolean {
    return this.#mayWait || this.#waiting.isAny;
  }

  /** Begins with what former processes have left. */
  start(): void {
    this.#isStarted = true;
    this.#wake();
  }

  /** Events have been left. */
  expect(): void {
    this.#mayWait = true;
    this.#hasLeft = true;
    this.#wake();
  }

  #look(): void {
    this.#waiting.retry();
    this.#cursor = undefined;
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
    let [delayMs, turnMs] = [FIRST_DELAY_MS, FIRST_TURN_MS];
    while (this.#isWoken && !this.#stopping.aborted) {
      this.#isWoken = false;
      try {
        const done = await this.#publishInTurn();
        delayMs = FIRST_DELAY_MS;
        if (done === 'all') turnMs = FIRST_TURN_MS;
        else this.#isWoken = true;
        if (done !== 'elsewhere') continue;
        await this.#pause(turnMs);
        turnMs = Math.min(turnMs * 2, MAX_TURN_MS);
      } catch (error) {
        if (this.#stopping.aborted) return;
        logger.warn({ storeName, error, delayMs }, 'events of an outbox could not be published: it is tried again');
        this.#isWoken = true;
        await this.#pause(delayMs);
        delayMs = Math.min(delayMs * 2, MAX_DELAY_MS);
      }
    }
    if (!this.#stopping.aborted) this.#alarm.set(clock.now() + LOOK_MS);
  }

  async #pause(delayMs: number): Promise<void> {
    await sleep(this.#deps.clock, delayMs, this.#stopping).catch(() => undefined);
  }

  async #publishInTurn(): Promise<Done> {
    const { work, storeName, outbox } = this.#deps;
    const done = work.begin(`publishing the outbox of ${storeName}`);
    try {
      if (this.#hasLeft || this.#waiting.isAny || (await outbox.read()).cursor !== undefined) {
        this.#mayWait = true;
        this.#hasLeft = false;
        if (!(await this.#lease.acquire())) return 'elsewhere';
        if (!(await this.#publishAndRelease())) return 'part';
      }
      this.#mayWait = this.#isWoken;
      return 'all';
    } finally {
      done();
    }
  }

  async #publishAndRelease(): Promise<boolean> {
    try {
      return await this.#publishAll();
    } finally {
      await this.#lease.release();
    }
  }

  /** Publishes all events that can be, in order; returns `false` if the lease is over. Throws while none goes through. */
  async #publishAll(): Promise<boolean> {
    const { outbox } = this.#deps;
    let isFromFirst = !this.#waiting.canGoOn || this.#cursor === undefined;
    let cursor = isFromFirst ? undefined : this.#cursor;
    if (isFromFirst) this.#waiting.begin();
    else this.#waiting.goOn();
    for (;;) {
      const page = await outbox.read(cursor);
      if (page.cursor === undefined) break;
      const step = await this.#publishPage(page.events);
      if (step === 'stop') return false;
      cursor = page.cursor;
      if (step === 'on') continue;
      cursor = undefined;
      isFromFirst = true;
      this.#waiting.begin();
    }
    if (isFromFirst && this.#waiting.end()) throw new Error('no event goes through');
    this.#cursor = cursor;
    return true;
  }

  /** Returns whether to go on, to begin again at the first event, or to stop. */
  async #publishPage(events: readonly OutboxEvent[]): Promise<'on' | 'again' | 'stop'> {
    let published: string[] = [];
    const removePublished = async (): Promise<void> => {
      const ids = published;
      published = [];
      await this.#deps.outbox.remove(ids);
    };
    try {
      for (const event of events) {
        if (this.#stopping.aborted || !this.#lease.isHeld) return 'stop';
        const { key } = openEvent(event.bytes);
        const ordered = { id: event.id, key };
        if (!this.#waiting.mayTry(ordered) || !(await this.#publishOne(event, key))) continue;
        if (published.push(event.id) >= PORTION) await removePublished();
        if (this.#waiting.succeeded(ordered)) return 'again';
      }
      return 'on';
    } finally {
      if (published.length > 0) await removePublished();
    }
  }

  /** Returns whether it went through; throws if nothing may overtake it. */
  async #publishOne({ id, bytes }: OutboxEvent, key: string): Promise<boolean> {
    const { publisher, logger, storeName } = this.#deps;
    try {
      const { to, event } = openEvent(bytes);
      await publisher().publish(to, event);
      return true;
    } catch (error) {
      const goesOn = this.#waiting.failed({ id, key });
      if (this.#waiting.isAside(id))
        logger.error({ storeName, eventId: id, error }, 'an event of an outbox cannot be published: it is tried again');
      if (!goesOn) throw error;
      return false;
    }
  }

  /** Waits for the event that is being published. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the sidecar is stopping'));
    this.#alarm.off();
    await this.#running;
  }
}

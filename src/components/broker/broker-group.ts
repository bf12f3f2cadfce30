import type { Clock, Timer } from '../../util/clock.ts';
import { type Link, Linked } from '../../util/linked.ts';
import { Dispatcher, type MessageQueue } from '../dispatcher.ts';
import type { ComponentSubscription, ConsumerOptions, Message } from '../pubsub.ts';
import { ReadyMessages } from '../ready-messages.ts';
import type { Held, Line, LineOptions, LineReceiver, Received, Unsettled } from './line.ts';

/** The most messages that are fetched ahead of those in flight. */
const MAX_AHEAD = 256;
/** Messages that wait for a retry do not count in the window, up to this number. */
const MAX_DELAYED = 10_000;
/** Settled messages whose redelivery is awaited. */
const MAX_AWAITED = 10_000;

const DONE = Promise.resolve();

class HeldEntry<Handle> implements Unsettled<Handle> {
  readonly message: Message;
  readonly key: string | undefined;
  attempts: number;
  handle: Handle | undefined;
  link: Link<HeldEntry<Handle>> | undefined;
  /** `ready`: here, with no consumer. `out`: with a consumer. `delayed`: waiting for a retry. */
  state: 'ready' | 'out' | 'delayed' = 'ready';
  retry: Timer | undefined;

  constructor({ message, attempts, key, handle }: Received<Handle>) {
    this.message = message;
    this.attempts = attempts;
    this.key = key;
    this.handle = handle;
  }
}

/** The dependencies of a {@link BrokerGroup}. */
export interface BrokerGroupDeps<Handle> {
  /** Begins to consume. */
  readonly open: (options: LineOptions, receiver: LineReceiver<Handle>) => Promise<Line<Handle>>;
  readonly options: Omit<LineOptions, 'ordered'>;
}

/**
 * One consumer group's messages of a topic that a broker delivers to this process. Fetches only what its consumers can
 * take soon, and keeps messages that wait for a retry out of that window.
 */
export class BrokerGroup<Handle> implements MessageQueue<HeldEntry<Handle>>, LineReceiver<Handle> {
  readonly #deps: BrokerGroupDeps<Handle>;
  readonly #clock: Clock;
  readonly #dispatcher = new Dispatcher<HeldEntry<Handle>>(this);
  readonly #entries = new Linked<HeldEntry<Handle>>();
  readonly #byKey = new Map<string, HeldEntry<Handle>>();
  readonly #ready = new ReadyMessages<HeldEntry<Handle>>(this.#dispatcher.keys);
  /** The keys of messages that were settled after their connection had gone. */
  readonly #awaited = new Set<string>();
  #delayed = 0;
  #maxInFlight = 0;
  /** How many consumers want one message at a time. */
  #ordered = 0;
  /** Whether the line knows that there is much room. */
  #isRoomy = true;
  #line: Line<Handle> | undefined;
  /** Whether the line returns messages: what it delivers now goes back with its connection. */
  #isReturning = false;
  #turn: Promise<void> = DONE;

  constructor(deps: BrokerGroupDeps<Handle>) {
    this.#deps = deps;
    this.#clock = deps.options.clock;
  }

  get hasConsumers(): boolean {
    return this.#dispatcher.hasConsumers;
  }

  get window(): number {
    if (this.#ordered > 0) return 1;
    // Messages that wait for others of their key must not keep those of other keys away.
    const isKeyed = this.#dispatcher.keys.perKey < Number.POSITIVE_INFINITY;
    return this.#maxInFlight + (isKeyed ? MAX_AHEAD : Math.min(this.#maxInFlight, MAX_AHEAD));
  }

  get room(): number {
    if (!this.#dispatcher.isServed) return 0;
    return Math.max(0, this.window - (this.#entries.size - Math.min(this.#delayed, MAX_DELAYED)));
  }

  get unsettled(): number {
    return this.#entries.size;
  }

  /** Adds a consumer; the first one opens the line. */
  async join(options: ConsumerOptions): Promise<ComponentSubscription> {
    const ordered = options.ordered ? 1 : 0;
    this.#ordered += ordered;
    this.#maxInFlight += options.maxInFlight;
    const consumer = this.#dispatcher.join(options, this.#clock, () => {
      this.#ordered -= ordered;
      this.#maxInFlight -= options.maxInFlight;
    });
    try {
      await this.#inTurn(() => this.#open());
    } catch (error) {
      await consumer.close();
      throw error;
    }
    return {
      pause: () => consumer.pause(),
      resume: () => consumer.resume(),
      close: async () => {
        await consumer.close();
        await this.#inTurn(() => this.#close());
      },
    };
  }

  /** Runs one opening or closing after the other. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #open(): Promise<void> {
    const { open, options } = this.#deps;
    this.#line ??= await open({ ...options, ordered: this.#ordered > 0 }, this);
    this.#line.roomChanged();
  }

  /** Stop reading first, or messages could arrive without an owner. */
  async #close(): Promise<void> {
    const line = this.#line;
    if (line === undefined) return;
    // The window is another one now.
    if (this.hasConsumers) return line.roomChanged();
    this.#line = undefined;
    // A consumer that joins meanwhile could not settle what it got.
    this.#dispatcher.isPaused = true;
    try {
      await line.stop();
      this.#isReturning = true;
      await line.release(this.#takeAll().filter(isHeld));
    } finally {
      await line.close().finally(() => {
        this.#isReturning = false;
        this.#dispatcher.isPaused = false;
      });
    }
  }

  /** Forgets all messages; returns them in the order of their delivery. */
  #takeAll(): HeldEntry<Handle>[] {
    const entries = [...this.#entries];
    for (const entry of entries) this.#forget(entry);
    this.#ready.clear();
    this.#awaited.clear();
    return entries;
  }

  deliver(received: readonly Received<Handle>[]): void {
    if (this.#isReturning) return;
    for (const one of received) if (!this.#isKnown(one)) this.#add(one);
    this.#dispatcher.wake();
    this.#reportRoom();
  }

  #add(received: Received<Handle>): void {
    const entry = new HeldEntry(received);
    entry.link = this.#entries.add(entry);
    if (entry.key !== undefined && !this.#byKey.has(entry.key)) this.#byKey.set(entry.key, entry);
    this.#ready.push(entry);
  }

  /** Whether the message is in process here, or was settled: its new delivery replaces the former one. */
  #isKnown({ key, handle, attempts, isFirst }: Received<Handle>): boolean {
    if (key === undefined) return false;
    const entry = this.#byKey.get(key);
    if (entry !== undefined) {
      const former = entry.handle;
      if (isFirst && former !== undefined) return false;
      entry.handle = handle;
      entry.attempts = Math.max(entry.attempts, attempts);
      // A failure is that of the connection, with which both deliveries end.
      if (isFirst === false && former !== undefined) this.#line?.ack(former).catch(() => undefined);
      return true;
    }
    if (!this.#awaited.delete(key)) return false;
    // When it fails, the broker delivers once more.
    this.#line?.ack(handle).catch(() => this.#await(key));
    return true;
  }

  detach(isGone: (handle: Handle) => boolean = () => true): void {
    for (const entry of [...this.#entries]) {
      if (entry.handle === undefined || !isGone(entry.handle)) continue;
      entry.handle = undefined;
      if (entry.state === 'ready' || (entry.state === 'delayed' && entry.key === undefined)) this.#forget(entry);
    }
    this.#ready.extract(({ handle }) => handle === undefined);
    this.#reportRoom();
  }

  shift(): HeldEntry<Handle> | undefined {
    const entry = this.#ready.shift();
    if (entry !== undefined) entry.state = 'out';
    return entry;
  }

  unshift(entry: HeldEntry<Handle>): void {
    if (entry.handle === undefined) return this.#forget(entry);
    entry.state = 'ready';
    this.#ready.unshift(entry);
  }

  remove(entry: HeldEntry<Handle>): Promise<void> {
    this.#forget(entry);
    const { handle } = entry;
    if (handle !== undefined) return this.#settle((line) => line.ack(handle));
    if (entry.key !== undefined) this.#await(entry.key);
    return Promise.reject(new Error('the connection to the broker that delivered the message is gone'));
  }

  delay(entry: HeldEntry<Handle>, delayMs: number): Promise<void> {
    if (isHeld(entry)) {
      const delayed = this.#line?.delay?.(entry, delayMs);
      if (delayed !== undefined) {
        this.#forget(entry);
        return delayed;
      }
    } else if (entry.key === undefined) {
      this.#forget(entry);
      return DONE;
    }
    this.#ready.end(entry);
    entry.state = 'delayed';
    this.#delayed++;
    entry.retry = this.#clock.setTimeout(() => this.#retry(entry), delayMs);
    this.#reportRoom();
    return this.hold(entry, delayMs);
  }

  #retry(entry: HeldEntry<Handle>): void {
    this.#endDelay(entry);
    // Its connection is gone, and the broker has delivered it to another process or will deliver it again.
    if (entry.handle === undefined) return this.#forget(entry);
    entry.state = 'ready';
    this.#ready.push(entry);
    this.#dispatcher.wake();
  }

  hold(entry: HeldEntry<Handle>, delayMs: number): Promise<void> {
    return isHeld(entry) ? this.#settle((line) => line.hold(entry, delayMs)) : DONE;
  }

  onServedChange(isServed: boolean): void {
    this.#isRoomy = isServed && this.#hasMuchRoom;
    this.#line?.roomChanged();
  }

  /** After the line has closed, the broker has all unsettled messages again. */
  #settle(settle: (line: Line<Handle>) => Promise<void>): Promise<void> {
    return this.#line === undefined ? Promise.reject(new Error('the subscription is closed')) : settle(this.#line);
  }

  #await(key: string): void {
    const [oldest] = this.#awaited;
    if (this.#awaited.size >= MAX_AWAITED && oldest !== undefined) this.#awaited.delete(oldest);
    this.#awaited.add(key);
  }

  #forget(entry: HeldEntry<Handle>): void {
    this.#ready.end(entry);
    if (entry.link === undefined || !this.#entries.delete(entry.link)) return;
    if (entry.key !== undefined && this.#byKey.get(entry.key) === entry) this.#byKey.delete(entry.key);
    if (entry.state === 'delayed') this.#endDelay(entry);
    this.#reportRoom();
  }

  #endDelay(entry: HeldEntry<Handle>): void {
    entry.retry?.cancel();
    entry.retry = undefined;
    this.#delayed--;
    entry.state = 'out';
  }

  /** Half of the window, but no more than what is fetched ahead: beyond that, consumers would wait for messages. */
  get #hasMuchRoom(): boolean {
    return this.room >= Math.min(this.window / 2, MAX_AHEAD);
  }

  /** Tells the line once when there is much room. */
  #reportRoom(): void {
    const isRoomy = this.#hasMuchRoom;
    if (isRoomy === this.#isRoomy) return;
    this.#isRoomy = isRoomy;
    if (isRoomy) this.#line?.roomChanged();
  }
}

function isHeld<Handle>(entry: HeldEntry<Handle>): entry is HeldEntry<Handle> & Held<Handle> {
  return entry.handle !== undefined;
}

import type { KeyedEntry, StateStore } from '../../state/store.ts';
import type { Clock, Timer } from '../../util/clock.ts';
import { Deque } from '../../util/deque.ts';
import type { Logger } from '../../util/logger.ts';
import { Dispatcher, type MessageQueue, type QueuedMessage } from '../dispatcher.ts';
import type { ComponentSubscription, Message, SubscribeOptions } from '../pubsub.ts';
import { decodeQueued, encodeQueued } from './codec.ts';
import type { GroupCommit } from './group-commit.ts';
import type { QueueLayout } from './layout.ts';

/** How far a queue reads ahead: that many messages, or that many bytes of them. */
const READ_AHEAD = { messages: 512, bytes: 4 * 1024 * 1024 };
/** Wait before reading again after the store failed. */
const READ_RETRY_MS = 1_000;

/** A message that is loaded, and the key under which it lies. */
export interface StoredMessage extends QueuedMessage {
  key: string;
  readonly number: number;
}

/** What a queue is made of. */
export interface QueueParts {
  readonly store: StateStore;
  readonly commits: GroupCommit;
  readonly layout: QueueLayout;
  readonly topic: string;
  readonly logger: Logger;
  /** Notes work that a test waits for; call what it returns at its end. */
  readonly track: (what: string) => () => void;
}

/** One group's messages in the store. It holds in memory what is handed out and a short read-ahead, however many wait. */
export class DurableQueue implements MessageQueue<StoredMessage> {
  readonly #parts: QueueParts;
  readonly #ready = new Deque<StoredMessage>();
  readonly #dispatcher = new Dispatcher(this);
  /** Keys of delayed messages that are loaded: a scan of what is due leaves them out. */
  readonly #loadedDelayed = new Set<string>();
  /** The greatest ready key that was loaded; those behind it are still to be read. */
  #loadedTo = '';
  /** Nothing is behind `#loadedTo` but what is being committed now. */
  #caughtUp = false;
  /** How many publishes have been committed: shows a scan that it missed one. */
  #committed = 0;
  #reading = false;
  #scanningDue = false;
  #forgetLater: string[] = [];
  #clock: Clock | undefined;
  #dueTimer: Timer | undefined;
  #dueAt = Number.POSITIVE_INFINITY;

  constructor(parts: QueueParts) {
    this.#parts = parts;
  }

  join(options: SubscribeOptions, clock: Clock): ComponentSubscription {
    this.#clock = clock;
    if (!this.#dispatcher.hasConsumers) void this.#read();
    return this.#dispatcher.join(options, clock, () => this.#left());
  }

  /** Where a publish writes the message for this group. */
  keyOf(number: number): string {
    return this.#parts.layout.ready(number);
  }

  /** A publish has been committed: hands it out without reading it back when nothing waits before it. */
  committed(message: Message, number: number, key: string): void {
    this.#committed++;
    if (!this.#caughtUp || !this.#dispatcher.hasConsumers) return;
    if (this.#ready.length >= READ_AHEAD.messages) {
      this.#caughtUp = false;
      return;
    }
    if (key <= this.#loadedTo) return;
    this.#loadedTo = key;
    this.#ready.push({ message, attempts: 0, key, number });
    this.#dispatcher.wake();
  }

  shift(): StoredMessage | undefined {
    const entry = this.#ready.shift();
    if (!this.#caughtUp && this.#ready.length < READ_AHEAD.messages / 2) void this.#read();
    return entry;
  }

  unshift(entry: StoredMessage): void {
    this.#ready.unshift(entry);
  }

  async remove(entry: StoredMessage): Promise<void> {
    await this.#parts.commits.change([], entry.key);
    this.#forget(entry.key);
  }

  async delay(entry: StoredMessage, delayMs: number, clock: Clock): Promise<void> {
    const dueAt = Math.ceil(clock.now() + delayMs);
    const { commits, layout } = this.#parts;
    const key = layout.delayed(dueAt, entry.number);
    await commits.change([{ key, value: encodeQueued(entry) }], entry.key === key ? undefined : entry.key);
    this.#forget(entry.key);
    this.#expectDue(dueAt);
  }

  /** A scan that is under way may still show the key: it is left out until that scan has been looked at. */
  #forget(key: string): void {
    if (this.#scanningDue) this.#forgetLater.push(key);
    else this.#loadedDelayed.delete(key);
  }

  async hold(entry: StoredMessage): Promise<void> {
    await this.#parts.commits.change([{ key: entry.key, value: encodeQueued(entry) }]);
  }

  /** Without consumers nothing is loaded and no timer runs. */
  #left(): void {
    if (this.#dispatcher.hasConsumers) return;
    this.#dueTimer?.cancel();
    this.#dueAt = Number.POSITIVE_INFINITY;
    while (this.#ready.shift() !== undefined);
    this.#loadedDelayed.clear();
    this.#loadedTo = '';
    this.#caughtUp = false;
  }

  /** Reads ahead, one scan at a time. */
  async #read(): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    const done = this.#parts.track('reading queued messages');
    try {
      await this.#parts.commits.flushed();
      await this.#readDue();
      while (!this.#caughtUp && this.#dispatcher.hasConsumers && this.#ready.length < READ_AHEAD.messages / 2)
        await this.#readReady();
    } catch (error) {
      this.#readLater(error);
    } finally {
      this.#reading = false;
      done();
    }
  }

  async #readReady(): Promise<void> {
    const { store, layout } = this.#parts;
    const committed = this.#committed;
    const from = this.#loadedTo === '' ? layout.readyRange.from : `${this.#loadedTo}\u0000`;
    const { messages: limit, bytes: maxBytes } = READ_AHEAD;
    const entries = await store.scan({ ...layout.readyRange, from, limit, maxBytes });
    if (!this.#dispatcher.hasConsumers) return;
    const bytes = entries.reduce((sum, { value }) => sum + value.length, 0);
    for (const entry of entries) this.#load(entry);
    const last = entries.at(-1);
    if (last !== undefined) this.#loadedTo = last.key;
    this.#caughtUp = entries.length < limit && bytes < maxBytes && committed === this.#committed;
    this.#dispatcher.wake();
  }

  async #readDue(): Promise<void> {
    const clock = this.#clock;
    if (clock === undefined || !this.#dispatcher.hasConsumers || this.#scanningDue) return;
    this.#scanningDue = true;
    try {
      const now = clock.now();
      if (await this.#loadDue(now)) this.#expectDue(now);
      await this.#expectNext(now);
    } finally {
      this.#scanningDue = false;
      for (const key of this.#forgetLater.splice(0)) this.#loadedDelayed.delete(key);
    }
  }

  /** Loads what is due and not loaded; answers whether there may be more. */
  async #loadDue(now: number): Promise<boolean> {
    const { store, layout } = this.#parts;
    const limit = this.#loadedDelayed.size + READ_AHEAD.messages;
    const due = await store.scan({ ...layout.dueRange(now), limit });
    if (!this.#dispatcher.hasConsumers) return false;
    for (const entry of due) {
      if (this.#loadedDelayed.has(entry.key)) continue;
      this.#loadedDelayed.add(entry.key);
      this.#load(entry);
    }
    this.#dispatcher.wake();
    return due.length === limit;
  }

  async #expectNext(now: number): Promise<void> {
    const { store, layout } = this.#parts;
    const [next] = await store.scan({ ...layout.delayedRange, from: layout.dueRange(now).to, limit: 1 });
    if (next !== undefined) this.#expectDue(layout.dueAtOf(next.key));
  }

  #load({ key, value }: KeyedEntry): void {
    const { message, attempts } = decodeQueued(key, value, this.#parts.topic);
    this.#ready.push({ message, attempts, key, number: this.#parts.layout.numberOf(key) });
  }

  /** One timer, for the earliest. */
  #expectDue(dueAt: number): void {
    const clock = this.#clock;
    if (clock === undefined || !this.#dispatcher.hasConsumers || dueAt >= this.#dueAt) return;
    this.#dueTimer?.cancel();
    this.#dueAt = dueAt;
    this.#dueTimer = clock.setTimeout(() => {
      this.#dueAt = Number.POSITIVE_INFINITY;
      const done = this.#parts.track('reading messages that are due');
      void this.#readDue()
        .catch((error: unknown) => this.#readLater(error))
        .finally(done);
    }, dueAt - clock.now());
  }

  #readLater(error: unknown): void {
    if (!this.#dispatcher.hasConsumers || this.#clock === undefined) return;
    this.#parts.logger.error({ error }, 'messages could not be read from the store: will be tried again');
    this.#clock.setTimeout(() => void this.#read(), READ_RETRY_MS);
  }
}

import type { KeyedEntry, StateStore } from '../../state/store.ts';
import { type Clock, sleep, type Timer } from '../../util/clock.ts';
import { Deque } from '../../util/deque.ts';
import type { Logger } from '../../util/logger.ts';
import { Dispatcher, type MessageQueue, type QueuedMessage } from '../dispatcher.ts';
import type { ComponentSubscription, Message, SubscribeOptions } from '../pubsub.ts';
import { decodeQueued, encodeQueued } from './codec.ts';
import type { GroupCommit } from './group-commit.ts';
import type { QueueLayout } from './layout.ts';
import { Settlements, STORE_RETRY_MS } from './settlements.ts';

/** How far a queue reads ahead: that many messages, or that many bytes of them. */
const READ_AHEAD = { messages: 512, bytes: 4 * 1024 * 1024 };

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
  /** Of the data of those. */
  #readyBytes = 0;
  readonly #dispatcher = new Dispatcher(this);
  readonly #settlements: Settlements;
  /** From the first consumer that joins until the last one leaves. What was loaded counts for that time only. */
  #tenure = new AbortController();
  /** The greatest ready key that was loaded; those behind it are still to be read. */
  #loadedTo = '';
  /** Nothing is behind `#loadedTo` but what is being committed now. */
  #caughtUp = false;
  /** Ready keys that are being committed and that no scan has shown. */
  readonly #publishing = new Set<string>();
  /** How many publishes have been committed: shows a scan that it missed one. */
  #committed = 0;
  /** Delayed messages may be due that are not loaded. */
  #mayBeDue = true;
  /** The delayed key from which to look for those. */
  #dueFrom = '';
  /** Keys of delayed messages that are loaded: a scan of what is due leaves them out. */
  readonly #loadedDelayed = new Set<string>();
  #forgetLater: string[] = [];
  #scanningDue = false;
  #reading = false;
  #clock: Clock | undefined;
  #dueTimer: Timer | undefined;
  #dueAt = Number.POSITIVE_INFINITY;

  constructor(parts: QueueParts) {
    this.#parts = parts;
    this.#settlements = new Settlements(parts.commits, parts.logger, () => this.#dispatcher.wake());
  }

  join(options: SubscribeOptions, clock: Clock): ComponentSubscription {
    this.#clock = clock;
    const isFirst = !this.#dispatcher.hasConsumers;
    if (isFirst) this.#tenure = new AbortController();
    this.#settlements.clock = clock;
    const consumer = this.#dispatcher.join(options, clock, () => this.#left());
    if (isFirst) void this.#read(clock);
    return consumer;
  }

  /** A publish is about to write the message for this group: where. */
  publishing(number: number): string {
    const key = this.#parts.layout.ready(number);
    this.#publishing.add(key);
    return key;
  }

  /** The store has not taken it. */
  notPublished(key: string): void {
    this.#publishing.delete(key);
  }

  /** A publish has been committed: hands it out without reading it back when nothing waits before it. */
  committed(message: Message, number: number, key: string): void {
    this.#committed++;
    const isLoaded = !this.#publishing.delete(key);
    if (isLoaded || !this.#dispatcher.hasConsumers) return;
    // One that was committed after later ones: nobody would look for it there any more.
    const isLate = key <= this.#loadedTo;
    if (!(this.#caughtUp || isLate)) return;
    if (!isLate && (this.#ready.length >= READ_AHEAD.messages || this.#readyBytes >= READ_AHEAD.bytes)) {
      this.#caughtUp = false;
      return;
    }
    if (!isLate) this.#loadedTo = key;
    this.#push({ message, attempts: 0, key, number });
    this.#dispatcher.wake();
  }

  /** While the store takes no settlements nothing more is handed out: all of it would come again. */
  shift(): StoredMessage | undefined {
    if (this.#settlements.areBehind) return undefined;
    const entry = this.#ready.shift();
    if (entry !== undefined) this.#readyBytes -= entry.message.data.length;
    if (this.#clock !== undefined && this.#wantsMore) void this.#read(this.#clock);
    return entry;
  }

  unshift(entry: StoredMessage): void {
    this.#ready.unshift(entry);
    this.#readyBytes += entry.message.data.length;
  }

  #push(entry: StoredMessage): void {
    this.#ready.push(entry);
    this.#readyBytes += entry.message.data.length;
  }

  async remove(entry: StoredMessage): Promise<void> {
    await this.#settlements.record([], entry.key, this.#tenure.signal);
    this.#forget(entry.key);
  }

  async delay(entry: StoredMessage, delayMs: number, clock: Clock): Promise<void> {
    const tenure = this.#tenure;
    const dueAt = Math.ceil(clock.now() + delayMs);
    const key = this.#parts.layout.delayed(dueAt, entry.number);
    const former = entry.key === key ? undefined : entry.key;
    await this.#settlements.record([{ key, value: encodeQueued(entry) }], former, tenure.signal);
    if (tenure.signal.aborted) return;
    this.#forget(entry.key);
    if (key < this.#dueFrom) this.#dueFrom = key;
    this.#expectDue(dueAt, clock);
  }

  /** A scan that is under way may still show the key: it is left out until that scan has been looked at. */
  #forget(key: string): void {
    if (this.#scanningDue) this.#forgetLater.push(key);
    else this.#loadedDelayed.delete(key);
  }

  hold(entry: StoredMessage): Promise<void> {
    return this.#settlements.record([{ key: entry.key, value: encodeQueued(entry) }], undefined, this.#tenure.signal);
  }

  /** Without consumers nothing is loaded and no timer runs. */
  #left(): void {
    if (this.#dispatcher.hasConsumers) return;
    this.#tenure.abort();
    this.#dueTimer?.cancel();
    this.#dueAt = Number.POSITIVE_INFINITY;
    while (this.#ready.shift() !== undefined);
    this.#readyBytes = 0;
    this.#loadedDelayed.clear();
    this.#forgetLater = [];
    this.#loadedTo = '';
    this.#caughtUp = false;
    this.#dueFrom = '';
    this.#mayBeDue = true;
  }

  get #wantsMore(): boolean {
    if (this.#caughtUp && !this.#mayBeDue) return false;
    const isShort = this.#ready.length < READ_AHEAD.messages / 2 && this.#readyBytes < READ_AHEAD.bytes / 2;
    return isShort && this.#dispatcher.hasConsumers;
  }

  /** Reads ahead, one scan at a time. */
  async #read(clock: Clock): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    let tenure: AbortController | undefined;
    while (this.#wantsMore) {
      const done = this.#parts.track('reading queued messages');
      try {
        if (tenure !== this.#tenure) {
          tenure = this.#tenure;
          // What an earlier tenure has settled must not be read any more.
          await this.#parts.commits.flushed();
        }
        if (this.#mayBeDue) await this.#readDue(tenure.signal, clock);
        if (!this.#caughtUp) await this.#readReady(tenure.signal);
        done();
      } catch (error) {
        done();
        if (tenure === undefined || tenure.signal.aborted) continue;
        this.#parts.logger.error({ error }, 'messages could not be read from the store: will be tried again');
        await sleep(clock, STORE_RETRY_MS, tenure.signal).catch(() => undefined);
      }
    }
    this.#reading = false;
  }

  async #readReady(tenure: AbortSignal): Promise<void> {
    if (tenure.aborted) return;
    const { store, layout } = this.#parts;
    const committed = this.#committed;
    const from = this.#loadedTo === '' ? layout.readyRange.from : `${this.#loadedTo}\u0000`;
    const { messages: limit, bytes: maxBytes } = READ_AHEAD;
    const entries = await store.scan({ ...layout.readyRange, from, limit, maxBytes });
    if (tenure.aborted) return;
    for (const entry of entries) {
      this.#publishing.delete(entry.key);
      this.#load(entry);
    }
    const last = entries.at(-1);
    if (last !== undefined) this.#loadedTo = last.key;
    this.#caughtUp = !isCutOff(entries) && committed === this.#committed;
    this.#dispatcher.wake();
  }

  async #readDue(tenure: AbortSignal, clock: Clock): Promise<void> {
    if (tenure.aborted) return;
    this.#mayBeDue = false;
    this.#scanningDue = true;
    const from = this.#dueFrom;
    try {
      const now = clock.now();
      if (await this.#loadDue(tenure, now)) this.#mayBeDue = true;
      else await this.#expectNext(tenure, now, clock);
    } catch (error) {
      if (!tenure.aborted) {
        this.#mayBeDue = true;
        if (from < this.#dueFrom) this.#dueFrom = from;
      }
      throw error;
    } finally {
      this.#scanningDue = false;
      for (const key of this.#forgetLater.splice(0)) this.#loadedDelayed.delete(key);
    }
  }

  /** Loads what is due and not loaded; answers whether there may be more. */
  async #loadDue(tenure: AbortSignal, now: number): Promise<boolean> {
    const { store, layout } = this.#parts;
    const { messages: limit, bytes: maxBytes } = READ_AHEAD;
    const { from: first, to } = layout.dueRange(now);
    const from = this.#dueFrom === '' ? first : this.#dueFrom;
    // The clock was set back: nothing is due before it has come here again.
    if (from >= to) return false;
    this.#dueFrom = to;
    const due = await store.scan({ from, to, limit, maxBytes });
    if (tenure.aborted) return false;
    for (const entry of due) {
      if (this.#loadedDelayed.has(entry.key)) continue;
      this.#loadedDelayed.add(entry.key);
      this.#load(entry);
    }
    this.#dispatcher.wake();
    const last = due.at(-1);
    if (last === undefined || !isCutOff(due)) return false;
    const next = `${last.key}\u0000`;
    if (next < this.#dueFrom) this.#dueFrom = next;
    return true;
  }

  async #expectNext(tenure: AbortSignal, now: number, clock: Clock): Promise<void> {
    const { store, layout } = this.#parts;
    const [next] = await store.scan({ ...layout.delayedRange, from: layout.dueRange(now).to, limit: 1 });
    if (next !== undefined && !tenure.aborted) this.#expectDue(layout.dueAtOf(next.key), clock);
  }

  #load({ key, value }: KeyedEntry): void {
    try {
      const { message, attempts } = decodeQueued(key, value, this.#parts.topic);
      this.#push({ message, attempts, key, number: this.#parts.layout.numberOf(key) });
    } catch (error) {
      // One of a newer release, or a damaged one, must not hold up those behind it.
      this.#parts.logger.error({ key, error }, 'a stored message cannot be read: it stays in the store');
    }
  }

  /** One timer, for the earliest. */
  #expectDue(dueAt: number, clock: Clock): void {
    if (!this.#dispatcher.hasConsumers || dueAt >= this.#dueAt) return;
    this.#dueTimer?.cancel();
    this.#dueAt = dueAt;
    this.#dueTimer = clock.setTimeout(() => {
      this.#dueAt = Number.POSITIVE_INFINITY;
      this.#mayBeDue = true;
      void this.#read(clock);
    }, dueAt - clock.now());
  }
}

/** Whether a scan has ended before its range did. */
function isCutOff(entries: readonly KeyedEntry[]): boolean {
  if (entries.length >= READ_AHEAD.messages) return true;
  return entries.reduce((sum, { value }) => sum + value.length, 0) >= READ_AHEAD.bytes;
}

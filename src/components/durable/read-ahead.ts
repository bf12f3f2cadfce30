import type { CommitBatcher } from '../../kernel/commit-batcher.ts';
import { isCutOff } from '../../state/page.ts';
import type { KeyedEntry, StateStore } from '../../state/store.ts';
import { type Clock, dualNow, sleep } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import type { Message } from '../pubsub.ts';
import { decodeQueued } from './codec.ts';
import { DelayedMessages } from './delayed-messages.ts';
import type { QueueLayout } from './layout.ts';
import { LoadedKeys } from './loaded-keys.ts';
import { LookBack } from './look-back.ts';
import { ReadPosition } from './read-position.ts';
import { READ_AHEAD, ReadyList } from './ready-list.ts';
import { STORE_RETRY_MS } from './settlements.ts';
import type { StoredMessage } from './stored-message.ts';

/** So many messages at the head of a queue, at least, may have been in flight when a process ended. */
const CAREFUL = 1_000;

/** The dependencies of a {@link ReadAhead}. */
export interface ReadAheadDeps {
  readonly store: StateStore;
  readonly commits: CommitBatcher;
  readonly layout: QueueLayout;
  readonly topic: string;
  readonly logger: Logger;
  /** Notes work that a test waits for; call the returned function at its end. */
  readonly track: (what: string) => () => void;
  /** How many messages the group's consumers take at most. */
  readonly capacity: () => number;
  /** Called when messages can be handed out. */
  readonly onLoaded: () => void;
}

/**
 * The next messages of one group, however many the store holds. Loads messages only during a tenure: while the group
 * has consumers and this host owns it.
 */
export class ReadAhead {
  readonly #deps: ReadAheadDeps;
  readonly #ready = new ReadyList<StoredMessage>();
  #tenure: AbortController | undefined;
  #clock: Clock | undefined;
  readonly #loaded = new LoadedKeys();
  #position = new ReadPosition();
  #lookBack = new LookBack();
  /** Nothing is there but what is being committed now. */
  #isCaughtUp = false;
  /** Ready keys that are being committed and that no scan has returned. */
  readonly #publishing = new Set<string>();
  readonly #delayed: DelayedMessages;
  #isReading = false;
  /** How many of the next messages may have been in flight when a process ended: none that are published from now on. */
  #careful = 0;

  constructor(deps: ReadAheadDeps) {
    this.#deps = deps;
    const { store, layout, onLoaded } = deps;
    this.#delayed = new DelayedMessages({
      ...{ store, layout },
      load: async (tenure, scan) => {
        const due = await this.#scan(tenure, scan, (entry) => this.#load(entry, tenure));
        if (due !== undefined) onLoaded();
        return due;
      },
      onDue: () => void this.#read(),
    });
  }

  /** Begins a tenure: messages are loaded from now on. Returns false if there is one already. */
  start(clock: Clock): boolean {
    if (this.#tenure !== undefined) return false;
    this.#careful = Math.max(CAREFUL, 2 * this.#deps.capacity());
    this.#tenure = new AbortController();
    this.#clock = clock;
    void this.#read();
    return true;
  }

  /** Whether there is a tenure. */
  get isOn(): boolean {
    return this.#tenure !== undefined;
  }

  /** Ends the tenure: stops loading and cancels the timer. */
  stop(): void {
    this.#tenure?.abort();
    this.#tenure = undefined;
    this.#delayed.stop();
    this.#ready.clear();
    this.#loaded.clear();
    this.#position = new ReadPosition();
    this.#lookBack = new LookBack();
    this.#isCaughtUp = false;
  }

  shift(): StoredMessage | undefined {
    const entry = this.#ready.shift();
    if (this.#wantsMore) void this.#read();
    return entry;
  }

  /**
   * Puts a message back. Dropped are one of an earlier tenure, which this tenure reads from the store, and one that was
   * taken out of the queue while it waited for its retry.
   */
  unshift(entry: StoredMessage): void {
    if (entry.tenure === this.#tenure && this.#loaded.isThere(entry.key)) this.#ready.unshift(entry);
  }

  /** A publish is about to write a message under a key. */
  publishing(key: string): void {
    this.#publishing.add(key);
  }

  /** A publish failed, or its result is unknown: the store may have the message. */
  notPublished(key: string): void {
    this.#publishing.delete(key);
    this.look(key);
  }

  /** A publish was committed. Hands the message out without reading it back if no other message waits before it. */
  published(message: Message, number: number, key: string): void {
    const isLoaded = !this.#publishing.delete(key) || this.#loaded.has(key);
    if (isLoaded || this.#tenure === undefined) return;
    // Committed after messages with higher numbers: scans have passed its key.
    const isLate = key < this.#position.key;
    if (!(this.#isCaughtUp || isLate)) return this.#position.goBackTo(key);
    if (!isLate && this.#ready.isFull) {
      this.#isCaughtUp = false;
      return;
    }
    if (!isLate) this.#position.goPast(key);
    const counts = { attempts: 0, interruptions: 0, isCareful: false, isRecorded: false };
    this.#push({ message, key, number, tenure: this.#tenure, ...counts });
    this.#deps.onLoaded();
  }

  /** Another host may have written a message under a key. */
  look(key: string): void {
    if (this.#tenure === undefined || this.#loaded.has(key) || this.#publishing.has(key)) return;
    this.#lookFrom(key);
  }

  /** Other hosts may have written messages. */
  lookAtAll(): void {
    if (this.#tenure === undefined || this.#clock === undefined) return;
    this.#lookFrom(this.#lookBack.from(this.#position.key, dualNow(this.#clock).monotonic));
  }

  #lookFrom(key: string): void {
    this.#position.goBackTo(key);
    this.#isCaughtUp = false;
    void this.#read();
  }

  /** Whether a message was loaded in an earlier tenure. */
  isOutdated({ tenure }: StoredMessage): boolean {
    return this.#tenure !== undefined && tenure !== this.#tenure;
  }

  /** The message is no longer in the store under this key. */
  forget({ key, tenure }: StoredMessage): void {
    if (tenure === this.#tenure) this.#loaded.forget(key);
  }

  /** Messages are being taken out of the queue: they are not handed out any more. */
  withhold(keys: ReadonlySet<string>): void {
    this.#ready.remove(keys);
    for (const key of keys) this.#loaded.withhold(key);
  }

  /** Withheld messages are no longer in the store. */
  gone(keys: ReadonlySet<string>): void {
    for (const key of keys) this.#loaded.forget(key);
  }

  /** A message waits under a delayed key. */
  delayed(key: string, dueAt: number): void {
    if (this.#tenure !== undefined && this.#clock !== undefined) this.#delayed.expect(key, dueAt, this.#clock);
  }

  #push(entry: StoredMessage): void {
    this.#loaded.add(entry.key);
    this.#ready.push(entry);
  }

  get #wantsMore(): boolean {
    if (this.#tenure === undefined || (this.#isCaughtUp && !this.#delayed.mayBeDue)) return false;
    return this.#ready.isShort;
  }

  /** Reads ahead, one scan at a time. */
  async #read(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    let flushed: AbortController | undefined;
    for (let tenure = this.#tenure; tenure !== undefined && this.#wantsMore; tenure = this.#tenure) {
      const done = this.#deps.track('reading queued messages');
      try {
        // Settlements of an earlier tenure must be durable before a scan.
        if (flushed !== tenure) await this.#deps.commits.flushed();
        flushed = tenure;
        if (this.#delayed.mayBeDue && this.#clock !== undefined) await this.#delayed.read(tenure, this.#clock);
        if (!this.#isCaughtUp) await this.#readReady(tenure);
        done();
      } catch (error) {
        done();
        if (tenure.signal.aborted) continue;
        this.#deps.logger.error({ error }, 'messages could not be read from the store: will be tried again');
        if (this.#clock !== undefined) await sleep(this.#clock, STORE_RETRY_MS, tenure.signal).catch(() => undefined);
      }
    }
    this.#isReading = false;
  }

  async #readReady(tenure: AbortController): Promise<void> {
    if (tenure.signal.aborted) return;
    const { readyRange } = this.#deps.layout;
    const position = this.#position;
    position.beginScan();
    const from = position.key === '' ? readyRange.from : position.key;
    const entries = await this.#scan(tenure, { ...readyRange, from, ...READ_AHEAD }, (entry) => {
      this.#publishing.delete(entry.key);
      this.#load(entry, tenure);
    });
    // The tenure may have ended since the entries came.
    if (entries === undefined || tenure.signal.aborted) return;
    this.#isCaughtUp = position.endScan(entries.at(-1)?.key) && !isCutOff(entries, READ_AHEAD);
    if (this.#isCaughtUp) this.#careful = 0;
    this.#deps.onLoaded();
  }

  /** Passes entries that are not loaded to `take`; returns `undefined` if the tenure has ended meanwhile. */
  async #scan(
    tenure: AbortController,
    scan: Parameters<StateStore['scan']>[0],
    take: (entry: KeyedEntry) => void,
  ): Promise<readonly KeyedEntry[] | undefined> {
    this.#loaded.beginScan();
    try {
      const entries = await this.#deps.store.scan(scan);
      if (tenure.signal.aborted) return undefined;
      for (const entry of entries) if (!this.#loaded.has(entry.key)) take(entry);
      return entries;
    } finally {
      this.#loaded.endScan();
    }
  }

  #load({ key, value }: KeyedEntry, tenure: AbortController): void {
    try {
      const queued = decodeQueued(key, value, this.#deps.topic);
      const isCareful = this.#careful-- > 0 || queued.interruptions > 0;
      this.#push({ ...queued, key, number: this.#deps.layout.numberOf(key), tenure, isCareful, isRecorded: false });
    } catch (error) {
      // A damaged message, or one of a newer release, must not block those behind it.
      this.#deps.logger.error({ key, error }, 'a stored message cannot be read: it stays in the store');
      this.#loaded.add(key);
    }
  }
}

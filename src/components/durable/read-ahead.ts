import type { CommitBatcher } from '../../kernel/commit-batcher.ts';
import { isCutOff } from '../../state/page.ts';
import type { KeyedEntry, StateStore } from '../../state/store.ts';
import { Alarm } from '../../util/alarm.ts';
import { type Clock, dualNow, sleep } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import type { Dispatcher } from '../dispatcher.ts';
import type { Message } from '../pubsub.ts';
import { decodeQueued } from './codec.ts';
import { DelayedMessages } from './delayed-messages.ts';
import type { GroupLease } from './group-lease.ts';
import type { QueueLayout } from './layout.ts';
import { partitionOfNumber } from './partitions.ts';
import { QueueWindow, READ_AHEAD } from './queue-window.ts';
import { STORE_RETRY_MS } from './settlements.ts';
import type { StoredMessage } from './stored-message.ts';

/** The least number of messages at the head of a queue that may have been in flight when a process ended. */
const MIN_CAREFUL = 1_000;

/** How long hints of messages of other hosts are gathered. */
const STRAY_MS = 1_000;

/** The dependencies of a {@link ReadAhead}. */
export interface ReadAheadDeps {
  readonly store: StateStore;
  readonly commits: CommitBatcher;
  readonly layout: QueueLayout;
  /** Says which messages this host hands out. */
  readonly lease: Pick<GroupLease, 'isSpread' | 'handsOut' | 'mayHandOut'>;
  readonly topic: string;
  readonly logger: Logger;
  /** Notes work that a test waits for; call the returned function at its end. */
  readonly track: (what: string) => () => void;
  /** Woken when messages can be handed out. */
  readonly dispatcher: Pick<Dispatcher<StoredMessage>, 'capacity' | 'keys' | 'wake'>;
}

/**
 * Reads the next messages of one group into its {@link QueueWindow}, however many the store holds. Loads messages only
 * during a tenure: while the group has consumers and this host owns it.
 */
export class ReadAhead {
  readonly #deps: ReadAheadDeps;
  readonly #window: QueueWindow;
  #tenure: AbortController | undefined;
  #clock: Clock | undefined;
  readonly #delayed: DelayedMessages;
  #isReading = false;
  /** Counts how often it began anew which messages are handed out here: a scan that began before may load old ones. */
  #epoch = 0;
  /** The lowest key in a partition of another host of which a hint came. */
  #strayKey: string | undefined;
  #strayAlarm: Alarm | undefined;
  /** How many of the next messages may have been in flight when a process ended: none that are published from now on. */
  #careful = 0;

  constructor(deps: ReadAheadDeps) {
    this.#deps = deps;
    const { store, layout, dispatcher } = deps;
    this.#window = new QueueWindow(dispatcher.keys);
    this.#delayed = new DelayedMessages({
      ...{ store, layout },
      load: async (tenure, scan) => {
        const due = await this.#scan(tenure, scan);
        if (due !== undefined) dispatcher.wake();
        return due;
      },
      onDue: () => void this.#read(),
    });
  }

  /** Begins a tenure: messages are loaded from now on. Returns false if there is one already. */
  start(clock: Clock): boolean {
    if (this.#tenure !== undefined) return false;
    this.#beCareful();
    this.#epoch++;
    this.#tenure = new AbortController();
    this.#clock = clock;
    void this.#read();
    return true;
  }

  /** Other messages are handed out here than before: forgets those that are not, and reads all others again. */
  repartition(isDropped: (entry: StoredMessage) => boolean): void {
    if (this.#tenure === undefined) return;
    this.#epoch++;
    this.#beCareful();
    this.#window.restart(isDropped);
    this.#delayed.restart();
    void this.#read();
  }

  #beCareful(): void {
    this.#careful = Math.max(MIN_CAREFUL, 2 * this.#deps.dispatcher.capacity);
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
    this.#strayAlarm?.off();
    this.#strayKey = undefined;
    this.#window.clear();
  }

  shift(): StoredMessage | undefined {
    const entry = this.#window.shift();
    if (this.#wantsMore) void this.#read();
    return entry;
  }

  /**
   * Puts a message back. Dropped are one of an earlier tenure, which this tenure reads from the store, one that was taken
   * out of the queue while it waited for its retry, and one that another host hands out now.
   */
  unshift(entry: StoredMessage): void {
    if (entry.tenure !== this.#tenure) return;
    if (this.#deps.lease.handsOut(entry)) return this.#window.unshift(entry);
    this.#window.end(entry);
    this.#window.forget(entry.key);
  }

  /** A publish is about to write a message under a key. */
  beginPublish(key: string): void {
    this.#window.beginPublish(key);
  }

  /** A publish failed, or its result is unknown: the store may have the message. */
  onPublishFailed(key: string): void {
    this.#window.endPublish(key);
    this.noticeKey(key);
  }

  /** A publish was committed. Hands the message out without reading it back if no other message waits before it. */
  onPublished(message: Message, number: number, key: string): void {
    if (!this.#window.endPublish(key) || this.#tenure === undefined) return;
    const { lease } = this.#deps;
    if (lease.isSpread && !lease.handsOut({ message, number })) return;
    if (!this.#window.admitPublished(key)) return;
    const counts = { attempts: 0, interruptions: 0, isCareful: false, isRecorded: false };
    this.#window.push({ message, key, number, tenure: this.#tenure, ...counts });
    this.#deps.dispatcher.wake();
  }

  /** Another host may have written a message under a key. */
  noticeKey(key: string): void {
    if (this.#tenure === undefined) return;
    const { lease, layout } = this.#deps;
    if (lease.isSpread && !lease.mayHandOut(partitionOfNumber(layout.numberOf(key)))) this.#noticeStray(key);
    else if (this.#window.noticeKey(key)) void this.#read();
  }

  /**
   * A message in a partition of another host by its number, which nearly always is one of that host, or was. Earlier
   * releases give numbers without regard to ordering keys: it is looked for a while later, with all others.
   */
  #noticeStray(key: string): void {
    if (this.#clock === undefined) return;
    if (this.#strayKey === undefined || key < this.#strayKey) this.#strayKey = key;
    this.#strayAlarm ??= new Alarm(this.#clock, () => {
      const stray = this.#strayKey;
      this.#strayKey = undefined;
      if (stray !== undefined && this.#tenure !== undefined && this.#window.noticeKey(stray)) void this.#read();
    });
    this.#strayAlarm.expect(this.#clock.now() + STRAY_MS);
  }

  /** Other hosts may have written messages. */
  rescan(): void {
    if (this.#tenure === undefined || this.#clock === undefined) return;
    this.#window.rescan(dualNow(this.#clock).monotonic);
    void this.#read();
  }

  /** Whether a message was loaded in an earlier tenure. */
  isOutdated({ tenure }: StoredMessage): boolean {
    return this.#tenure !== undefined && tenure !== this.#tenure;
  }

  /** The message is no longer in the store under this key. */
  forget({ key, tenure }: StoredMessage): void {
    if (tenure === this.#tenure) this.#window.forget(key);
  }

  /** A message that was taken occupies its ordering key no longer. */
  end(entry: StoredMessage): void {
    this.#window.end(entry);
  }

  /** Messages are being taken out of the queue: they are not handed out any more. */
  withhold(keys: ReadonlySet<string>): void {
    this.#window.withhold(keys);
  }

  /** Withheld messages are no longer in the store. */
  forgetWithheld(keys: ReadonlySet<string>): void {
    for (const key of keys) this.#window.forget(key);
  }

  /** A message waits under a delayed key. */
  expectDelayed(key: string, dueAt: number): void {
    if (this.#tenure !== undefined && this.#clock !== undefined) this.#delayed.expect(key, dueAt, this.#clock);
  }

  get #wantsMore(): boolean {
    if (this.#tenure === undefined || (this.#window.isCaughtUp && !this.#delayed.mayBeDue)) return false;
    return this.#window.isShort;
  }

  /** Reads ahead, one scan at a time. */
  async #read(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    let flushed: number | undefined;
    for (let tenure = this.#tenure; tenure !== undefined && this.#wantsMore; tenure = this.#tenure) {
      const done = this.#deps.track('reading queued messages');
      try {
        // Settlements of an earlier tenure, and publishes, must be durable before a scan.
        if (flushed !== this.#epoch) flushed = await this.#flushed();
        if (flushed === this.#epoch) await this.#readOnce(tenure);
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

  async #flushed(): Promise<number> {
    const epoch = this.#epoch;
    await this.#deps.commits.flushed();
    return epoch;
  }

  async #readOnce(tenure: AbortController): Promise<void> {
    if (this.#delayed.mayBeDue && this.#clock !== undefined) await this.#delayed.read(tenure, this.#clock);
    if (!this.#window.isCaughtUp) await this.#readReady(tenure);
  }

  async #readReady(tenure: AbortController): Promise<void> {
    if (tenure.signal.aborted) return;
    const { readyRange } = this.#deps.layout;
    const { scanKey } = this.#window;
    this.#window.beginReadyScan();
    const from = scanKey === '' ? readyRange.from : scanKey;
    const entries = await this.#scan(tenure, { ...readyRange, from, ...READ_AHEAD });
    // The tenure may have ended since the entries came.
    if (entries === undefined || tenure.signal.aborted) return;
    this.#window.endReadyScan(entries.at(-1)?.key, !isCutOff(entries, READ_AHEAD));
    if (this.#window.isCaughtUp) this.#careful = 0;
    this.#deps.dispatcher.wake();
  }

  /** Loads entries that are not loaded yet; returns `undefined` if the tenure has ended meanwhile, or a new epoch begun. */
  async #scan(
    tenure: AbortController,
    scan: Parameters<StateStore['scan']>[0],
  ): Promise<readonly KeyedEntry[] | undefined> {
    this.#window.beginScan();
    const epoch = this.#epoch;
    try {
      const entries = await this.#deps.store.scan(scan);
      if (tenure.signal.aborted || epoch !== this.#epoch) return undefined;
      for (const entry of entries) if (!this.#window.isLoaded(entry.key)) this.#load(entry, tenure);
      return entries;
    } finally {
      this.#window.endScan();
    }
  }

  #load({ key, value }: KeyedEntry, tenure: AbortController): void {
    try {
      const queued = decodeQueued(key, value, this.#deps.topic);
      const number = this.#deps.layout.numberOf(key);
      const { lease } = this.#deps;
      if (lease.isSpread && !lease.handsOut({ message: queued.message, number })) return;
      const isCareful = this.#careful-- > 0 || queued.interruptions > 0;
      this.#window.push({ ...queued, key, number, tenure, isCareful, isRecorded: false });
    } catch (error) {
      // A damaged message, or one of a newer release, must not block those behind it.
      this.#deps.logger.error({ key, error }, 'a stored message cannot be read: it stays in the store');
      this.#window.skip(key);
    }
  }
}

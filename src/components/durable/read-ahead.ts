import type { CommitBatcher } from '../../kernel/commit-batcher.ts';
import { keyAfter } from '../../state/keys.ts';
import { isCutOff } from '../../state/page.ts';
import type { KeyedEntry, StateStore } from '../../state/store.ts';
import { type Clock, sleep, type Timer } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import type { Message } from '../pubsub.ts';
import { decodeQueued } from './codec.ts';
import type { QueueLayout } from './layout.ts';
import { LookBack } from './look-back.ts';
import { READ_AHEAD, ReadyList } from './ready-list.ts';
import { STORE_RETRY_MS } from './settlements.ts';
import type { StoredMessage } from './stored-message.ts';

/** What a read-ahead is made of. */
export interface ReadAheadDeps {
  readonly store: StateStore;
  readonly commits: CommitBatcher;
  readonly layout: QueueLayout;
  readonly topic: string;
  readonly logger: Logger;
  /** Notes work that a test waits for; call what it returns at its end. */
  readonly track: (what: string) => () => void;
  /** There is something to hand out. */
  readonly onLoaded: () => void;
}

/**
 * The messages of one group that come next, however many wait in the store. It loads during a tenure only: while there
 * are consumers and the group is this host's.
 */
export class ReadAhead {
  readonly #deps: ReadAheadDeps;
  readonly #ready = new ReadyList<StoredMessage>();
  #tenure: AbortController | undefined;
  #clock: Clock | undefined;
  /** Keys that are loaded and not settled: a scan leaves them out. */
  readonly #loaded = new Set<string>();
  /** Settled while a scan was under way, which may still show them. */
  #settled: string[] = [];
  #isScanning = false;
  /** The ready key from which on messages are still to be read. */
  #readFrom = '';
  #lookBack = new LookBack();
  /** Nothing is there but what is being committed now. */
  #isCaughtUp = false;
  /** Ready keys that are being committed and that no scan has shown. */
  readonly #publishing = new Set<string>();
  /** Counts what a scan under way may have missed. */
  #missable = 0;
  /** Delayed messages may be due that are not loaded. */
  #mayBeDue = true;
  /** The delayed key from which to look for those. */
  #dueFrom = '';
  #isReading = false;
  #dueTimer: Timer | undefined;
  #dueAt = Number.POSITIVE_INFINITY;

  constructor(deps: ReadAheadDeps) {
    this.#deps = deps;
  }

  /** From now on messages are loaded. */
  start(clock: Clock): void {
    if (this.#tenure !== undefined) return;
    this.#tenure = new AbortController();
    this.#clock = clock;
    void this.#read();
  }

  /** Nothing is loaded any more and no timer runs. */
  stop(): void {
    this.#tenure?.abort();
    this.#tenure = undefined;
    this.#dueTimer?.cancel();
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#ready.clear();
    this.#loaded.clear();
    this.#settled = [];
    this.#readFrom = '';
    this.#lookBack = new LookBack();
    this.#isCaughtUp = false;
    this.#dueFrom = '';
    this.#mayBeDue = true;
  }

  shift(): StoredMessage | undefined {
    const entry = this.#ready.shift();
    if (this.#wantsMore) void this.#read();
    return entry;
  }

  /** Takes one back; what an earlier tenure has loaded is in the store. */
  unshift(entry: StoredMessage): void {
    if (entry.tenure === this.#tenure) this.#ready.unshift(entry);
  }

  /** A publish is about to write a message under a key. */
  publishing(key: string): void {
    this.#publishing.add(key);
  }

  /** The store says that it has not taken it, or nothing certain: it may be there. */
  notPublished(key: string): void {
    this.#publishing.delete(key);
    this.look(key);
  }

  /** A publish has been committed: hands it out without reading it back when nothing waits before it. */
  published(message: Message, number: number, key: string): void {
    this.#missable++;
    const isLoaded = !this.#publishing.delete(key);
    if (isLoaded || this.#tenure === undefined) return;
    // One that was committed after later ones: nobody would look for it there any more.
    const isLate = key < this.#readFrom;
    if (!(this.#isCaughtUp || isLate)) return;
    if (!isLate && this.#ready.isFull) {
      this.#isCaughtUp = false;
      return;
    }
    if (!isLate) this.#readFrom = keyAfter(key);
    this.#push({ message, attempts: 0, key, number, tenure: this.#tenure });
    this.#deps.onLoaded();
  }

  /** There may be a message under a key. */
  look(key: string): void {
    if (this.#tenure === undefined || this.#loaded.has(key) || this.#publishing.has(key)) return;
    this.#lookFrom(key);
  }

  /** Other hosts may have written messages. What is not caught up is looked at anyway. */
  lookAtAll(): void {
    if (this.#tenure === undefined || this.#clock === undefined || !this.#isCaughtUp) return;
    this.#lookFrom(this.#lookBack.from(this.#readFrom, this.#clock.now()));
  }

  #lookFrom(key: string): void {
    this.#missable++;
    if (key < this.#readFrom) this.#readFrom = key;
    this.#isCaughtUp = false;
    void this.#read();
  }

  /** Whether what was handed out in its tenure has been read again in a later one. */
  isOutdated({ tenure }: StoredMessage): boolean {
    return this.#tenure !== undefined && tenure !== this.#tenure;
  }

  /** It is in the store under this key no longer. */
  forget({ key, tenure }: StoredMessage): void {
    if (tenure !== this.#tenure) return;
    if (this.#isScanning) this.#settled.push(key);
    else this.#loaded.delete(key);
  }

  /** A message waits under a delayed key. */
  delayed(key: string, dueAt: number): void {
    if (this.#tenure === undefined) return;
    if (key < this.#dueFrom) this.#dueFrom = key;
    this.#expectDue(dueAt);
  }

  #push(entry: StoredMessage): void {
    this.#loaded.add(entry.key);
    this.#ready.push(entry);
  }

  get #wantsMore(): boolean {
    if (this.#tenure === undefined || (this.#isCaughtUp && !this.#mayBeDue)) return false;
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
        // What an earlier tenure has settled must not be read any more.
        if (flushed !== tenure) await this.#deps.commits.flushed();
        flushed = tenure;
        if (this.#mayBeDue) await this.#readDue(tenure);
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
    const missable = this.#missable;
    const before = this.#readFrom;
    const from = before === '' ? readyRange.from : before;
    const entries = await this.#scan(tenure, { ...readyRange, from, ...READ_AHEAD }, (entry) => {
      this.#publishing.delete(entry.key);
      this.#load(entry, tenure);
    });
    if (entries === undefined) return;
    const last = entries.at(-1);
    if (last !== undefined && this.#readFrom === before) this.#readFrom = keyAfter(last.key);
    this.#isCaughtUp = !isCutOff(entries, READ_AHEAD) && missable === this.#missable;
    this.#deps.onLoaded();
  }

  async #readDue(tenure: AbortController): Promise<void> {
    if (tenure.signal.aborted || this.#clock === undefined) return;
    this.#mayBeDue = false;
    const from = this.#dueFrom;
    try {
      const now = this.#clock.now();
      if (await this.#loadDue(tenure, now)) this.#mayBeDue = true;
      else await this.#expectNext(tenure, now);
    } catch (error) {
      if (!tenure.signal.aborted) {
        this.#mayBeDue = true;
        if (from < this.#dueFrom) this.#dueFrom = from;
      }
      throw error;
    }
  }

  /** Loads what is due and not loaded; answers whether there may be more. */
  async #loadDue(tenure: AbortController, now: number): Promise<boolean> {
    const { from: first, to } = this.#deps.layout.dueRange(now);
    const from = this.#dueFrom === '' ? first : this.#dueFrom;
    // The clock was set back: nothing is due before it has come here again.
    if (from >= to) return false;
    this.#dueFrom = to;
    const due = await this.#scan(tenure, { from, to, ...READ_AHEAD }, (entry) => this.#load(entry, tenure));
    if (due === undefined) return false;
    this.#deps.onLoaded();
    const last = due.at(-1);
    if (last === undefined || !isCutOff(due, READ_AHEAD)) return false;
    const next = keyAfter(last.key);
    if (next < this.#dueFrom) this.#dueFrom = next;
    return true;
  }

  /** Takes what is not loaded; `undefined` when the tenure has ended meanwhile. */
  async #scan(
    tenure: AbortController,
    scan: Parameters<StateStore['scan']>[0],
    take: (entry: KeyedEntry) => void,
  ): Promise<readonly KeyedEntry[] | undefined> {
    this.#isScanning = true;
    try {
      const entries = await this.#deps.store.scan(scan);
      if (tenure.signal.aborted) return undefined;
      for (const entry of entries) if (!this.#loaded.has(entry.key)) take(entry);
      return entries;
    } finally {
      this.#isScanning = false;
      for (const key of this.#settled.splice(0)) this.#loaded.delete(key);
    }
  }

  async #expectNext(tenure: AbortController, now: number): Promise<void> {
    const { store, layout } = this.#deps;
    const [next] = await store.scan({ ...layout.delayedRange, from: layout.dueRange(now).to, limit: 1 });
    if (next !== undefined && !tenure.signal.aborted) this.#expectDue(layout.dueAtOf(next.key));
  }

  #load({ key, value }: KeyedEntry, tenure: AbortController): void {
    try {
      const { message, attempts } = decodeQueued(key, value, this.#deps.topic);
      this.#push({ message, attempts, key, number: this.#deps.layout.numberOf(key), tenure });
    } catch (error) {
      // One of a newer release, or a damaged one, must not hold up those behind it.
      this.#deps.logger.error({ key, error }, 'a stored message cannot be read: it stays in the store');
      this.#loaded.add(key);
    }
  }

  /** One timer, for the earliest. */
  #expectDue(dueAt: number): void {
    if (this.#tenure === undefined || this.#clock === undefined || dueAt >= this.#dueAt) return;
    this.#dueTimer?.cancel();
    this.#dueAt = dueAt;
    this.#dueTimer = this.#clock.setTimeout(() => {
      this.#dueAt = Number.POSITIVE_INFINITY;
      this.#mayBeDue = true;
      void this.#read();
    }, dueAt - this.#clock.now());
  }
}

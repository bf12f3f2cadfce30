import { keyAfter } from '../../state/keys.ts';
import type { PageSize } from '../../state/page.ts';
import { type KeyLimit, ReadyMessages } from '../ready-messages.ts';
import type { StoredMessage } from './stored-message.ts';

/** How far a queue reads ahead. */
export const READ_AHEAD: PageSize = { limit: 512, maxBytes: 4 * 1024 * 1024 };

/** Messages that wait for others of their key do not count as read ahead, up to this number. */
const MAX_PARKED = 4_096;

/** Sorts after every key. */
const NONE = '\uffff';

/** The minimum time between two marks. */
const MARK_STEP_MS = 30_000;
/** The time between two full rescans: a publisher may have stood still between the reservation of a number and its use. */
const FULL_RESCAN_MS = 300_000;

/**
 * The part of a queue that is in memory: the messages that are ready to be handed out, and the keys that say what the
 * next scan has to read.
 *
 * The invariant: the key of each ready message in the store
 * - is loaded: its message is ready, handed out, held for an earlier delivery, withheld or damaged, or
 * - is being published here, and has not been met by a scan, or
 * - lies at or behind `scanKey`, so that a scan will read it.
 *
 * Exempt are keys that other hosts have written and of which no hint came: a rescan finds them. `isCaughtUp` says that no
 * key of the third kind is known: a message published here may then be handed out without being read back.
 *
 * The numbers of several publishing hosts overlap: while a scan reads on to a higher number of one host, another host may
 * write a lower one, behind it. So hints move `scanKey` back, and a scan during which a hint came behind it does not count
 * as caught up.
 */
export class QueueWindow {
  readonly #ready: ReadyMessages<StoredMessage>;
  /** The bytes of the data of ready messages. */
  #readyBytes = 0;
  readonly #loaded = new Set<string>();
  /** Loaded keys that were settled during a scan, which may still return them. */
  readonly #settled = new Set<string>();
  /** Loaded keys of messages that are being taken out of the queue. */
  readonly #withheld = new Set<string>();
  readonly #publishing = new Set<string>();
  #isScanning = false;
  /** Where the next scan begins; empty for the head of the queue. */
  #scanKey = '';
  /** The lowest key that a running scan may have passed before its message was written. */
  #missedKey = NONE;
  #isCaughtUp = false;
  /** Where `#scanKey` was at least two, one and no steps ago. */
  #marks: readonly [string, string, string] = ['', '', ''];
  #markedAt = Number.NEGATIVE_INFINITY;
  #rescannedAllAt = Number.NEGATIVE_INFINITY;

  constructor(keys: Readonly<KeyLimit> = { perKey: Number.POSITIVE_INFINITY }) {
    this.#ready = new ReadyMessages(keys);
  }

  get scanKey(): string {
    return this.#scanKey;
  }

  /** Whether nothing is left to read but what is being published here. */
  get isCaughtUp(): boolean {
    return this.#isCaughtUp;
  }

  /** Whether few messages are ready. */
  get isShort(): boolean {
    return this.#count < READ_AHEAD.limit / 2 && this.#readyBytes < READ_AHEAD.maxBytes / 2;
  }

  get #isFull(): boolean {
    return this.#count >= READ_AHEAD.limit || this.#readyBytes >= READ_AHEAD.maxBytes;
  }

  /** How many messages are read ahead. */
  get #count(): number {
    return this.#ready.length - Math.min(this.#ready.parked, MAX_PARKED);
  }

  isLoaded(key: string): boolean {
    return this.#loaded.has(key);
  }

  /** A key is loaded whose message is not handed out: it is damaged. */
  skip(key: string): void {
    this.#publishing.delete(key);
    this.#loaded.add(key);
  }

  /** A message is loaded: it is ready, after all others. */
  push(entry: StoredMessage): void {
    this.skip(entry.key);
    this.#ready.push(entry);
    this.#readyBytes += entry.message.data.length;
  }

  /** Takes the next ready message; its key stays loaded until {@link QueueWindow.forget}. */
  shift(): StoredMessage | undefined {
    const entry = this.#ready.shift();
    if (entry !== undefined) this.#readyBytes -= entry.message.data.length;
    return entry;
  }

  /** Puts a message back at the front, unless it was taken out of the queue meanwhile. */
  unshift(entry: StoredMessage): void {
    const { key } = entry;
    if (!this.#loaded.has(key) || this.#settled.has(key) || this.#withheld.has(key)) return this.#ready.end(entry);
    this.#ready.unshift(entry);
    this.#readyBytes += entry.message.data.length;
  }

  /** A message that was taken occupies its ordering key no longer. */
  end(entry: StoredMessage): void {
    this.#ready.end(entry);
  }

  /** The store has no message under this key any more. */
  forget(key: string): void {
    this.#withheld.delete(key);
    if (this.#isScanning) this.#settled.add(key);
    else this.#loaded.delete(key);
  }

  /** Messages are being taken out of the queue: they are not handed out. */
  withhold(keys: ReadonlySet<string>): void {
    for (const { message } of this.#ready.extract(({ key }) => keys.has(key))) this.#readyBytes -= message.data.length;
    for (const key of keys) {
      this.#loaded.add(key);
      this.#withheld.add(key);
    }
  }

  /** Forgets ready messages, and reads all again that may be ready. */
  restart(isDropped: (entry: StoredMessage) => boolean): void {
    for (const { key, message } of this.#ready.extract(isDropped)) {
      this.#readyBytes -= message.data.length;
      this.forget(key);
    }
    this.#goBackTo('');
    this.#isCaughtUp = false;
  }

  /** A publish is about to write a message under a key. */
  beginPublish(key: string): void {
    this.#publishing.add(key);
  }

  /** A publish under a key has ended. Returns whether no scan has met its message. */
  endPublish(key: string): boolean {
    return this.#publishing.delete(key) && !this.#loaded.has(key);
  }

  /** Whether to push a message that was just published, and that no scan has met: no other message waits before it. */
  admitPublished(key: string): boolean {
    // Committed after messages with higher numbers: scans have passed its key.
    const isLate = key < this.#scanKey;
    if (isLate) return true;
    if (!this.#isCaughtUp) {
      this.#goBackTo(key);
      return false;
    }
    this.#isCaughtUp = !this.#isFull;
    if (this.#isCaughtUp) this.#scanKey = keyAfter(key);
    return this.#isCaughtUp;
  }

  /** The store may have a message under a key. Returns whether a scan has to read it. */
  noticeKey(key: string): boolean {
    if (this.#loaded.has(key) || this.#publishing.has(key)) return false;
    this.#goBackTo(key);
    this.#isCaughtUp = false;
    return true;
  }

  /**
   * The store may have messages of which no hint came: scans again from where `scanKey` was 60 to 90 s ago. From the head
   * of the queue, entries that are settled would be read again, which costs some engines much. So a message is found
   * whose commit came within 29 s of the reservation of its number: numbers are used for about a second, and a publish is
   * tried for 10 s by default. The full rescan every five minutes finds the others.
   *
   * @param now - an instant of a monotonic clock: by a clock that is set, the marks could be moments apart
   */
  rescan(now: number): void {
    if (now - this.#markedAt >= MARK_STEP_MS) {
      const [, older, newer] = this.#marks;
      this.#marks = [older, newer, this.#scanKey];
      this.#markedAt = now;
    }
    const isFull = now - this.#rescannedAllAt >= FULL_RESCAN_MS;
    if (isFull) this.#rescannedAllAt = now;
    this.#goBackTo(isFull ? '' : this.#marks[0]);
    this.#isCaughtUp = false;
  }

  /** A scan begins. Keys that are settled until its end stay loaded: it may still return them. */
  beginScan(): void {
    this.#isScanning = true;
  }

  endScan(): void {
    this.#isScanning = false;
    for (const key of this.#settled) this.#loaded.delete(key);
    this.#settled.clear();
  }

  /** A scan from `scanKey` on begins. */
  beginReadyScan(): void {
    this.#missedKey = NONE;
  }

  /** A scan from `scanKey` on has read all up to `last`, its last key, if it found one; `isLast` if none follow. */
  endReadyScan(last: string | undefined, isLast: boolean): void {
    if (last !== undefined) this.#scanKey = keyAfter(last);
    const missed = this.#missedKey;
    this.#goBackTo(missed);
    this.#isCaughtUp = missed === NONE && isLast;
  }

  #goBackTo(key: string): void {
    if (key < this.#scanKey) this.#scanKey = key;
    if (key < this.#missedKey) this.#missedKey = key;
  }

  /** Forgets everything but the publishes under way. */
  clear(): void {
    this.#ready.clear();
    this.#readyBytes = 0;
    this.#loaded.clear();
    this.#settled.clear();
    this.#withheld.clear();
    this.#scanKey = '';
    this.#missedKey = NONE;
    this.#isCaughtUp = false;
    this.#marks = ['', '', ''];
    this.#markedAt = Number.NEGATIVE_INFINITY;
    this.#rescannedAllAt = Number.NEGATIVE_INFINITY;
  }
}

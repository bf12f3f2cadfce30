import type { Entry, KeyedEntry } from '../../../state/store.ts';
import { decodeMessage } from '../storage/codec.ts';
import type { InstanceStore } from '../storage/instance-store.ts';
import type { IntakeMessage } from './turn-intake.ts';

const PAGE = 256;
/** For more instances at once, all messages are read. */
const MAX_INSTANCES = 64;

const NONE: ReadonlySet<string> = new Set();

/** Why messages could not be delivered, by instance. */
type Failures = Map<string, unknown>;

/** The dependencies of an {@link Inbox}. */
export interface InboxDeps {
  readonly store: InstanceStore;
  readonly isOurs: (id: string) => boolean;
  /** Called before messages are read that may be of instances that this host did not have before. */
  readonly prepare: () => Promise<void>;
  /** Delivers a message to its instance. Returns false when that is not possible now. */
  readonly deliver: (id: string, message: IntakeMessage) => Promise<boolean>;
  /**
   * The messages that were known to be stored for an instance have been delivered; without an ID, those of any
   * instance.
   */
  readonly onDelivered: (id?: string) => void;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Delivers stored messages from other instances and hosts. Takes each once, until its turn is committed. A message that
 * was read may have been taken since, here or by the shard's former owner: so its turn requires the entry that was
 * read.
 */
export class Inbox {
  readonly #deps: InboxDeps;
  readonly #inDelivery = new Set<string>();
  /** The last delivery to each instance, while it is under way. The next one waits for it, to keep the order. */
  readonly #lines = new Map<string, Promise<boolean>>();
  /** Keys released since the page in hand was asked for: what was read of them may be out of date. */
  #released: Set<string> | undefined;
  #isReading = false;
  #readsAgain = false;
  /** Instances with messages that could not be delivered. */
  #left = new Set<string>();
  /** Instances in `#left` when the read under way began: it retries them. */
  #leftBefore: ReadonlySet<string> = NONE;
  /** Whether there may be messages that no read has tried to deliver. */
  #isUnread = false;
  /** How often that has been said: a read that began before does not count. */
  #unreads = 0;
  /** Reads of the messages of an instance that wait in its line. */
  readonly #queued = new Map<string, Promise<boolean>>();
  /** How many keys have been released. */
  #releases = 0;
  /** By instance, whether all events may be given to it that wait for the messages before them. */
  readonly #admitted = new Map<string, Promise<boolean>>();

  constructor(deps: InboxDeps) {
    this.#deps = deps;
  }

  /** Marks a message as being delivered here. Returns false when it is already. */
  claim(key: string): boolean {
    if (this.#inDelivery.has(key)) return false;
    this.#inDelivery.add(key);
    return true;
  }

  /** Unmarks a message: it may be delivered again. */
  release(key: string): void {
    this.#inDelivery.delete(key);
    this.#released?.add(key);
    this.#releases++;
  }

  /**
   * There may be messages under some keys, or under any when `keys` is empty: delivers all messages of their instances
   * in order. The one before may be of a hint that was lost, or of a failed turn.
   */
  async changed(keys: readonly string[]): Promise<void> {
    const ids = this.#instancesOf(keys);
    if (keys.length === 0 || ids.size > MAX_INSTANCES) return this.#read();
    const failures: Failures = new Map();
    const deliveries = [...ids].map((id) =>
      this.#deliverInLine(id).catch((error: unknown) => void failures.set(id, error)),
    );
    await Promise.all(deliveries);
    this.#report(failures);
  }

  /** The instances of this host to which some keys belong. */
  #instancesOf(keys: readonly string[]): ReadonlySet<string> {
    const { store, isOurs, onFailure } = this.#deps;
    const ids = new Set<string>();
    try {
      for (const key of keys) ids.add(store.layout.instanceIdOf(key));
    } catch (error) {
      onFailure(error);
    }
    return new Set([...ids].filter(isOurs));
  }

  /** Messages have come back from a failed turn: what is sent to their instance must not overtake them. */
  left(keys: readonly string[]): void {
    for (const key of keys) this.#left.add(this.#deps.store.layout.instanceIdOf(key));
  }

  /** Delivers messages that a failed turn has left, if there are any: nothing else would. */
  async again(keys: readonly string[]): Promise<void> {
    if (keys.length > 0) await this.changed(keys);
  }

  /** Delivers all messages. Until it has, every instance counts as behind. */
  readAll(): Promise<void> {
    this.#isUnread = true;
    this.#unreads++;
    return this.#read();
  }

  /** This host goes on with an instance of another one: delivers what is stored for it. */
  async takeOver(id: string): Promise<void> {
    this.#left.add(id);
    await this.catchUp(id);
  }

  /** Whether messages of an instance have come back, so that later ones must wait for them. */
  hasLeftovers(id: string): boolean {
    return this.#left.has(id);
  }

  /** Whether an instance may have stored messages that must be delivered before what is sent to it now. */
  isBehind(id: string): boolean {
    return this.mayHaveMore(id) || this.#lines.has(id);
  }

  /** Like `isBehind`, without the messages in its line, which are delivered next. */
  mayHaveMore(id: string): boolean {
    return this.#isUnread || this.#left.has(id) || this.#leftBefore.has(id);
  }

  /** Delivers the stored messages of an instance; answers whether all were: what is sent now must not overtake one. */
  async catchUp(id: string): Promise<boolean> {
    const line = this.#lines.get(id);
    // All known messages are in its line.
    if (line !== undefined && !this.mayHaveMore(id)) return line;
    try {
      return await this.#deliverInLine(id);
    } catch (error) {
      this.#deps.onFailure(error);
      return false;
    }
  }

  /** Whether an event of an instance has to wait: for stored messages, or for an event that waits for them. */
  holdsBack(id: string): boolean {
    return this.isBehind(id) || this.#admitted.has(id);
  }

  /**
   * Answers whether an event may be given to its instance, once the messages before it were. If not, it has to go through
   * the store, and so do the events that came after it and wait as well: another read may have delivered the messages.
   */
  admit(id: string): Promise<boolean> {
    const earlier = this.#admitted.get(id);
    const admitted = Promise.all([earlier ?? true, this.catchUp(id)]).then(([areAdmitted, areDelivered]) => {
      if (this.#admitted.get(id) === admitted) this.#admitted.delete(id);
      return areAdmitted && areDelivered && !this.#left.has(id);
    });
    this.#admitted.set(id, admitted);
    return admitted;
  }

  /** Delivers the stored messages of an instance once those in its line are delivered; many calls may share one read. */
  #deliverInLine(id: string): Promise<boolean> {
    if (!this.#lines.has(id)) return this.#inLine(id, () => this.#deliverAll(id));
    let queued = this.#queued.get(id);
    if (queued === undefined) {
      queued = this.#inLine(id, () => {
        this.#queued.delete(id);
        return this.#deliverAll(id);
      });
      this.#queued.set(id, queued);
    }
    return queued;
  }

  /** Answers false when some have come back meanwhile, so that those behind them were not delivered. */
  async #deliverAll(id: string): Promise<boolean> {
    const { store, isOurs } = this.#deps;
    this.#left.delete(id);
    try {
      const releases = this.#releases;
      for await (const entries of store.messages(store.layout.inboxRangeOf(id), PAGE))
        for (const entry of entries) {
          // Some have come back: they will be delivered again, and these after them.
          if (this.#left.has(id) || !isOurs(id)) return false;
          // A turn may have taken it since it was read.
          await this.#handOut(id, entry.key, releases === this.#releases ? entry : undefined);
        }
      return !this.#left.has(id);
    } catch (error) {
      this.#left.add(id);
      throw error;
    }
  }

  async #read(): Promise<void> {
    this.#readsAgain = true;
    if (this.#isReading) return;
    this.#isReading = true;
    const { onDelivered, onFailure } = this.#deps;
    try {
      while (this.#readsAgain) {
        this.#readsAgain = false;
        const unreads = this.#unreads;
        if (this.#isUnread) await this.#deps.prepare();
        const failures = await this.#readOnce();
        for (const id of failures.keys()) this.#left.add(id);
        this.#leftBefore = NONE;
        // Not only at the end: while messages keep coming, there may be none for long.
        if (unreads === this.#unreads) this.#isUnread = false;
        this.#report(failures);
        onDelivered();
      }
    } catch (error) {
      onFailure(error);
    } finally {
      this.#isReading = false;
      this.#released = undefined;
    }
  }

  async #readOnce(): Promise<Failures> {
    const { store } = this.#deps;
    const failures: Failures = new Map();
    const passedOver = new Set<string>();
    this.#released = new Set();
    this.#leftBefore = new Set([...this.#leftBefore, ...this.#left]);
    this.#left = new Set();
    for await (const entries of store.messages(store.layout.inboxRange, PAGE)) {
      await this.#handOutAll(entries, failures, passedOver);
      this.#released = new Set();
    }
    return failures;
  }

  /** One failure stands for all. */
  #report(failures: Failures): void {
    if (failures.size > 0) this.#deps.onFailure([...failures.values()][0]);
  }

  /**
   * Delivers in order per instance, and to several instances in parallel. Adds failures to those of earlier pages, and
   * instances of other hosts: one that becomes ours meanwhile is left to the next read, with its first message.
   */
  async #handOutAll(messages: readonly KeyedEntry[], failures: Failures, passedOver: Set<string>): Promise<void> {
    const { isOurs } = this.#deps;
    const byInstance = new Map<string, KeyedEntry[]>();
    for (const message of messages) {
      const id = this.#deps.store.layout.instanceIdOf(message.key);
      // It must not overtake one of an earlier page.
      if (failures.has(id) || passedOver.has(id)) continue;
      if (!isOurs(id)) {
        passedOver.add(id);
        continue;
      }
      const others = byInstance.get(id);
      if (others === undefined) byInstance.set(id, [message]);
      else others.push(message);
    }
    const deliveries = [...byInstance].map(([id, own]) =>
      this.#handOutTo(id, own, passedOver).catch((error: unknown) => void failures.set(id, error)),
    );
    await Promise.all(deliveries);
  }

  #handOutTo(id: string, messages: readonly KeyedEntry[], passedOver: Set<string>): Promise<boolean> {
    return this.#inLine(id, async () => {
      for (const entry of messages) {
        if (!this.#deps.isOurs(id)) passedOver.add(id);
        if (passedOver.has(id)) return false;
        await this.#handOut(id, entry.key, entry);
      }
      return !this.#left.has(id);
    });
  }

  /** Begins a delivery to an instance once the one before it has ended. */
  #inLine(id: string, deliver: () => Promise<boolean>): Promise<boolean> {
    const before = this.#lines.get(id);
    const delivered = before === undefined ? deliver() : before.then(deliver);
    const end = (areDelivered: boolean): boolean => {
      if (this.#lines.get(id) === line) this.#lines.delete(id);
      this.#deps.onDelivered(id);
      return areDelivered;
    };
    const line = delivered.then(end, () => end(false));
    this.#lines.set(id, line);
    return delivered;
  }

  async #handOut(id: string, key: string, read: Entry | undefined): Promise<void> {
    const { store, deliver } = this.#deps;
    if (!this.claim(key)) return;
    let isDelivered = false;
    try {
      const isCurrent = read !== undefined && this.#released?.has(key) !== true;
      const found = isCurrent ? read : await store.message(key);
      if (found === undefined) return;
      const message = decodeMessage(key, found.value);
      isDelivered = await deliver(id, { ...message, entry: { key, version: found.version } });
    } finally {
      if (!isDelivered) this.release(key);
    }
  }
}

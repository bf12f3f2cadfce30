import { keyAfter } from '../../../state/keys.ts';
import type { Entry } from '../../../state/store.ts';
import { decodeMessage } from '../storage/codec.ts';
import type { InstanceStore } from '../storage/instance-store.ts';
import type { Message } from './turn-intake.ts';

const PAGE = 256;

/** A stored message. Without an entry, it has not been read yet. */
interface Found {
  readonly key: string;
  readonly entry?: Entry;
}

/** The dependencies of an {@link Inbox}. */
export interface InboxDeps {
  readonly store: InstanceStore;
  readonly isOurs: (id: string) => boolean;
  /** Delivers a message to its instance. Returns false when that is not possible now. */
  readonly deliver: (id: string, message: Message) => Promise<boolean>;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Delivers stored messages from other instances and hosts. Takes each once, until its turn is committed. What was read
 * before may have been taken since, here or by the shard's former owner: so its turn requires the entry that was read.
 */
export class Inbox {
  readonly #deps: InboxDeps;
  readonly #inHand = new Set<string>();
  /** Keys released since the page in hand was asked for: what was read of them may be out of date. */
  #released: Set<string> | undefined;
  #isReading = false;
  #readsAgain = false;

  constructor(deps: InboxDeps) {
    this.#deps = deps;
  }

  /** Marks a message as being delivered here. Returns false when it is already. */
  take(key: string): boolean {
    if (this.#inHand.has(key)) return false;
    this.#inHand.add(key);
    return true;
  }

  /** Unmarks a message: it may be delivered again. */
  release(key: string): void {
    this.#inHand.delete(key);
    this.#released?.add(key);
  }

  /** Delivers the messages of some keys, or all messages when `keys` is empty. */
  async changed(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return this.readAll();
    for (let from = 0; from < keys.length; from += PAGE)
      await this.#handOutAll(keys.slice(from, from + PAGE).map((key) => ({ key }))).catch(this.#deps.onFailure);
  }

  /** Delivers messages that a failed turn has left, if there are any: nothing else would. */
  async again(keys: readonly string[]): Promise<void> {
    if (keys.length > 0) await this.changed(keys);
  }

  /** Delivers all messages. */
  async readAll(): Promise<void> {
    this.#readsAgain = true;
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      while (this.#readsAgain) {
        this.#readsAgain = false;
        await this.#readOnce();
      }
    } catch (error) {
      this.#deps.onFailure(error);
    } finally {
      this.#isReading = false;
      this.#released = undefined;
    }
  }

  async #readOnce(): Promise<void> {
    const { store } = this.#deps;
    for (let from: string | undefined = store.layout.inboxRange.from; from !== undefined; ) {
      this.#released = new Set();
      const entries = await store.inboxFrom(from, PAGE);
      await this.#handOutAll(entries.map((entry) => ({ key: entry.key, entry })));
      const last = entries.at(-1);
      from = last && keyAfter(last.key);
    }
  }

  /** Delivers in order per instance, and to several instances in parallel. Throws a failure only after all are done. */
  async #handOutAll(messages: readonly Found[]): Promise<void> {
    const byInstance = new Map<string, Found[]>();
    for (const message of messages) {
      const id = this.#deps.store.layout.instanceIdOf(message.key);
      const others = byInstance.get(id);
      if (others === undefined) byInstance.set(id, [message]);
      else others.push(message);
    }
    const ends = await Promise.allSettled([...byInstance].map(([id, own]) => this.#handOutTo(id, own)));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  async #handOutTo(id: string, messages: readonly Found[]): Promise<void> {
    for (const { key, entry } of messages) await this.#handOut(id, key, entry);
  }

  async #handOut(id: string, key: string, read: Entry | undefined): Promise<void> {
    const { store, isOurs, deliver } = this.#deps;
    if (!isOurs(id) || !this.take(key)) return;
    let isDelivered = false;
    try {
      const isCurrent = read !== undefined && this.#released?.has(key) !== true;
      const found = isCurrent ? read : await store.message(key);
      if (found === undefined) return;
      const { event, executionId } = decodeMessage(key, found.value);
      isDelivered = await deliver(id, { event, executionId, entry: { key, version: found.version } });
    } finally {
      if (!isDelivered) this.release(key);
    }
  }
}

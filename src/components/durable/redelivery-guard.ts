import type { Logger } from '../../util/logger.ts';
import { atWorkElsewhere, type Workplace } from '../../util/workplaces.ts';
import type { Dispatcher } from '../dispatcher.ts';
import type { ReadAhead } from './read-ahead.ts';
import type { Settlements } from './settlements.ts';
import type { StoredMessage } from './stored-message.ts';

/** The dependencies of {@link RedeliveryGuard}. */
export interface RedeliveryGuardDeps {
  readonly topic: string;
  /** Where functions process the group's messages. */
  readonly workplace: Workplace;
  readonly logger: Logger;
  readonly ahead: ReadAhead;
  readonly settlements: Settlements;
  readonly dispatcher: Dispatcher<StoredMessage>;
}

/** A delivery of an earlier tenure, and the copy of its message that this tenure has read. */
interface EarlyDelivery {
  readonly entry: StoredMessage;
  copy: StoredMessage | undefined;
}

/** Keeps messages from being handed out while an earlier delivery of them goes on. */
export class RedeliveryGuard {
  readonly #deps: RedeliveryGuardDeps;
  /** Deliveries of an earlier tenure, by the number of the message. */
  readonly #early = new Map<number, EarlyDelivery>();
  /** Messages of this tenure that a function of another sidecar still processes. */
  readonly #elsewhere = new Set<StoredMessage>();
  /** The numbers of messages whose early delivery has succeeded before the copy of this tenure was reached. */
  readonly #done = new Set<number>();

  constructor(deps: RedeliveryGuardDeps) {
    this.#deps = deps;
  }

  /** Whether a message waits for a function of another sidecar. */
  get waitsElsewhere(): boolean {
    return this.#elsewhere.size > 0;
  }

  /** A message was handed out in an earlier tenure and is not settled. */
  addEarly(entry: StoredMessage): void {
    this.#early.set(entry.number, { entry, copy: undefined });
  }

  /** Whether the message must not be handed out now: it is settled, or kept until its earlier delivery has ended. */
  keeps(entry: StoredMessage): boolean {
    return this.#isDone(entry) || this.#isEarly(entry) || this.#isElsewhere(entry);
  }

  /** An early delivery has succeeded: its copy, which may have been read already, is not handed out. */
  onSuccess({ number }: StoredMessage): void {
    if (this.#early.has(number)) this.#done.add(number);
  }

  #isDone(copy: StoredMessage): boolean {
    if (!this.#done.delete(copy.number)) return false;
    this.removeCopy(copy).catch(() => undefined);
    return true;
  }

  #isEarly(entry: StoredMessage): boolean {
    const early = this.#early.size === 0 ? undefined : this.#early.get(entry.number);
    if (early !== undefined) early.copy = entry;
    return early !== undefined;
  }

  #isElsewhere(entry: StoredMessage): boolean {
    const { workplace, logger, topic } = this.#deps;
    const call = atWorkElsewhere(workplace, entry.message.id);
    if (call === undefined) return false;
    this.#elsewhere.add(entry);
    const messageId = entry.message.id;
    logger.warn({ topic, messageId }, 'a message waits for its function, which still runs in another sidecar');
    call.onEnd(() => {
      if (this.#elsewhere.delete(entry)) this.#free(entry);
    });
    return true;
  }

  /** A message need not wait any longer. */
  #free(entry: StoredMessage): void {
    this.#deps.ahead.unshift(entry);
    this.#deps.dispatcher.wake();
  }

  /** Takes the copy that waits for a message that is settled now; its key may differ. */
  takeCopy({ number }: StoredMessage): StoredMessage | undefined {
    const early = this.#early.size === 0 ? undefined : this.#early.get(number);
    const copy = early?.copy;
    if (early !== undefined) early.copy = undefined;
    return copy;
  }

  /** Deletes the copy of a settled message. */
  async removeCopy(copy: StoredMessage): Promise<void> {
    this.#deps.ahead.end(copy);
    this.#deps.dispatcher.wake();
    await this.#deps.settlements.record({ delete: [copy.key] }, copy);
    this.#deps.ahead.forget(copy);
  }

  /** A delivery has ended: frees the copy that waits for it. */
  onEnd(entry: StoredMessage): void {
    if (this.#early.size === 0) return;
    const early = this.#early.get(entry.number);
    if (early?.entry !== entry) return;
    this.#early.delete(entry.number);
    if (early.copy !== undefined) this.#free(early.copy);
  }

  /** Takes out the messages that other hosts hand out now. */
  drop(isDropped: (entry: StoredMessage) => boolean): readonly StoredMessage[] {
    const dropped = [...this.#elsewhere].filter(isDropped);
    for (const entry of dropped) this.#elsewhere.delete(entry);
    for (const early of this.#early.values()) {
      if (early.copy === undefined || !isDropped(early.copy)) continue;
      dropped.push(early.copy);
      early.copy = undefined;
    }
    return dropped;
  }

  /** The tenure has ended. */
  clear(): void {
    this.#elsewhere.clear();
    this.#done.clear();
  }

  /** The numbers of the messages of which an earlier delivery has not ended. */
  numbers(): readonly number[] {
    return [...this.#early.keys(), ...[...this.#elsewhere].map(({ number }) => number)];
  }
}

import type { Logger } from '../../util/logger.ts';
import { atWorkElsewhere, type Workplace } from '../../util/workplaces.ts';
import type { StoredMessage } from './stored-message.ts';

/** The dependencies of {@link HeldBack}. */
export interface HeldBackDeps {
  readonly topic: string;
  /** Where functions process the group's messages. */
  readonly workplace: Workplace;
  readonly logger: Logger;
  /** The copy of a message that is settled was reached. */
  readonly onDone: (copy: StoredMessage) => void;
  /** A message need not wait any longer. */
  readonly onFree: (entry: StoredMessage) => void;
}

/** Messages of a queue that wait because an earlier delivery of them has not ended. */
export class HeldBack {
  readonly #deps: HeldBackDeps;
  /** Those handed out in an earlier tenure, by number, with the copy that this tenure has read. */
  readonly #early = new Map<number, { readonly entry: StoredMessage; again: StoredMessage | undefined }>();
  /** Messages of this tenure that a function of another sidecar still processes. */
  readonly #elsewhere = new Set<StoredMessage>();
  /** The numbers of messages whose early delivery has succeeded before the copy of this tenure was reached. */
  readonly #done = new Set<number>();

  constructor(deps: HeldBackDeps) {
    this.#deps = deps;
  }

  /** Whether a message waits for a function of another sidecar. */
  get waitsElsewhere(): boolean {
    return this.#elsewhere.size > 0;
  }

  /** A message was handed out in an earlier tenure and is not settled. */
  addEarly(entry: StoredMessage): void {
    this.#early.set(entry.number, { entry, again: undefined });
  }

  /** Whether the message is not handed out now: it is settled, or kept until it need not wait any longer. */
  keeps(entry: StoredMessage): boolean {
    return this.#isDone(entry) || this.#isEarly(entry) || this.#isElsewhere(entry);
  }

  /** An early delivery has succeeded: its copy, which may have been read already, is not handed out. */
  succeeded({ number }: StoredMessage): void {
    if (this.#early.has(number)) this.#done.add(number);
  }

  #isDone(entry: StoredMessage): boolean {
    if (!this.#done.delete(entry.number)) return false;
    this.#deps.onDone(entry);
    return true;
  }

  #isEarly(entry: StoredMessage): boolean {
    const early = this.#early.size === 0 ? undefined : this.#early.get(entry.number);
    if (early !== undefined) early.again = entry;
    return early !== undefined;
  }

  #isElsewhere(entry: StoredMessage): boolean {
    const { workplace, logger, topic, onFree } = this.#deps;
    const call = atWorkElsewhere(workplace, entry.message.id);
    if (call === undefined) return false;
    this.#elsewhere.add(entry);
    const messageId = entry.message.id;
    logger.warn({ topic, messageId }, 'a message waits for its function, which still runs in another sidecar');
    call.onEnd(() => {
      if (this.#elsewhere.delete(entry)) onFree(entry);
    });
    return true;
  }

  /** Takes the copy that waits for a message that is settled now; its key may differ. */
  takeAgain({ number }: StoredMessage): StoredMessage | undefined {
    const early = this.#early.size === 0 ? undefined : this.#early.get(number);
    const again = early?.again;
    if (early !== undefined) early.again = undefined;
    return again;
  }

  /** The earlier delivery has ended: frees the copy that waits for it. */
  ended(entry: StoredMessage): void {
    if (this.#early.size === 0) return;
    const early = this.#early.get(entry.number);
    if (early?.entry !== entry) return;
    this.#early.delete(entry.number);
    if (early.again !== undefined) this.#deps.onFree(early.again);
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

import type { Clock, Timer } from '../../../util/clock.ts';
import type { Work } from '../../../util/work.ts';
import type { InstanceStore } from '../storage/instance-store.ts';

/** How long a receipt is kept if the caller does not acknowledge the answer. */
const KEPT_MS = 10 * 60 * 1000;
/** How long released receipts are collected before they are removed together. */
const GATHERED_MS = 1_000;
const MAX_REMOVED = 1_000;

/** The dependencies of {@link Receipts}. */
export interface ReceiptsDeps {
  readonly store: InstanceStore;
  readonly clock: Clock;
  readonly work: Pick<Work, 'begin'>;
}

interface Receipt {
  readonly entry: string;
  readonly expiresAt: number;
}

/**
 * Removes receipts of forwarded calls from the store. Such a call is done by the owner or, after a lost answer, by the
 * caller through the store; either one writes the receipt in the same commit and requires that it was absent.
 */
export class Receipts {
  readonly #deps: ReceiptsDeps;
  /** By the key of the call; the oldest first. */
  readonly #kept = new Map<string, Receipt>();
  #released: string[] = [];
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(deps: ReceiptsDeps) {
    this.#deps = deps;
  }

  /** A receipt was written. */
  add(key: string, entry: string): void {
    if (this.#kept.has(key)) return;
    this.#kept.set(key, { entry, expiresAt: this.#deps.clock.now() + KEPT_MS });
    this.#timer ??= this.#later(KEPT_MS);
  }

  /** The receipts of these calls are no longer needed. */
  release(keys: readonly string[]): void {
    const wasEmpty = this.#released.length === 0;
    for (const key of keys) {
      const receipt = this.#kept.get(key);
      if (receipt === undefined) continue;
      this.#kept.delete(key);
      this.#released.push(receipt.entry);
    }
    if (!wasEmpty || this.#released.length === 0) return;
    this.#timer?.cancel();
    this.#timer = this.#later(GATHERED_MS);
  }

  /** Takes over receipts that former hosts may have left. */
  async readAll(isOurs: (instanceId: string) => boolean): Promise<void> {
    const { store } = this.#deps;
    // If this fails, the next call takes them over.
    for (const entry of await store.receipts().catch(() => [])) {
      const { instanceId, key } = store.layout.receiptOf(entry);
      if (isOurs(instanceId)) this.add(key, entry);
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #later(delayMs: number): Timer | undefined {
    return this.#isStopped ? undefined : this.#deps.clock.setTimeout(() => void this.#remove(), delayMs);
  }

  async #remove(): Promise<void> {
    const { clock, store, work } = this.#deps;
    for (const [key, { entry, expiresAt }] of this.#kept) {
      if (expiresAt > clock.now()) break;
      this.#kept.delete(key);
      this.#released.push(entry);
    }
    const entries = this.#released;
    this.#released = [];
    const done = work.begin('removing of receipts');
    try {
      while (entries.length > 0) {
        await store.commit({ delete: entries.slice(-MAX_REMOVED) });
        entries.splice(-MAX_REMOVED);
      }
    } catch {
      // The store failed: remove them later.
      this.#released.push(...entries);
    } finally {
      done();
    }
    this.#timer?.cancel();
    this.#timer = undefined;
    const [next] = this.#kept.values();
    if (this.#released.length > 0) this.#timer = this.#later(GATHERED_MS);
    else this.#timer = next && this.#later(next.expiresAt - clock.now());
  }
}

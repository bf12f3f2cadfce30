/** A lock that this sidecar has taken. */
export interface HeldLock {
  readonly storeName: string;
  readonly resource: string;
  readonly owner: string;
  readonly takenAt: number;
  /** At the earliest. */
  readonly expiresAt: number;
}

/** The most locks that are remembered. */
const MAX_LOCKS = 1_000;

/**
 * The locks that a sidecar has taken, for display: stores of locks cannot be asked for theirs. The latest 1,000 are
 * remembered, until they are released or others come.
 */
export class HeldLocks {
  /** The earliest first. */
  readonly #locks = new Map<string, HeldLock>();
  /** Until when one that had to make room may be held. */
  #forgottenUntil = 0;

  add(lock: HeldLock): void {
    const key = keyOf(lock);
    this.#locks.delete(key);
    this.#locks.set(key, lock);
    if (this.#locks.size <= MAX_LOCKS) return;
    const [first] = this.#locks;
    if (first === undefined) return;
    this.#locks.delete(first[0]);
    this.#forgottenUntil = Math.max(this.#forgottenUntil, first[1].expiresAt);
  }

  /** Removes a lock, unless another owner has it by now. */
  remove(lock: Pick<HeldLock, 'storeName' | 'resource' | 'owner'>): void {
    const key = keyOf(lock);
    if (this.#locks.get(key)?.owner === lock.owner) this.#locks.delete(key);
  }

  /** Those of a store that have not expired, the latest first; and whether none is missing among them. */
  list(storeName: string, now: number): { readonly locks: readonly HeldLock[]; readonly isComplete: boolean } {
    const held = [...this.#locks.values()].filter((lock) => lock.storeName === storeName && lock.expiresAt > now);
    return { locks: held.reverse(), isComplete: now >= this.#forgottenUntil };
  }
}

function keyOf({ storeName, resource }: Pick<HeldLock, 'storeName' | 'resource'>): string {
  return JSON.stringify([storeName, resource]);
}

/** The share of a write's time spent waiting for the next group, and its maximum. */
const SHARE_OF_WRITE = 0.5;
const MAX_MS = 2;
/** A faster write leaves nothing to gain: one half of the callers is handled while the other is written. */
const SLOW_WRITE_MS = 3;

/**
 * Decides when a group of commits is complete.
 *
 * While one group is written, others wait. Callers that just got their reply usually commit again at once (the next
 * request on a connection, the next step of a loop), but slightly too late for the next group. Callers would split into
 * two halves that wait for each other, each commit for two syncs. So the next group waits for as many commits as were
 * answered, for a part of the time of the last write: fewer syncs, which pays off more the slower they are. A commit
 * that arrives after a pause in writing does not wait at all.
 */
export class CommitWindow {
  #isWriting = false;
  #sentAt = 0;
  #until = 0;
  #expected = 0;

  /** Whether a group is being written. */
  get isWriting(): boolean {
    return this.#isWriting;
  }

  /** Whether to keep waiting with this many commits gathered. */
  isOpen(gathered: number): boolean {
    return this.#isWriting || (gathered < this.#expected && performance.now() < this.#until);
  }

  /** How long it stays open at most, in milliseconds; 0 if it is not open. */
  get leftMs(): number {
    return this.#isWriting ? 0 : Math.max(0, this.#until - performance.now());
  }

  onSend(): void {
    this.#isWriting = true;
    // Real time instead of the sidecar's clock: this measures the disk.
    this.#sentAt = performance.now();
  }

  /** Ends a write; `expected` is the number of commits worth waiting for. */
  onReply(expected: number): void {
    const now = performance.now();
    this.#isWriting = false;
    this.#expected = expected;
    const tookMs = now - this.#sentAt;
    this.#until = tookMs < SLOW_WRITE_MS ? now : now + Math.min(MAX_MS, tookMs * SHARE_OF_WRITE);
  }
}

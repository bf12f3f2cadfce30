/** The share of a write's time that is spent on gathering the next group, and the most of it. */
const SHARE_OF_WRITE = 0.5;
const MAX_MS = 2;
/** A write that is faster than this leaves nothing to gain: one half is handled while the other is written. */
const SLOW_WRITE_MS = 3;

/**
 * Decides when a group of commits is complete.
 *
 * While one group is written, others wait. Those just answered usually call again at once (the next request on a
 * connection, the next step of a loop), but a moment too late for the next group. Callers would split into two
 * halves that wait for each other, each commit for two syncs. So the next group waits for as many commits as were
 * answered, for a part of the time that the last write took: fewer syncs, which pays the more the slower they
 * are. Whoever comes while nothing has been written lately does not wait at all.
 */
export class CommitWindow {
  #isWriting = false;
  #sentAt = 0;
  #until = 0;
  #expected = 0;

  /** Whether a group is on its way. */
  get isWriting(): boolean {
    return this.#isWriting;
  }

  /** Whether to wait, with so many commits there already. */
  isOpen(gathered: number): boolean {
    return this.#isWriting || (gathered < this.#expected && performance.now() < this.#until);
  }

  onSend(): void {
    this.#isWriting = true;
    // Not the sidecar's clock: this is about how fast the disk really is.
    this.#sentAt = performance.now();
  }

  /** A group is written; so many commits may come before it is worth to write again. */
  onReply(expected: number): void {
    const now = performance.now();
    this.#isWriting = false;
    this.#expected = expected;
    const tookMs = now - this.#sentAt;
    this.#until = tookMs < SLOW_WRITE_MS ? now : now + Math.min(MAX_MS, tookMs * SHARE_OF_WRITE);
  }
}

/** At least so far apart are the marks. */
const STEP_MS = 30_000;
/** So often everything is looked at: a publisher may have stood still between the reservation of a number and its use. */
const ALL_MS = 300_000;

/**
 * From which key on a queue is looked at for messages that others have written unseen. Not from its head, where settled
 * messages may cost an engine much. A message is seen if it is written within 29 s of the reservation of its number:
 * numbers are used for about a second, and a publish is tried for 10 s by default. Later ones are seen when everything
 * is looked at.
 */
export class LookBack {
  /** Where the end was, at least two, one and no steps ago. */
  #marks: readonly [string, string, string] = ['', '', ''];
  #steppedAt = Number.NEGATIVE_INFINITY;
  #allAt = Number.NEGATIVE_INFINITY;

  /**
   * The key from which to look now. `readFrom` is the key up to which everything has been read, `now` an instant of a
   * monotonic clock: by one that somebody sets, the marks could be moments apart.
   */
  from(readFrom: string, now: number): string {
    if (now - this.#steppedAt >= STEP_MS) {
      const [, older, newer] = this.#marks;
      this.#marks = [older, newer, readFrom];
      this.#steppedAt = now;
    }
    if (now - this.#allAt < ALL_MS) return this.#marks[0];
    this.#allAt = now;
    return '';
  }
}

/** At least so far apart are the marks. */
const STEP_MS = 15_000;
/** So often everything is looked at: a publisher may have stood still between the reservation of a number and its use. */
const ALL_MS = 300_000;

/**
 * From which key on a queue is looked at for messages that others have written unseen. Not from its head, where settled
 * messages may cost an engine much: numbers are used within about a second of their reservation, so that what was
 * written in the last 15 s lies behind the messages that were the last ones 30 s ago.
 */
export class LookBack {
  /** Where the end was, at least two, one and no steps ago. */
  #marks: readonly [string, string, string] = ['', '', ''];
  #steppedAt = Number.NEGATIVE_INFINITY;
  #allAt = Number.NEGATIVE_INFINITY;

  /** The key from which to look now. `readFrom` is the key up to which everything has been read. */
  from(readFrom: string, now: number): string {
    if (Math.abs(now - this.#steppedAt) >= STEP_MS) {
      const [, older, newer] = this.#marks;
      this.#marks = [older, newer, readFrom];
      this.#steppedAt = now;
    }
    if (Math.abs(now - this.#allAt) < ALL_MS) return this.#marks[0];
    this.#allAt = now;
    return '';
  }
}

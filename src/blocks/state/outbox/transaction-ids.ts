import { instantOf, instantPart } from '../../../state/keys.ts';
import type { Clock } from '../../../util/clock.ts';

const COUNT_DIGITS = 5;

/** IDs of transactions: each is greater than those that this process has made before, even if its clock is set back. */
export class TransactionIds {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #newId: () => string;
  #at = 0;
  /** Of the IDs with this instant. */
  #count = 0;

  constructor(clock: Pick<Clock, 'now'>, newId: () => string) {
    this.#clock = clock;
    this.#newId = newId;
  }

  /** Makes the next IDs greater than this one, of another process. */
  continueAfter(id: string): void {
    const [instant = ''] = id.split('-');
    this.#at = Math.max(this.#at, instantOf(instant) + 1);
  }

  next(): string {
    const now = Math.floor(this.#clock.now());
    if (now > this.#at || this.#count === 10 ** COUNT_DIGITS) {
      this.#at = Math.max(now, this.#at + 1);
      this.#count = 0;
    }
    return `${instantPart(this.#at)}-${String(this.#count++).padStart(COUNT_DIGITS, '0')}-${this.#newId()}`;
  }
}

import type { Clock, Timer } from '../../util/clock.ts';

/** One timer, for the earliest instant that is expected. */
export class DueTimer {
  readonly #onDue: () => void;
  #timer: Timer | undefined;
  #at = Number.POSITIVE_INFINITY;

  constructor(onDue: () => void) {
    this.#onDue = onDue;
  }

  expect(at: number, clock: Clock): void {
    if (at >= this.#at) return;
    this.#timer?.cancel();
    this.#at = at;
    this.#timer = clock.setTimeout(() => {
      this.#at = Number.POSITIVE_INFINITY;
      this.#onDue();
    }, at - clock.now());
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#at = Number.POSITIVE_INFINITY;
  }
}

import type { Clock, Timer } from './clock.ts';

/** A clock that is set while a timer runs is noticed after so long at the latest. */
const CHECK_INTERVAL_MS = 60_000;

/**
 * Calls back at or after an instant of the clock, one at a time. Timers count elapsed time, and a clock can be set:
 * so a long wait is checked against the clock from time to time, and it may call back too early. Look at the clock.
 */
export class Alarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #timer: Timer | undefined;
  #at = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Sets it to an instant, or off. */
  set(at: number | undefined): void {
    if (at === undefined) return this.off();
    if (this.#timer !== undefined && at === this.#at) return;
    this.off();
    this.#at = at;
    const delayMs = Math.max(0, at - this.#clock.now());
    this.#timer = this.#clock.setTimeout(
      () => {
        this.off();
        this.#ring();
      },
      this.#clock.isSteady === true ? delayMs : Math.min(delayMs, CHECK_INTERVAL_MS),
    );
  }

  off(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#at = Number.POSITIVE_INFINITY;
  }
}

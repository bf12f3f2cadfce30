import type { Clock, Timer } from './clock.ts';

/** The longest time until a change of the clock is noticed. */
const CHECK_INTERVAL_MS = 60_000;

/**
 * Calls back at or after an instant of the clock; one instant at a time. Timers measure elapsed time, but a clock can
 * be set: long waits are checked against the clock from time to time.
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

  /** Sets the alarm to an instant, or turns it off. */
  set(at: number | undefined): void {
    if (at === undefined) return this.off();
    if (this.#timer !== undefined && at === this.#at) return;
    this.off();
    this.#at = at;
    const delayMs = Math.max(0, at - this.#clock.now());
    this.#timer = this.#clock.setTimeout(
      () => {
        this.off();
        if (this.#clock.now() < at) this.set(at);
        else this.#ring();
      },
      this.#clock.isSteady === true ? delayMs : Math.min(delayMs, CHECK_INTERVAL_MS),
    );
  }

  /** Sets the alarm to an instant, unless it is set to an earlier one. */
  expect(at: number): void {
    if (at < this.#at) this.set(at);
  }

  off(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#at = Number.POSITIVE_INFINITY;
  }
}

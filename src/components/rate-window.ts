import { type Clock, dualNow } from '../util/clock.ts';

/** How many messages are handed out in a time. */
export interface Rate {
  readonly max: number;
  readonly perMs: number;
}

/** Counts what was handed out: no more than `max` in any span of `perMs`. */
export class RateWindow {
  readonly rate: Rate;
  readonly #clock: Clock;
  /** The last `max` instants, the oldest one at `#next` once there are so many. */
  #instants: number[] = [];
  #next = 0;

  constructor(rate: Rate, clock: Clock) {
    this.rate = rate;
    this.#clock = clock;
  }

  #now(): number {
    // A clock that is set must not stretch or shorten a span.
    return dualNow(this.#clock).monotonic;
  }

  /** How long until the next one may be handed out; 0 for now. */
  get waitMs(): number {
    const { max, perMs } = this.rate;
    const oldest = this.#instants.length < max ? undefined : this.#instants[this.#next];
    return oldest === undefined ? 0 : Math.max(0, oldest + perMs - this.#now());
  }

  /** How many may be handed out now, counted up to `limit`. */
  left(limit: number): number {
    const { max, perMs } = this.rate;
    const unused = max - this.#instants.length;
    const before = this.#now() - perMs;
    let over = 0;
    while (unused + over < limit && over < this.#instants.length) {
      const instant = this.#instants[(this.#next + over) % this.#instants.length];
      if (instant === undefined || instant > before) break;
      over++;
    }
    return Math.min(limit, unused + over);
  }

  /** How long ago those were handed out that still count, the oldest one first. */
  get ages(): readonly number[] {
    const now = this.#now();
    const inOrder = [...this.#instants.slice(this.#next), ...this.#instants.slice(0, this.#next)];
    return inOrder.map((instant) => now - instant).filter((age) => age < this.rate.perMs);
  }

  /** Counts what was handed out elsewhere, in place of all that is known; the oldest one first. */
  restore(ages: readonly number[]): void {
    const { max } = this.rate;
    const now = this.#now();
    this.#instants = ages.slice(-max).map((age) => now - age);
    this.#next = this.#instants.length % max;
  }

  /** One is handed out now. */
  take(): void {
    this.#instants[this.#next] = this.#now();
    this.#next = (this.#next + 1) % this.rate.max;
  }
}

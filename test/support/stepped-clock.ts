import type { Activity, Clock, Timer } from '../../src/kit/index.ts';
import { type VirtualClock, virtualClock } from '../../src/testing/index.ts';

/** A clock whose time can be set, as that of a system: timers and the monotonic clock do not notice it. */
export class SteppedClock implements Clock {
  /** Lets time pass. */
  readonly time: VirtualClock = virtualClock({ startAt: '2026-01-01T00:00:00Z' });
  #offsetMs = 0;

  /** Sets the clock forward, or back. */
  step(byMs: number): void {
    this.#offsetMs += byMs;
  }

  now(): number {
    return this.time.now() + this.#offsetMs;
  }

  monotonic(): number {
    return this.time.now();
  }

  setTimeout(callback: () => void, delayMs: number): Timer {
    return this.time.setTimeout(callback, delayMs);
  }

  watch(activity: Activity): void {
    this.time.watch(activity);
  }
}

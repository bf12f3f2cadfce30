import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import type { Duration } from '../../src/index.ts';
import type { Clock } from '../../src/kit/index.ts';
import { patientClock } from '../support/clock.ts';

/** A clock for pictures: time passes only when the scene says so, for the sidecars and for all else in this process. */
export class SceneClock implements Clock {
  readonly #inner = patientClock({ startAt: '2026-03-02T09:58:00Z' });
  readonly isSteady = true;
  #spentMs = 0;

  now(): number {
    return this.#inner.now() + this.#spentMs;
  }

  setTimeout(...timer: Parameters<Clock['setTimeout']>): ReturnType<Clock['setTimeout']> {
    return this.#inner.setTimeout(...timer);
  }

  watch(...activity: Parameters<NonNullable<Clock['watch']>>): void {
    this.#inner.watch(...activity);
  }

  get realGracePeriodMs(): number {
    return this.#inner.realGracePeriodMs;
  }

  /** Something takes so long, and nothing else happens meanwhile. */
  spend(ms: number): void {
    this.#spentMs += ms;
  }

  advance(by: Duration): Promise<void> {
    return this.#inner.advance(by);
  }

  /** From now on, all in this process goes by this clock, and what is random is the same each time. */
  takeOver(): void {
    Date.now = () => this.now();
    let made = 0;
    crypto.randomUUID = () => `01958000-5eed-4000-8000-${String(++made).padStart(12, '0')}`;
    syncBuiltinESMExports();
    let drawn = 0;
    // Delays before retries differ at random: by these, at equal distances.
    Math.random = () => (++drawn * 0.618_033_988) % 1;
  }
}

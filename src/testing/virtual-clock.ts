import type { Activity, Clock, Timer } from '../util/clock.ts';
import { parseGoDuration } from '../util/duration.ts';
import { quiet, settledActivities } from './settled.ts';

/** Options of {@link virtualClock}. @public */
export interface VirtualClockOptions {
  /** Where it starts: an instant in RFC 3339, or milliseconds since 1970. Default `2026-01-01T00:00:00Z`. */
  readonly startAt?: string | number;
  /**
   * How long {@link VirtualClock.settled} and a stop of a sidecar wait at most, together, in milliseconds of real time,
   * for something that hangs; then they name it. Default 3,000: vitest and jest give a test up after 5 s.
   */
  readonly gracePeriodMs?: number;
}

const DEFAULT_GRACE_PERIOD_MS = 3_000;
/** What is left for a stop when a wait before it was in vain. */
const MIN_GRACE_PERIOD_MS = 100;

interface Pending {
  readonly dueAt: number;
  readonly sequence: number;
  readonly callback: () => void;
}

/**
 * Time that stands still until a test moves it. Give it to a sidecar as its `clock`: retries, time limits, expiry and
 * batches then wait for {@link VirtualClock.advance}.
 *
 * @public
 */
export class VirtualClock implements Clock {
  /** Its timers are its time. */
  readonly isSteady = true;
  readonly #timers = new Set<Pending>();
  readonly #activities = new Set<Activity>();
  readonly #gracePeriodMs: number;
  #now: number;
  #sequence = 0;
  /** How long was waited for what hangs, in real time. */
  #inVainMs = 0;

  /** Use {@link virtualClock}. @internal */
  constructor(startAt: number, gracePeriodMs: number) {
    this.#now = startAt;
    this.#gracePeriodMs = gracePeriodMs;
  }

  /** How long a stop waits at most in real time: `gracePeriodMs`, less what `settled()` has waited in vain. */
  get realGracePeriodMs(): number {
    return Math.max(Math.min(MIN_GRACE_PERIOD_MS, this.#gracePeriodMs), this.#gracePeriodMs - this.#inVainMs);
  }

  /** The instant at which it stands, in milliseconds since 1970. */
  now(): number {
    return this.#now;
  }

  /** Calls back when the clock is moved to or past that instant. */
  setTimeout(callback: () => void, delayMs: number): Timer {
    const timer = { dueAt: this.#now + Math.max(0, delayMs), sequence: ++this.#sequence, callback };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  /** Waits for this work between two timers. Sidecars register themselves. */
  watch(activity: Activity): void {
    this.#activities.add(activity);
  }

  /**
   * Moves time on, timer by timer: each fires at its own instant, and what it started has come to rest before the next
   * one fires. Work that waits for an application which does not answer is given 100 ms of real time, then the clock
   * goes on, so that its time limit can fire.
   *
   * @param by - milliseconds, or a duration such as `1m30s`
   */
  async advance(by: number | string): Promise<void> {
    const target = this.#now + durationMs(by);
    await quiet(this.#activities);
    for (let next = this.#next(target); next !== undefined; next = this.#next(target)) {
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.dueAt);
      next.callback();
      await quiet(this.#activities);
    }
    this.#now = Math.max(this.#now, target);
  }

  /** Moves time on to the next timer, if there is one; answers whether there was. */
  async advanceToNext(): Promise<boolean> {
    await quiet(this.#activities);
    const next = this.#next(Number.POSITIVE_INFINITY);
    if (next === undefined) return false;
    await this.advance(Math.max(0, next.dueAt - this.#now));
    return true;
  }

  /** How many timers wait. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /**
   * Resolves when no work of the sidecars on this clock is running.
   *
   * @throws Error after `gracePeriodMs` of real time, naming what still runs and since when on this clock.
   */
  async settled(): Promise<void> {
    const gracePeriodMs = this.realGracePeriodMs;
    try {
      await settledActivities(this.#activities, gracePeriodMs);
    } catch (error) {
      this.#inVainMs += gracePeriodMs;
      throw error;
    }
  }

  #next(until: number): Pending | undefined {
    let first: Pending | undefined;
    for (const timer of this.#timers) {
      if (timer.dueAt > until) continue;
      if (
        first === undefined ||
        timer.dueAt < first.dueAt ||
        (timer.dueAt === first.dueAt && timer.sequence < first.sequence)
      )
        first = timer;
    }
    return first;
  }
}

/** Makes a clock that a test moves. @public */
export function virtualClock(options: VirtualClockOptions = {}): VirtualClock {
  const { startAt = '2026-01-01T00:00:00Z', gracePeriodMs = DEFAULT_GRACE_PERIOD_MS } = options;
  const at = typeof startAt === 'number' ? startAt : Date.parse(startAt);
  if (!Number.isFinite(at))
    throw new TypeError(`startAt is ${JSON.stringify(startAt)}: expected an instant in RFC 3339`);
  if (!(gracePeriodMs >= 0)) throw new TypeError(`gracePeriodMs is ${gracePeriodMs}: expected milliseconds, 0 or more`);
  return new VirtualClock(at, gracePeriodMs);
}

function durationMs(by: number | string): number {
  const ms = typeof by === 'number' ? by : parseGoDuration(by);
  if (ms === undefined || !(ms >= 0))
    throw new TypeError(`${JSON.stringify(by)} is no duration: expected milliseconds or such as 1m30s`);
  return ms;
}

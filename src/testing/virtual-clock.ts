import type { Activity, Clock, Timer } from '../util/clock.ts';
import { type Duration, INSTANT_FORMS, type Instant, readInstant } from '../util/duration.ts';
import { parseDurationOption } from '../util/duration-option.ts';
import { invalidArgument } from '../util/option-fields.ts';
import { shown } from '../util/shown.ts';
import { quiet, settledActivities } from './settled.ts';

/** Options of {@link virtualClock}. @public */
export interface VirtualClockOptions {
  /** The start time. Default: `2026-01-01T00:00:00Z`. */
  readonly startAt?: Instant | undefined;
  /**
   * Max real time that {@link VirtualClock.settled} and a stop of a sidecar wait together for hanging work; then they
   * name it. Default: `3s`, because vitest and jest time out after 5 s.
   */
  readonly gracePeriod?: Duration | undefined;
}

const DEFAULT_GRACE_PERIOD_MS = 3_000;
/** Minimum left for a stop after `settled()` has timed out. */
const MIN_GRACE_PERIOD_MS = 100;

interface Pending {
  readonly dueAt: number;
  readonly sequence: number;
  readonly callback: () => void;
}

/**
 * A clock that only a test advances. Pass it to a sidecar as its `clock`: retries, timeouts, expiry and batches then
 * wait for {@link VirtualClock.advance}.
 *
 * @public
 */
export class VirtualClock implements Clock {
  /** Its time and its timers cannot diverge. */
  readonly isSteady = true;
  readonly #timers = new Set<Pending>();
  readonly #activities = new Set<Activity>();
  readonly #gracePeriodMs: number;
  #now: number;
  #sequence = 0;
  /** Real time that `settled()` has waited for hanging work. */
  #inVainMs = 0;

  /** Use {@link virtualClock}. @internal */
  constructor(startAt: number, gracePeriodMs: number) {
    this.#now = startAt;
    this.#gracePeriodMs = gracePeriodMs;
  }

  /** Max real time that a stop waits: `gracePeriod` minus the time that `settled()` has waited in vain. */
  get realGracePeriodMs(): number {
    return Math.max(Math.min(MIN_GRACE_PERIOD_MS, this.#gracePeriodMs), this.#gracePeriodMs - this.#inVainMs);
  }

  /** The current time of the clock, in milliseconds since 1970. */
  now(): number {
    return this.#now;
  }

  /** Calls back when the clock reaches that instant. */
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
   * Advances time, timer by timer: each fires at its own instant, once the work started by earlier ones has settled.
   * Work that waits for an application without a response gets 100 ms of real time; then the clock continues, so that
   * its timeout can fire.
   *
   * @param by - such as `1m30s` or `3d`
   */
  async advance(by: Duration): Promise<void> {
    const target = this.#now + parseDurationOption('advance', by, (problem) => invalidArgument(problem, 'by'));
    await quiet(this.#activities);
    for (let next = this.#next(target); next !== undefined; next = this.#next(target)) {
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.dueAt);
      next.callback();
      await quiet(this.#activities);
    }
    this.#now = Math.max(this.#now, target);
  }

  /** Advances time to the next timer, if there is one; returns whether there was. */
  async advanceToNext(): Promise<boolean> {
    await quiet(this.#activities);
    const next = this.#next(Number.POSITIVE_INFINITY);
    if (next === undefined) return false;
    await this.advance(Math.max(0, next.dueAt - this.#now));
    return true;
  }

  /** The number of pending timers. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /**
   * Resolves when no work of the sidecars on this clock is running.
   *
   * @throws Error after `gracePeriod` of real time, naming the work still running and its start time on this clock.
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

/** Makes a virtual clock. @public */
export function virtualClock(options: VirtualClockOptions = {}): VirtualClock {
  const { startAt = '2026-01-01T00:00:00Z', gracePeriod = DEFAULT_GRACE_PERIOD_MS } = options;
  const at = readInstant(startAt);
  if (at === undefined) throw invalidArgument(`startAt is ${shown(startAt)}: expected ${INSTANT_FORMS}`, 'startAt');
  const gracePeriodMs = parseDurationOption('gracePeriod', gracePeriod);
  return new VirtualClock(at, gracePeriodMs);
}

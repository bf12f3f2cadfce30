import { type CancelToken, cancelTokenOfSignal, NEVER } from './cancel-token.ts';
import { outside } from './outside.ts';

/** A running timer of a {@link Clock}. @public */
export interface Timer {
  /** Stops the timer; does nothing if it has fired. */
  cancel(): void;
}

/** A unit of running work, so that tests can wait until nothing is running. @public */
export interface Activity {
  /** Descriptions of what is running, for the message of a wait that takes too long. Empty if nothing is. */
  running(): readonly string[];
}

/**
 * The sidecar's source of time: by default the system's; in tests `virtualClock()` of `insidecar/testing`.
 *
 * @public
 */
export interface Clock {
  /** The current time in milliseconds since 1970 (UTC). */
  now(): number;
  /** Calls back after `delayMs` milliseconds (0 or less: as soon as possible). Delays may be of any length. */
  setTimeout(callback: () => void, delayMs: number): Timer;
  /**
   * Whether `now()` and the timers always agree, because this clock cannot be set. Default: false; long waits are then
   * checked against `now()` every minute.
   */
  readonly isSteady?: boolean | undefined;
  /**
   * Max real time that a stop waits, in milliseconds: for clocks that only tests advance. Default: a stop waits by this
   * clock alone.
   */
  readonly realGracePeriodMs?: number | undefined;
  /**
   * Milliseconds since any fixed moment, unaffected by setting the system's time. A lease ends when either clock says
   * so. Default: `now()` alone counts.
   */
  monotonic?(): number;
  /** Tells a virtual clock which work to wait for between two of its timers. */
  watch?(activity: Activity): void;
}

/** The longest delay that Node's timers support; longer ones fire at once. */
export const MAX_TIMEOUT_MS: number = 2 ** 31 - 1;

/** The last instant that a `Date` can hold, in milliseconds since 1970. Work that is due only then is never due. */
export const LAST_INSTANT: number = 8.64e15;

/** The system's time. @public */
export const systemClock: Clock = {
  now: () => Date.now(),
  // Not performance.now(): the first use of `performance` loads half a mebibyte of modules.
  monotonic: () => {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1_000 + nanoseconds / 1_000_000;
  },
  setTimeout: (callback, delayMs) => new SystemTimer(callback, delayMs),
};

class SystemTimer implements Timer {
  #handle: NodeJS.Timeout;

  constructor(callback: () => void, delayMs: number) {
    this.#handle = this.#start(callback, delayMs);
  }

  #start(callback: () => void, delayMs: number): NodeJS.Timeout {
    if (delayMs <= MAX_TIMEOUT_MS) return setTimeout(callback, Math.max(0, delayMs));
    const rest = delayMs - MAX_TIMEOUT_MS;
    return setTimeout(() => {
      this.#handle = this.#start(callback, rest);
    }, MAX_TIMEOUT_MS);
  }

  cancel(): void {
    clearTimeout(this.#handle);
  }
}

/**
 * A clock whose timers, and the clock itself if it is the user's, run outside of the context of the code that sets
 * them.
 */
export function clockOutside(clock: Clock): Clock {
  const setTimeout: Clock['setTimeout'] = (callback, delayMs) =>
    outside(() => clock.setTimeout(() => outside(callback), delayMs));
  if (clock === systemClock) return { ...clock, setTimeout };
  return {
    now: () => outside(() => clock.now()),
    setTimeout,
    get isSteady() {
      return clock.isSteady;
    },
    get realGracePeriodMs() {
      return clock.realGracePeriodMs;
    },
    ...(clock.monotonic && { monotonic: () => outside(() => clock.monotonic?.() ?? clock.now()) }),
    ...(clock.watch && { watch: (activity: Activity) => outside(() => clock.watch?.(activity)) }),
  };
}

/** An instant on the wall clock and on the monotonic clock. */
export interface DualInstant {
  readonly wall: number;
  readonly monotonic: number;
}

/** The present instant. Without a monotonic clock, the wall clock stands in for it. */
export function dualNow(clock: Clock): DualInstant {
  const wall = clock.now();
  return { wall, monotonic: clock.monotonic?.() ?? wall };
}

/**
 * The longer of the times that the two clocks measured. The wall clock shows too little after it was set back, the
 * monotonic clock after the machine has slept.
 */
export function elapsedMs(from: DualInstant, to: DualInstant): number {
  return Math.max(to.wall - from.wall, to.monotonic - from.monotonic);
}

/** How long ago an instant was, see {@link elapsedMs}. */
export function msSince(from: DualInstant, clock: Clock): number {
  return elapsedMs(from, dualNow(clock));
}

/** Resolves after `delayMs`; rejects with the reason of `cancel` if that is cancelled first. */
export function sleep(clock: Clock, delayMs: number, cancel: CancelToken | AbortSignal = NEVER): Promise<void> {
  return new Promise((resolve, reject) => {
    if (cancel.aborted) return reject(cancel.reason);
    const timer = clock.setTimeout(() => {
      unsubscribe();
      resolve();
    }, delayMs);
    const token = 'onAbort' in cancel ? cancel : cancelTokenOfSignal(cancel);
    const unsubscribe = token.onAbort(() => {
      timer.cancel();
      reject(token.reason);
    });
  });
}

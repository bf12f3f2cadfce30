import { type CancelToken, cancelTokenOfSignal, NEVER } from './cancel-token.ts';

/** A running timer of a {@link Clock}. @public */
export interface Timer {
  /** Stops it; does nothing when it has fired. */
  cancel(): void;
}

/** A unit of running work, so that tests can wait until nothing is running. @public */
export interface Activity {
  /** What runs now, in words, for the message of a wait that takes too long. Empty when nothing runs. */
  running(): readonly string[];
}

/**
 * Where the sidecar takes time from. The system's by default; `virtualClock()` of `insidecar/testing` in tests.
 *
 * @public
 */
export interface Clock {
  /** The present instant, in milliseconds since 1970 (UTC). */
  now(): number;
  /** Calls back after `delayMs` milliseconds (0 or less: as soon as possible). Any delay, however long. */
  setTimeout(callback: () => void, delayMs: number): Timer;
  /**
   * `now()` and the timers never part, as nobody can set this clock. Default: they can, and long waits are checked
   * against `now()` every minute.
   */
  readonly isSteady?: boolean;
  /**
   * How long a stop waits at most in real time, in milliseconds: for a clock that stands still unless a test moves it.
   * Default: a stop waits by this clock alone.
   */
  readonly realGracePeriodMs?: number;
  /** Tells a virtual clock whose work to wait for between two of its timers. */
  watch?(activity: Activity): void;
}

/** The longest delay that Node's timers keep; longer ones fire at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** The system's time. @public */
export const systemClock: Clock = {
  now: () => Date.now(),
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

/** Resolves after `delayMs`; rejects with the reason of `cancel` when that is cancelled first. */
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

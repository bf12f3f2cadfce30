/** Exponential backoff. All delays in milliseconds. */
export interface Backoff {
  readonly initialDelayMs: number;
  readonly maxDelayMs: number;
  readonly factor: number;
  /** The random share of the delay, 0 to 1: 0.2 gives 80 to 100 % of it. */
  readonly jitter: number;
}

/** Higher powers exceed every limit. */
const MAX_POWER = 1_000;
/** About a hundred years: the end of a delay must be a valid date. */
const MAX_DELAY_MS = 100 * 365.25 * 24 * 3_600_000;

/** The delay before retry number `retry` (1 for the first), with jitter drawn from `random` (0 to 1). */
export function backoffDelayMs(backoff: Backoff, retry: number, random: () => number): number {
  // Finite, so that no delay stays none however often it grows.
  const growth = Math.min(backoff.factor ** Math.min(retry - 1, MAX_POWER), Number.MAX_VALUE);
  const full = Math.min(backoff.initialDelayMs * growth, backoff.maxDelayMs, MAX_DELAY_MS);
  return backoff.jitter === 0 ? full : full * (1 - backoff.jitter * random());
}

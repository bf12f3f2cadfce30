/** Exponential backoff. All delays in milliseconds. */
export interface Backoff {
  readonly initialDelayMs: number;
  readonly maxDelayMs: number;
  readonly factor: number;
  /** The random share of the delay, 0 to 1: 0.2 gives 80 to 100 % of it. */
  readonly jitter: number;
}

/** The delay before retry number `retry` (1 for the first), with jitter drawn from `random` (0 to 1). */
export function backoffDelayMs(backoff: Backoff, retry: number, random: () => number): number {
  const full = Math.min(backoff.maxDelayMs, backoff.initialDelayMs * backoff.factor ** Math.min(retry - 1, 64));
  return full * (1 - backoff.jitter * random());
}

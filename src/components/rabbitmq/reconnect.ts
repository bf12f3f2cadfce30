import type { Backoff } from '../../util/backoff.ts';

/** Between attempts to connect. */
export const RECONNECT: Backoff = { initialDelayMs: 50, maxDelayMs: 2_000, factor: 2, jitter: 0.5 };

/** What lasts for less counts as a failed attempt: a server may end at once whatever is opened. */
export const SHORT_LIFE_MS = 1_000;

import type { Backoff } from '../../util/backoff.ts';

/** Between attempts to connect. */
export const RECONNECT: Backoff = { initialDelayMs: 50, maxDelayMs: 2_000, factor: 2, jitter: 0.5 };

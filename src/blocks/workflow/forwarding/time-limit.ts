import { withTimeLimit } from '../../../util/time-limit.ts';

/** How long to wait for the response of another host. */
const TIME_LIMIT_MS = 2_000;

/** Awaits a response of another host; rejects after the time limit. */
export function inTime<T>(work: Promise<T>): Promise<T> {
  return withTimeLimit(work, TIME_LIMIT_MS, () => new Error(`the host has not answered within ${TIME_LIMIT_MS} ms`));
}

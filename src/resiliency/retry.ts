import { type Backoff, backoffDelayMs } from '../util/backoff.ts';
import type { StatusRange } from './status-ranges.ts';

/** A validated retry policy with defaults applied. */
export interface RetrySettings {
  readonly backoff: Backoff;
  /** Retries after the first attempt; infinity for no limit. */
  readonly maxRetries: number;
  /** HTTP statuses to retry; `undefined` for all failures. */
  readonly statuses: readonly StatusRange[] | undefined;
}

/** Decides whether and when to retry. */
export class Retry {
  readonly maxRetries: number;
  readonly #backoff: Backoff;
  readonly #statuses: readonly StatusRange[] | undefined;

  constructor({ backoff, maxRetries, statuses }: RetrySettings) {
    this.maxRetries = maxRetries;
    this.#backoff = backoff;
    this.#statuses = statuses;
  }

  /** Whether to retry a failure with this HTTP status. */
  includes(status: number): boolean {
    return this.#statuses?.some(({ from, to }) => status >= from && status <= to) ?? true;
  }

  /** The delay before retry number `retry` (1 for the first). */
  delayMs(retry: number, random: () => number): number {
    return backoffDelayMs(this.#backoff, retry, random);
  }
}

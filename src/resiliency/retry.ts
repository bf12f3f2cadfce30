import { type Backoff, backoffDelayMs } from '../util/backoff.ts';
import type { StatusRange } from './status-ranges.ts';

/** A retry policy, checked and with its defaults. */
export interface RetrySettings {
  readonly backoff: Backoff;
  /** Retries after the first attempt; infinity for no limit. */
  readonly maxRetries: number;
  /** Which HTTP statuses are retried; `undefined` for all that mean failure. */
  readonly statuses: readonly StatusRange[] | undefined;
}

/** When and how often something is tried again. */
export class Retry {
  readonly maxRetries: number;
  readonly #backoff: Backoff;
  readonly #statuses: readonly StatusRange[] | undefined;

  constructor({ backoff, maxRetries, statuses }: RetrySettings) {
    this.maxRetries = maxRetries;
    this.#backoff = backoff;
    this.#statuses = statuses;
  }

  /** Whether a failure with this HTTP status is tried again. */
  includes(status: number): boolean {
    return this.#statuses?.some(({ from, to }) => status >= from && status <= to) ?? true;
  }

  /** The delay before retry number `retry` (1 for the first). */
  delayMs(retry: number, random: () => number): number {
    return backoffDelayMs(this.#backoff, retry, random);
  }
}

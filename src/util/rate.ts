import type { Duration } from './duration.ts';

/** How many deliveries or runs may begin in a time. @public */
export interface Rate {
  /** The most of them, a whole number from 1 to 1,000,000. */
  readonly max: number;
  /** In any span of this time, of 1 ms or more. */
  readonly per: Duration;
}

/** Each of the last ones is remembered. */
export const MAX_RATE = 1_000_000;

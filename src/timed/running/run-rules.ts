import type { Clock } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import type { Work } from '../../util/work.ts';

/** How jobs are run. */
export interface RunRules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly work: Work;
  /** A number from 0 to 1, for jitter. */
  readonly random: () => number;
  /** Max concurrent runs. */
  readonly concurrency: number;
  /** Whether to run every missed tick, instead of once for all of them. */
  readonly everyTick: boolean;
  /** Whether no attempt begins after the expiry, also none of a run that was due before. */
  readonly endsAtExpiry: boolean;
  /** After how many interruptions in a row by the end of the process an attempt counts as failed; 0 for never. */
  readonly maxCrashes: number;
  /** How long a job that runs once is kept after it has failed for good, in milliseconds; 0 for not at all. */
  readonly keepFailedMs: number;
}

import type { AppMonitor } from '../../../app/app-monitor.ts';
import type { AppCall, AppReply } from '../../../app/channel.ts';
import type { BlockDeps } from '../../block-deps.ts';

/** The part of the application's channel that jobs use. */
export interface JobApp {
  /** Whether the application is on a port, not in this process. */
  readonly isRemote: boolean;
  readonly monitor: AppMonitor;
  call(call: AppCall): Promise<AppReply>;
}

/** The dependencies of jobs. */
export interface JobsDeps extends BlockDeps {
  readonly app: JobApp | undefined;
  /** The application's time limit for a run, in milliseconds; 0 for no limit. */
  readonly timeLimitMs: number;
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

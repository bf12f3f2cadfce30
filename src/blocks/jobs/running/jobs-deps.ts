import type { AppMonitor } from '../../../app/app-monitor.ts';
import type { AppCall, AppReply } from '../../../app/channel.ts';
import type { BlockDeps } from '../../block-deps.ts';

/** The part of the application's channel that jobs use. */
export interface JobApp {
  /** It is on a port, not in this process. */
  readonly isRemote: boolean;
  readonly monitor: AppMonitor;
  call(call: AppCall): Promise<AppReply>;
}

/** The dependencies of jobs. */
export interface JobsDeps extends BlockDeps {
  readonly app: JobApp | undefined;
  /** How long the application may take for a run; 0 for no limit. */
  readonly timeLimitMs: number;
  /** The most runs at a time. */
  readonly concurrency: number;
  /** Run every missed tick, instead of one for all of them. */
  readonly everyTick: boolean;
}

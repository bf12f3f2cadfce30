import type { AppMonitor } from '../../../app/app-monitor.ts';
import type { AppCall, AppReply } from '../../../app/channel.ts';
import type { BlockHost } from '../../block-host.ts';

/** The application, as far as jobs need it. */
export interface JobApp {
  /** Whether it is on a port; else it is in this process. */
  readonly isRemote: boolean;
  readonly monitor: AppMonitor;
  call(call: AppCall): Promise<AppReply>;
}

/** What jobs need of their surroundings. */
export interface JobsHost extends BlockHost {
  readonly app: JobApp | undefined;
  /** The most runs at a time. */
  readonly concurrency: number;
  /** Every missed tick is run, not one for all of them. */
  readonly everyTick: boolean;
}

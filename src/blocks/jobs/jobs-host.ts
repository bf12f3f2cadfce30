import type { AppCall, AppReply } from '../../app/channel.ts';
import type { SidecarEventEmitter } from '../../events.ts';
import type { Clock } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import type { Work } from '../../util/work.ts';
import type { Wire } from '../../wire.ts';

/** The application, as far as jobs need it. */
export interface JobApp {
  /** Whether it is on a port; else it is in this process. */
  readonly isRemote: boolean;
  call(call: AppCall): Promise<AppReply>;
  /** Whether it takes requests now. */
  isReachable(): Promise<boolean>;
}

/** What jobs need of their surroundings. */
export interface JobsHost {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: SidecarEventEmitter;
  readonly work: Work;
  readonly wire: Wire;
  /** A number from 0 to 1, for jitter. */
  readonly random: () => number;
  readonly newId: () => string;
  readonly app: JobApp | undefined;
  /** How long a run may take. */
  readonly timeLimitMs: number;
  /** How long a stop waits for runs in flight. */
  readonly patienceMs: number;
  /** The most runs at a time. */
  readonly concurrency: number;
  /** Every missed tick is run, not one for all of them. */
  readonly everyTick: boolean;
}

import type { SidecarEventEmitter } from '../../../events.ts';
import type { Clock } from '../../../util/clock.ts';
import type { Logger } from '../../../util/logger.ts';
import type { Work } from '../../../util/work.ts';

/** How long instances that are over are kept, in milliseconds. */
export interface Retention {
  readonly completedMs: number | undefined;
  readonly failedMs: number | undefined;
  readonly terminatedMs: number | undefined;
}

/** What workflows need of their surroundings. */
export interface WorkflowsHost {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: SidecarEventEmitter;
  /** Notes what runs, see `Work`. */
  readonly work: Pick<Work, 'begin'>;
  readonly newId: () => string;
  /** A number from 0 to 1, for jitter. */
  readonly random: () => number;
  /** How long a stop waits for what is in flight. */
  readonly patienceMs: number;
  readonly maxConcurrentWorkflows: number;
  readonly maxConcurrentActivities: number;
  /** How many instances that wait for something stay in memory. */
  readonly maxIdleInstances: number;
  /** How long code that is not registered is waited for; without end when it is not given. */
  readonly missingCodeTimeoutMs: number | undefined;
  readonly retention: Retention;
}

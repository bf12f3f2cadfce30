import type { SidecarEventEmitter } from '../../../events.ts';
import type { Clock } from '../../../util/clock.ts';
import type { Logger } from '../../../util/logger.ts';
import type { Work } from '../../../util/work.ts';
import type { WorkflowsSettings } from '../options.ts';

/** What workflows need of their surroundings. */
export interface WorkflowsHost extends WorkflowsSettings {
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
}

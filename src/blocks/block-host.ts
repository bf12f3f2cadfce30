import type { SidecarEventEmitter } from '../events.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import type { Work } from '../util/work.ts';
import type { Wire } from '../wire.ts';

/** What every block that calls the application needs of its surroundings. */
export interface BlockHost {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: SidecarEventEmitter;
  readonly work: Work;
  readonly wire: Wire;
  /** A number from 0 to 1, for jitter. */
  readonly random: () => number;
  readonly newId: () => string;
  /** How long the application may take for a message or a run; 0 for no limit. */
  readonly timeLimitMs: number;
  /** How long a stop waits for what is in flight. */
  readonly patienceMs: number;
}

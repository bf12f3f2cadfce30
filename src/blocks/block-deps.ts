import type { SidecarEventEmitter } from '../events.ts';
import type { Probe } from '../probe.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import type { Apart } from '../util/outside.ts';
import type { Work } from '../util/work.ts';
import type { Wire } from '../wire.ts';

/** The dependencies of blocks on the sidecar that they are made for. */
export interface BlockDeps {
  readonly appId: string;
  readonly namespace: string;
  readonly wire: Wire;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: SidecarEventEmitter;
  readonly work: Work;
  /** Observes the sidecar; `undefined` without an observer. */
  readonly probe: Probe | undefined;
  /** How code of the user's is called. */
  readonly apart: Apart;
  /** A number from 0 to 1, for jitter. */
  readonly random: () => number;
  readonly newId: () => string;
  /** How long a stop waits for work in flight. */
  readonly gracePeriodMs: number;
  /** Throws when no calls are taken. */
  readonly admit: () => void;
}

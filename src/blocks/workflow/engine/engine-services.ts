import type { Precondition } from '../../../state/store.ts';
import type { InstanceStore } from '../storage/instance-store.ts';
import type { ActivityRunner } from './activity-runner.ts';
import type { AttemptOffers } from './attempt-offers.ts';
import type { InFlightCounter } from './in-flight-counter.ts';
import type { TurnQueue } from './turn-queue.ts';
import type { WorkflowsDeps } from './workflows-deps.ts';

/** The parts of the engine that instances use. */
export interface EngineServices {
  readonly deps: WorkflowsDeps;
  readonly store: InstanceStore;
  readonly turns: TurnQueue;
  readonly activities: ActivityRunner;
  readonly offers: AttemptOffers;
  /** Counts every turn and activity. */
  readonly inFlight: InFlightCounter;
  readonly isStopping: boolean;
  /** The current time, in whole milliseconds. */
  readonly now: number;
  /** The ownership precondition of an instance's commits in a cluster; throws when this host does not own it. */
  fence(id: string): Precondition | undefined;
  /** Whether this host owns an instance. */
  owns(id: string): boolean;
  /** Whether an instance may have stored messages that it has not been given. */
  isBehind(id: string): boolean;
  /** Whether an instance is in memory and unfinished. */
  isActive(id: string): boolean;
}

import type { Precondition } from '../../../state/store.ts';
import type { WorkflowStatus } from '../model/instance.ts';
import type { Core, Retry } from '../replay/core.ts';
import type { InstanceStore } from '../storage/instance-store.ts';
import type { InstanceRecord } from '../storage/record.ts';
import type { TurnPlan, TurnResult } from '../storage/turn-plan.ts';
import type { ActivityRunner } from './activity-runner.ts';
import type { InFlightCounter } from './in-flight-counter.ts';
import type { LiveInstance } from './live-instance.ts';
import type { TurnQueue } from './turn-queue.ts';
import type { WorkflowsDeps } from './workflows-deps.ts';

/** A turn that is in the store. */
export interface Followed {
  readonly plan: TurnPlan;
  readonly version: number;
  readonly end: TurnResult;
  readonly before: InstanceRecord;
  readonly retries: readonly Retry[];
}

/** Where instances live: what they need of the engine. */
export interface EngineServices {
  readonly host: WorkflowsDeps;
  readonly store: InstanceStore;
  readonly turns: TurnQueue;
  readonly activities: ActivityRunner;
  /** To be told of each turn and activity. */
  readonly inFlight: InFlightCounter;
  readonly isStopping: boolean;
  /** The present instant, in whole milliseconds. */
  readonly now: number;
  /** What a commit for an instance requires when there are other hosts; throws when it is not this host's. */
  fence(id: string): Precondition | undefined;
  /** Whether this host works on an instance. */
  owns(id: string): boolean;
  /** Whether an instance is under way in memory. */
  isActive(id: string): boolean;
  retentionOf(status: WorkflowStatus): number | undefined;
  /** A new run for an instance. */
  coreOf(record: InstanceRecord, instance: LiveInstance): Core;
  /** A turn is written: what follows from it for others. */
  follow(instance: LiveInstance, followed: Followed): void;
  /** Nothing is to be done for it now. */
  resting(instance: LiveInstance): void;
  /** It is over. */
  ended(instance: LiveInstance): void;
  /** Its turn could not be written. */
  broken(instance: LiveInstance, error: unknown): void;
  /** A message is in nobody's hands any more. */
  released(inboxKey: string): void;
}

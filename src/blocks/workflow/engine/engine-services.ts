import type { Precondition } from '../../../state/store.ts';
import type { Core, FailedAttempt } from '../replay/core.ts';
import type { EventCount } from '../replay/events-at-end.ts';
import type { InstanceStore } from '../storage/instance-store.ts';
import type { InstanceRecord } from '../storage/record.ts';
import type { TurnPlan, TurnResult } from '../storage/turn-plan.ts';
import type { ActivityRunner } from './activity-runner.ts';
import type { InFlightCounter } from './in-flight-counter.ts';
import type { LiveInstance } from './live-instance.ts';
import type { TurnQueue } from './turn-queue.ts';
import type { WorkflowsDeps } from './workflows-deps.ts';

/** A committed turn. */
export interface Followed {
  readonly plan: TurnPlan;
  readonly version: number;
  readonly end: TurnResult;
  readonly before: InstanceRecord;
  readonly failures: readonly FailedAttempt[];
  /** Events that end with the run, though no code has got them. */
  readonly lost: readonly EventCount[];
}

/** The parts of the engine that instances use. */
export interface EngineServices {
  readonly host: WorkflowsDeps;
  readonly store: InstanceStore;
  readonly turns: TurnQueue;
  readonly activities: ActivityRunner;
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
  /** Creates a new run of an instance. */
  coreOf(record: InstanceRecord, instance: LiveInstance): Core;
  /** A turn was committed: emits its events, and passes on its children and messages. */
  follow(instance: LiveInstance, followed: Followed): void;
  /** The instance has no work now. */
  resting(instance: LiveInstance): void;
  /** The instance finished, and none of its activities run. */
  ended(instance: LiveInstance): void;
  /** The instance's turn failed. */
  broken(instance: LiveInstance, error: unknown): void;
  /** A stored message is no longer being delivered. */
  released(inboxKey: string): void;
}

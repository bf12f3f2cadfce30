import type { AttemptReport } from '../replay/core.ts';
import type { EventCount } from '../replay/events-at-end.ts';
import type { InstanceRecord } from '../storage/record.ts';
import type { TurnPlan, TurnResult } from '../storage/turn-plan.ts';
import type { LiveInstance } from './live-instance.ts';

/** A committed turn. */
export interface CommittedTurn {
  readonly plan: TurnPlan;
  readonly version: number;
  readonly end: TurnResult;
  readonly before: InstanceRecord;
  readonly failures: readonly AttemptReport[];
  /** Events that end with the run, though no code has got them. */
  readonly lost: readonly EventCount[];
}

/** Called by the instances in memory. */
export interface InstanceListener {
  /** A turn was committed: emits its events, and passes on its children and messages. */
  onTurn(instance: LiveInstance, followed: CommittedTurn): void;
  /** The instance's turn failed. */
  onTurnFailure(instance: LiveInstance, error: unknown): void;
  /** The instance has no work now. */
  onRest(instance: LiveInstance): void;
  /** The instance finished, and none of its activities run. */
  onEnd(instance: LiveInstance): void;
  /** A stored message is no longer being delivered. */
  onRelease(inboxKey: string): void;
}

import type { WorkflowFailure } from './failure.ts';
import type { Payload } from './payload.ts';

/**
 * Where an instance stands. `PENDING` has not begun, because its time has not come or nobody has its code;
 * `CONTINUED_AS_NEW` and `CANCELED` are in the API document and never reported.
 *
 * @public
 */
export type WorkflowStatus = 'PENDING' | 'RUNNING' | 'SUSPENDED' | 'COMPLETED' | 'FAILED' | 'TERMINATED';

/** The statuses of instances that are over. */
export function isFinished(status: WorkflowStatus): boolean {
  return status === 'COMPLETED' || status === 'FAILED' || status === 'TERMINATED';
}

/** Code that an instance needs and that nobody has registered. @public */
export interface MissingCode {
  /** What kind of code. */
  readonly kind: 'workflow' | 'activity';
  /** The name under which it is to be registered. */
  readonly name: string;
}

/** An instance, seen from outside. @public */
export interface WorkflowState<Output = unknown, Input = unknown> {
  /** Its ID. */
  readonly instanceId: string;
  /** The workflow that it runs. */
  readonly name: string;
  /** Where it stands. */
  readonly status: WorkflowStatus;
  /** When it was started, in milliseconds since 1970. */
  readonly createdAt: number;
  /** Its last turn, in milliseconds since 1970. */
  readonly lastUpdatedAt: number;
  /** What it was started with (after `continueAsNew`: with what it began anew); absent for `undefined`. */
  readonly input?: Input;
  /** What it returned; only of `COMPLETED`, and of `TERMINATED` when an output was given. */
  readonly output?: Output;
  /** Why it failed; only of `FAILED`. */
  readonly failure?: WorkflowFailure;
  /** What the workflow tells about itself. */
  readonly customStatus?: string;
  /** Code that it waits for, as far as this process is the one that runs it; absent when it waits for none. */
  readonly missingCode?: readonly MissingCode[];
  /** The instance that started it as a child. */
  readonly parentId?: string;
}

/** An instance as it is kept: payloads are text. */
export interface InstanceView extends Omit<WorkflowState, 'input' | 'output'> {
  readonly input: Payload;
  readonly output: Payload;
}

/** One event of an instance's history. @public */
export interface WorkflowHistoryEvent {
  /** What happened. */
  readonly type:
    | 'started'
    | 'activityScheduled'
    | 'activityCompleted'
    | 'activityFailed'
    | 'timerCreated'
    | 'timerFired'
    | 'childStarted'
    | 'childCompleted'
    | 'childFailed'
    | 'eventRaised'
    | 'patched'
    | 'suspended'
    | 'resumed'
    | 'terminated';
  /** The turn in which it was recorded, in milliseconds since 1970. */
  readonly at: number;
  /** The number of the action that it is about. */
  readonly sequence?: number;
  /** The name of the activity, workflow, event or patch. */
  readonly name?: string;
  /** Which attempt of a retry policy, from 1. */
  readonly attempt?: number;
  /** The instance ID of a child. */
  readonly instanceId?: string;
  /** When a timer is due, in milliseconds since 1970. */
  readonly dueAt?: number;
  /** The input, result or event, when there is one. */
  readonly data?: unknown;
  /** Why it failed. */
  readonly failure?: WorkflowFailure;
}

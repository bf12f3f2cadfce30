import type { WorkflowFailure } from './failure.ts';
import type { Payload } from './payload.ts';

/**
 * The status of an instance. `PENDING` has not begun, because its start time has not come or its code is not
 * registered. `CANCELED` has ended because it was canceled; one that cleans up after a cancellation is still `RUNNING`.
 * `CONTINUED_AS_NEW` is in the API document but never reported.
 *
 * @public
 */
export type WorkflowStatus = 'PENDING' | 'RUNNING' | 'SUSPENDED' | 'COMPLETED' | 'FAILED' | 'TERMINATED' | 'CANCELED';

/** All statuses that are reported. */
export const STATUSES: readonly WorkflowStatus[] = [
  ...(['PENDING', 'RUNNING', 'SUSPENDED', 'COMPLETED', 'FAILED', 'TERMINATED', 'CANCELED'] as const),
];

/** Whether an instance with this status has finished. */
export function isFinished(status: WorkflowStatus): boolean {
  return status === 'COMPLETED' || status === 'FAILED' || status === 'TERMINATED' || status === 'CANCELED';
}

/** Code that an instance needs but that is not registered. @public */
export interface WorkflowMissingCode {
  /** The kind of code; `patch` if its workflow is registered, but with code that is older than the patch. */
  readonly kind: 'workflow' | 'activity' | 'patch';
  /** The name under which to register it, or of the patch that the code has to ask for. */
  readonly name: string;
}

/** The state of an instance. @public */
export interface WorkflowState<Input = unknown, Output = unknown> {
  /** Its ID. */
  readonly instanceId: string;
  /** The workflow that it runs. */
  readonly name: string;
  /** Its status. */
  readonly status: WorkflowStatus;
  /** When it was started, in milliseconds since 1970. */
  readonly createdAt: number;
  /** The time of its last turn, in milliseconds since 1970. */
  readonly lastUpdatedAt: number;
  /** The input of its start, or of its last `continueAsNew`; absent for `undefined`. */
  readonly input?: Input;
  /** The output, for `COMPLETED`; also for `TERMINATED` if one was given. */
  readonly output?: Output;
  /** Why it failed, for `FAILED`. */
  readonly failure?: WorkflowFailure;
  /** The status text that the workflow has set. */
  readonly customStatus?: string;
  /**
   * Code that it waits for; absent if it waits for none. The process that the instance belongs to knows it at once, all
   * others of the application after about a second.
   */
  readonly missingCode?: readonly WorkflowMissingCode[];
  /**
   * The names of the events that it waits for, at most 100. Known to the process that runs the instance, while it is in
   * memory; absent if it waits for none.
   */
  readonly awaitedEvents?: readonly string[];
  /** The names of the events that it has got and not waited for so far; like `awaitedEvents`. */
  readonly unreadEvents?: readonly string[];
  /** The instance that started it as a child. */
  readonly parentId?: string;
  /** The instance that it runs again: see {@link Workflows.rerun}. */
  readonly rerunOf?: string;
}

/** The reason why an instance waits, as far as this process knows it. */
export type InstanceWaits = Pick<WorkflowState, 'missingCode' | 'awaitedEvents' | 'unreadEvents'>;

/** An instance with its payloads as text. */
export interface InstanceView extends Omit<WorkflowState, 'input' | 'output'> {
  readonly input: Payload;
  readonly output: Payload;
}

/** One event of an instance's history. @public */
export interface WorkflowHistoryEvent {
  /** The type of the event. */
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
    | 'cancelRequested'
    | 'terminated';
  /** The time of the turn that recorded it, in milliseconds since 1970. */
  readonly at: number;
  /** The number of the action that it belongs to. */
  readonly sequence?: number;
  /** The name of the activity, workflow, event or patch. */
  readonly name?: string;
  /** The attempt under a retry policy, from 1. */
  readonly attempt?: number;
  /** The number of the call of an activity: `sequence` of its first attempt. */
  readonly activityId?: number;
  /**
   * Of a result: the milliseconds between the turn that made the action and the turn that recorded the result. So it
   * includes the time that the action waited to begin.
   */
  readonly durationMs?: number;
  /** The instance ID of a child. */
  readonly instanceId?: string;
  /** When a timer is due, in milliseconds since 1970. */
  readonly dueAt?: number;
  /** The input, result or event data, if any. */
  readonly data?: unknown;
  /** Why it failed. */
  readonly failure?: WorkflowFailure;
}

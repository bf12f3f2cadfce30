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

/** An instance, whatever its status. @public */
export interface WorkflowInstanceInfo<Input = unknown, Status = unknown> {
  /** Its ID. */
  readonly instanceId: string;
  /** The workflow that it runs. */
  readonly name: string;
  /** When it was started, in milliseconds since 1970. */
  readonly createdAt: number;
  /** The time of its last turn, in milliseconds since 1970. */
  readonly lastUpdatedAt: number;
  /** The input of its start, or of its last `continueAsNew`; absent for `undefined`. */
  readonly input?: Input;
  /** What the workflow has set with `setCustomStatus`. */
  readonly customStatus?: Status;
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

/**
 * The state of an instance. Its `status` tells what else there is: one that is `COMPLETED` has its `output`, one that is
 * `FAILED` has its `failure`, and one that is `TERMINATED` has the `output` that it was given, if any.
 *
 * @public
 */
export type WorkflowState<Input = unknown, Output = unknown, Status = unknown> = WorkflowInstanceInfo<Input, Status> &
  (
    | {
        readonly status: 'PENDING' | 'RUNNING' | 'SUSPENDED' | 'CANCELED';
        readonly output?: undefined;
        readonly failure?: undefined;
      }
    | { readonly status: 'COMPLETED'; readonly output: Output; readonly failure?: undefined }
    | { readonly status: 'FAILED'; readonly failure: WorkflowFailure; readonly output?: undefined }
    | { readonly status: 'TERMINATED'; readonly output?: unknown; readonly failure?: undefined }
  );

/** The reason why an instance waits, as far as this process knows it. */
export type InstanceWaits = Pick<WorkflowInstanceInfo, 'missingCode' | 'awaitedEvents' | 'unreadEvents'>;

/** An instance with its payloads as text. */
export interface InstanceView extends Omit<WorkflowInstanceInfo, 'input' | 'customStatus'> {
  readonly status: WorkflowStatus;
  readonly input: Payload;
  readonly output: Payload;
  readonly failure?: WorkflowFailure | undefined;
  readonly customStatus?: string;
}

/** A result in a history. @public */
export interface WorkflowHistoryResult {
  /** The number of the action that it belongs to. */
  readonly sequence: number;
  /**
   * The milliseconds between the turn that made the action and the turn that recorded the result. So it includes the
   * time that the action waited to begin.
   */
  readonly durationMs?: number;
}

/**
 * One event of an instance's history; its `type` tells what else there is. `at` is the time of the turn that recorded it,
 * `dueAt` when a timer is due, both in milliseconds since 1970. `sequence` is the number of an action, and `activityId`
 * that of a call of an activity: `sequence` of its first attempt. `attempt` counts from 1. `data` are the input, result
 * or data of an event, if any.
 *
 * @public
 */
export type WorkflowHistoryEvent = { readonly at: number } & (
  | { readonly type: 'started' | 'terminated'; readonly data?: unknown }
  | {
      readonly type: 'activityScheduled';
      readonly sequence: number;
      readonly activityId: number;
      readonly name: string;
      readonly attempt: number;
      readonly data?: unknown;
    }
  | ({
      readonly type: 'activityCompleted';
      readonly activityId: number;
      readonly data?: unknown;
    } & WorkflowHistoryResult)
  | ({
      readonly type: 'activityFailed';
      readonly activityId: number;
      readonly failure: WorkflowFailure;
    } & WorkflowHistoryResult)
  | { readonly type: 'timerCreated'; readonly sequence: number; readonly dueAt: number }
  | ({ readonly type: 'timerFired' } & WorkflowHistoryResult)
  | {
      readonly type: 'childStarted';
      readonly sequence: number;
      readonly name: string;
      readonly instanceId: string;
      readonly data?: unknown;
    }
  | ({ readonly type: 'childCompleted'; readonly data?: unknown } & WorkflowHistoryResult)
  | ({ readonly type: 'childFailed'; readonly failure: WorkflowFailure } & WorkflowHistoryResult)
  | { readonly type: 'eventRaised'; readonly name: string; readonly data?: unknown }
  | { readonly type: 'patched'; readonly name: string }
  | { readonly type: 'suspended' | 'resumed' | 'cancelRequested' }
);

/** An event of a history with its data as text, and with what events of its type have. */
export interface HistoryEventText {
  readonly type: WorkflowHistoryEvent['type'];
  readonly at: number;
  readonly sequence?: number;
  readonly name?: string;
  readonly attempt?: number;
  readonly activityId?: number;
  readonly durationMs?: number;
  readonly instanceId?: string;
  readonly dueAt?: number;
  readonly data: Payload;
  readonly failure?: WorkflowFailure;
}

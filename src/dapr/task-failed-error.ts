import {
  CANCELED,
  CANCELED_TASK,
  TaskFailedError as CoreTaskFailedError,
  isTimeout,
  type WorkflowFailure,
} from '../blocks/workflow/model/failure.ts';
import type { Task as CoreTask } from '../blocks/workflow/replay/execution.ts';

/** The details of a failure. @public */
export interface FailureDetails {
  /** The message of the error. */
  readonly message: string;
  /** The class name of the thrown error. */
  readonly errorType: string;
  /** The stack trace, if known. */
  readonly stackTrace?: string | undefined;
}

/** An activity or a child workflow has failed for good. @public */
export class TaskFailedError extends CoreTaskFailedError {
  /** The details of the failure. */
  get details(): FailureDetails {
    return this.failure;
  }
}

/** An event did not arrive in time. @public */
export class EventTimeoutError extends TaskFailedError {
  /** `EventTimeoutError`. */
  override readonly name: string = 'EventTimeoutError';
}

/** The workflow was canceled, which Dapr's SDK does not know. If the workflow does not handle it, it ends as canceled. */
class CanceledTaskError extends TaskFailedError {
  override readonly name: string = CANCELED;
}

const UNKNOWN: WorkflowFailure = { errorType: 'Error', message: 'the reason is not known' };

/** The error of a failed task. */
export function taskError({ what, sequence, failure = UNKNOWN }: CoreTask): TaskFailedError {
  if (failure === CANCELED_TASK) return new CanceledTaskError(what, failure);
  return isTimeout(sequence, failure) ? new EventTimeoutError(what, failure) : new TaskFailedError(what, failure);
}

import {
  TaskFailedError as CoreTaskFailedError,
  TIMED_OUT,
  type WorkflowFailure,
} from '../blocks/workflow/model/failure.ts';
import type { Task as CoreTask } from '../blocks/workflow/replay/execution.ts';

/** What is known of a failure. @public */
export interface FailureDetails {
  /** What the code that failed said. */
  readonly message: string;
  /** The name of the class of what was thrown. */
  readonly errorType: string;
  /** Where it was thrown, when that is known. */
  readonly stackTrace?: string;
}

/** An activity or a child workflow has failed for good. @public */
export class TaskFailedError extends CoreTaskFailedError {
  /** What is known of the failure. */
  get details(): FailureDetails {
    return this.failure;
  }
}

/** An event did not come in time. @public */
export class EventTimeoutError extends TaskFailedError {
  /** `EventTimeoutError`. */
  override readonly name: string = 'EventTimeoutError';
}

const UNKNOWN: WorkflowFailure = { errorType: 'Error', message: 'the reason is not known' };

/** The error of a task that has failed. */
export function taskError({ what, failure = UNKNOWN }: CoreTask): TaskFailedError {
  return failure.errorType === TIMED_OUT ? new EventTimeoutError(what, failure) : new TaskFailedError(what, failure);
}

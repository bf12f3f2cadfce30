import { isError, messageOf, shortened } from '../../../errors.ts';

/** Why a workflow, an activity or a child workflow failed. @public */
export interface WorkflowFailure {
  /** The name of the error's class, such as `TypeError`; names of the engine's own errors end in `Error` as well. */
  readonly errorType: string;
  /** The error's message. */
  readonly message: string;
  /** The stack trace, if known, followed by those of the causes. */
  readonly stackTrace?: string;
}

/** Maximum lengths of a failure's texts, in characters: they are stored in the history. */
const MAX_MESSAGE_LENGTH = 16 * 1024;
const MAX_STACK_LENGTH = 16 * 1024;
const MAX_TYPE_LENGTH = 256;
/** The maximum number of causes included. */
const MAX_CAUSES = 5;

/** Makes a failure from a thrown value of any type. Never throws. */
export function failureOf(error: unknown): WorkflowFailure {
  try {
    if (isError(error)) return failureOfError(error);
    return { errorType: 'Error', message: shortened(messageOf(error), MAX_MESSAGE_LENGTH) };
  } catch {
    return { errorType: 'Error', message: 'a value that cannot be inspected was thrown' };
  }
}

function failureOfError(error: Error): WorkflowFailure {
  const stack = stackOf(error, MAX_CAUSES);
  return {
    errorType: shortened(typeOf(error), MAX_TYPE_LENGTH),
    message: shortened(messageOf(error), MAX_MESSAGE_LENGTH),
    ...(stack === undefined ? undefined : { stackTrace: shortened(stack, MAX_STACK_LENGTH) }),
  };
}

/** The name of the error's class; if the class has none of its own, the error's name. */
function typeOf(error: Error): string {
  const { name, constructor: type }: { readonly name: unknown; readonly constructor?: { readonly name?: unknown } } =
    error;
  const given = typeof name === 'string' && name !== '' ? name : 'Error';
  const own = type?.name;
  if (typeof own !== 'string' || own === '' || own === 'Error' || error instanceof TaskFailedError) return given;
  return own;
}

/** The stack trace of the error, followed by those of its causes. */
function stackOf(error: Error, causes: number): string | undefined {
  const { stack, cause }: { readonly stack?: unknown; readonly cause?: unknown } = error;
  if (typeof stack !== 'string') return undefined;
  if (causes === 0 || cause === undefined) return stack;
  return `${stack}\ncaused by: ${(isError(cause) ? stackOf(cause, causes - 1) : undefined) ?? messageOf(cause)}`;
}

/** Thrown by `await` in a workflow when the activity or child workflow has failed for good. @public */
export class TaskFailedError extends Error {
  /** `TaskFailedError`. */
  override readonly name: string = 'TaskFailedError';
  /** The task that failed: `activity "charge"`, `child workflow "ship"`. */
  readonly task: string;
  /** Why it failed. */
  readonly failure: WorkflowFailure;

  /** Makes the error. */
  constructor(task: string, failure: WorkflowFailure) {
    super(`${task} failed: ${failure.message}`);
    this.task = task;
    this.failure = failure;
  }
}

/** Thrown by `await` in a workflow when an event did not arrive in time. @public */
export class EventTimeoutError extends TaskFailedError {
  /** `EventTimeoutError`. */
  override readonly name: string = 'EventTimeoutError';
}

/** Error types of the engine's own failures. */
export const NON_DETERMINISM = 'NonDeterminismError';
export const FOREIGN_AWAIT = 'WorkflowAwaitError';
export const NOT_REGISTERED = 'NotRegisteredError';
export const ALREADY_EXISTS = 'WorkflowInstanceAlreadyExists';
export const TERMINATED_CHILD = 'WorkflowTerminated';
export const TIMED_OUT = 'EventTimeoutError';
export const TOO_LARGE = 'PayloadTooLargeError';

/** Whether a failed task is an event that did not arrive in time: it has no number. Other code may throw that type. */
export function isTimeout(sequence: number, { errorType }: WorkflowFailure): boolean {
  return sequence === 0 && errorType === TIMED_OUT;
}

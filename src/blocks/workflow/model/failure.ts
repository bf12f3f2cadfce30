import { isError, messageOf, shortened } from '../../../errors.ts';

/** Why a workflow, an activity or a child workflow failed. @public */
export interface WorkflowFailure {
  /** The name of the error's class, such as `TypeError`; what we report ourselves ends in `Error` as well. */
  readonly errorType: string;
  /** The error's message. */
  readonly message: string;
  /** Where it was thrown, when that is known, and below that where its causes were. */
  readonly stackTrace?: string;
}

/** The longest texts of a failure that are kept, in characters: it is written into the history. */
const MAX_MESSAGE_LENGTH = 16 * 1024;
const MAX_STACK_LENGTH = 16 * 1024;
const MAX_TYPE_LENGTH = 256;
/** So far are causes followed. */
const MAX_CAUSES = 5;

/** The failure that a thrown value stands for. Anything can be thrown: this never throws itself. */
export function failureOf(error: unknown): WorkflowFailure {
  try {
    if (isError(error)) return failureOfError(error);
    return { errorType: 'Error', message: shortened(messageOf(error), MAX_MESSAGE_LENGTH) };
  } catch {
    return { errorType: 'Error', message: 'something was thrown that cannot be looked at' };
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

/** The name of the class; that of the error where the class has none of its own. */
function typeOf(error: Error): string {
  const { name, constructor: type }: { readonly name: unknown; readonly constructor?: { readonly name?: unknown } } =
    error;
  const given = typeof name === 'string' && name !== '' ? name : 'Error';
  const own = type?.name;
  if (typeof own !== 'string' || own === '' || own === 'Error' || error instanceof TaskFailedError) return given;
  return own;
}

/** The stack, and below it those of the causes. */
function stackOf(error: Error, causes: number): string | undefined {
  const { stack, cause }: { readonly stack?: unknown; readonly cause?: unknown } = error;
  if (typeof stack !== 'string') return undefined;
  if (causes === 0 || cause === undefined) return stack;
  return `${stack}\ncaused by: ${(isError(cause) ? stackOf(cause, causes - 1) : undefined) ?? messageOf(cause)}`;
}

/**
 * What a workflow's `await` throws when the activity or child workflow that it waits for has failed for good.
 *
 * @public
 */
export class TaskFailedError extends Error {
  /** `TaskFailedError`. */
  override readonly name: string = 'TaskFailedError';
  /** Which one: `activity "charge"`, `child workflow "ship"`. */
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

/** What a workflow's `await` throws when an event did not come in time. @public */
export class EventTimeoutError extends TaskFailedError {
  /** `EventTimeoutError`. */
  override readonly name: string = 'EventTimeoutError';
}

/** The error types that the engine itself reports. */
export const NON_DETERMINISM = 'NonDeterminismError';
export const FOREIGN_AWAIT = 'WorkflowAwaitError';
export const NOT_REGISTERED = 'NotRegisteredError';
export const ALREADY_EXISTS = 'WorkflowInstanceAlreadyExists';
export const TERMINATED_CHILD = 'WorkflowTerminated';
export const TIMED_OUT = 'EventTimeoutError';
export const TOO_LARGE = 'PayloadTooLargeError';

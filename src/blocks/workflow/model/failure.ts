import { isError, messageOf, shortened } from '../../../errors.ts';

/** Why a workflow, an activity or a child workflow failed. @public */
export interface WorkflowFailure {
  /** The name of the error's class, such as `TypeError`; names of the engine's own errors end in `Error` as well. */
  readonly errorType: string;
  /** The error's message. */
  readonly message: string;
  /** The stack trace, if known, followed by those of the causes: among them what an activity or child has thrown. */
  readonly stackTrace?: string | undefined;
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
    ...(stack === undefined ? undefined : { stackTrace: shortenedStack(stack) }),
  };
}

/** A failure of the engine's own, with the stack of the one that is its cause. */
export function failureBecause(
  { errorType, message }: WorkflowFailure,
  cause: WorkflowFailure | undefined,
): WorkflowFailure {
  const own = { errorType, message: shortened(message, MAX_MESSAGE_LENGTH) };
  if (cause?.stackTrace === undefined) return own;
  return { ...own, stackTrace: shortenedStack(joined(`${errorType}: ${message}`, cause.stackTrace)) };
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
  const { cause }: { readonly cause?: unknown } = error;
  const own = ownStackOf(error);
  if (own === undefined) return undefined;
  if (causes === 0 || cause === undefined) return own;
  return joined(own, (isError(cause) ? stackOf(cause, causes - 1) : undefined) ?? messageOf(cause));
}

function joined(stack: string, cause: string): string {
  return `${stack}\ncaused by: ${cause}`;
}

/** The engine throws a {@link TaskFailedError}: its frames show none of the application's code. */
function ownStackOf(error: Error): string | undefined {
  if (error instanceof TaskFailedError) return `${error.name}: ${error.message}`;
  const { stack }: { readonly stack?: unknown } = error;
  return typeof stack === 'string' ? stack : undefined;
}

/** Its beginning and its end, where the first cause is: what is too long is mostly a message. */
function shortenedStack(stack: string): string {
  if (stack.length <= MAX_STACK_LENGTH) return stack;
  return `${stack.slice(0, MAX_STACK_LENGTH / 2)}…\n…${stack.slice(-MAX_STACK_LENGTH / 2)}`;
}

/**
 * Thrown by `await` in a workflow when the activity or child workflow has failed for good. Its `cause` is an error with
 * the recorded type, message and stack of what was thrown there, if the stack is known.
 *
 * @public
 */
export class TaskFailedError extends Error {
  /** `TaskFailedError`. */
  override readonly name: string = 'TaskFailedError';
  /** The task that failed: `activity "charge"`, `child workflow "ship"`. */
  readonly task: string;
  /** Why it failed. */
  readonly failure: WorkflowFailure;

  /** Makes the error. */
  constructor(task: string, failure: WorkflowFailure) {
    // Without a stack, the failure tells no more than the message does.
    super(
      `${task} failed: ${failure.message}`,
      failure.stackTrace === undefined ? undefined : { cause: errorOfFailure(failure) },
    );
    this.task = task;
    this.failure = failure;
  }
}

/** An error with the recorded type and message, and the recorded stack if it is known. */
export function errorOfFailure({ errorType, message, stackTrace }: WorkflowFailure): Error {
  const error = new Error(message);
  error.name = errorType;
  error.stack = stackTrace ?? `${errorType}: ${message}`;
  return error;
}

/** Thrown by `await` in a workflow when an event did not arrive in time. @public */
export class EventTimeoutError extends TaskFailedError {
  /** `EventTimeoutError`. */
  override readonly name: string = 'EventTimeoutError';
}

/**
 * Thrown by each `await` in a workflow for what it waited for when the workflow was canceled: see {@link Workflows.cancel}.
 * Activities of the workflow that run at that moment get it as the reason of their signal.
 *
 * @public
 */
export class CanceledError extends Error {
  /** `CanceledError`. */
  override readonly name: string = CANCELED;

  /** Makes the error. */
  constructor() {
    super(CANCELED_TASK.message);
  }
}

/** Error types of the engine's own failures. */
export const CANCELED = 'CanceledError';
export const NON_DETERMINISM = 'NonDeterminismError';
export const FOREIGN_AWAIT = 'WorkflowAwaitError';
export const UNHANDLED_BRANCH = 'UnhandledBranchError';
export const NOT_REGISTERED = 'NotRegisteredError';
export const ALREADY_EXISTS = 'WorkflowInstanceAlreadyExists';
export const TERMINATED_CHILD = 'WorkflowTerminated';
export const CANCELED_CHILD = 'WorkflowCanceled';
export const TIMED_OUT = 'EventTimeoutError';
export const ACTIVITY_TIMED_OUT = 'ActivityTimeoutError';
export const PROCESS_ENDED = 'ProcessEndedError';
export const TOO_LARGE = 'PayloadTooLargeError';
export const INVALID_DATA = 'InvalidDataError';

/** Whether a failed task is an event that did not arrive in time: it has no number. Other code may throw that type. */
export function isTimeout(sequence: number, { errorType }: WorkflowFailure): boolean {
  return sequence === 0 && errorType === TIMED_OUT;
}

/** The failure of tasks that a cancellation gives up. Activities may throw errors of that type: so it is known by identity. */
export const CANCELED_TASK: WorkflowFailure = { errorType: CANCELED, message: 'the workflow was canceled' };

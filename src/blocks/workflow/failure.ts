import { isError } from '../../errors.ts';

/** Why a workflow, an activity or a child workflow failed. @public */
export interface WorkflowFailure {
  /** The name of the error's class, such as `TypeError`; what we report ourselves ends in `Error` as well. */
  readonly errorType: string;
  /** The error's message. */
  readonly message: string;
  /** Where it was thrown, when that is known. */
  readonly stackTrace?: string;
}

/** The longest texts of a failure that are kept, in characters: it is written into the history. */
const MAX_MESSAGE_LENGTH = 16 * 1024;
const MAX_STACK_LENGTH = 16 * 1024;
const MAX_TYPE_LENGTH = 256;

/** The failure that a thrown value stands for. Anything can be thrown: this never throws itself. */
export function failureOf(error: unknown): WorkflowFailure {
  try {
    if (isError(error)) return failureOfError(error);
    return { errorType: 'Error', message: cut(textOf(error), MAX_MESSAGE_LENGTH) };
  } catch {
    return { errorType: 'Error', message: 'something was thrown that cannot be looked at' };
  }
}

function failureOfError(error: Error): WorkflowFailure {
  const { message, stack }: { readonly message: unknown; readonly stack?: unknown } = error;
  return {
    errorType: cut(typeOf(error), MAX_TYPE_LENGTH),
    message: cut(textOf(message), MAX_MESSAGE_LENGTH),
    ...(typeof stack === 'string' ? { stackTrace: cut(stack, MAX_STACK_LENGTH) } : undefined),
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

function textOf(value: unknown): string {
  try {
    return typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  } catch {
    return String(value);
  }
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
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

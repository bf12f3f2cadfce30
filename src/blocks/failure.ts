import { TimeLimitError } from '../app/time-limit-error.ts';
import { isError, messageOf } from '../errors.ts';
import type { FailureInfo } from '../events.ts';
import { classNameOf } from '../util/logged-error.ts';

/** Why something failed. */
export interface Failure {
  /** In words. */
  readonly reason: string;
  /** The thrown value, if one was thrown. */
  readonly thrown?: { readonly value: unknown } | undefined;
}

/** Something was thrown. The reason is its message, or the name of its class if the message is empty. */
export function thrown(value: unknown): Failure {
  return { reason: messageOf(value) || classNameOf(value), thrown: { value } };
}

/** The error in events: the value as it was thrown, else an error with the reason. */
export function told({ reason, thrown: caught }: Failure): FailureInfo {
  return { reason, error: caught === undefined ? new Error(reason) : caught.value };
}

/** The fields of a failure in the log. */
export interface LoggedFailure {
  readonly reason: string;
  /** With stack and causes. */
  readonly error?: Error;
  /** How to change a time limit that was exceeded. */
  readonly remedy?: string | undefined;
}

/** The log's fields of a failure. A thrown value that is not an error, and an exceeded time limit, have no stack worth showing. */
export function logged({ reason, thrown: caught }: Failure): LoggedFailure {
  if (caught?.value instanceof TimeLimitError) return { reason, remedy: caught.value.remedy };
  return isError(caught?.value) ? { reason, error: caught.value } : { reason };
}

import { isError, messageOf } from '../errors.ts';
import type { FailureInfo } from '../events.ts';
import { classNameOf } from '../util/logged-error.ts';

/** Why something failed. */
export interface Failure {
  /** In words. */
  readonly reason: string;
  /** What was thrown, if anything was. */
  readonly thrown?: { readonly value: unknown } | undefined;
}

/** Something was thrown. An error without a message, which would tell nothing, is told by its class. */
export function thrown(value: unknown): Failure {
  return { reason: messageOf(value) || classNameOf(value), thrown: { value } };
}

/** What events tell: what was thrown, as it was thrown, else an error with the reason. */
export function told({ reason, thrown: caught }: Failure): FailureInfo {
  return { reason, error: caught === undefined ? new Error(reason) : caught.value };
}

/** What the log tells: an error with its stack and its causes. Of what is no error, the reason tells everything. */
export function logged({ reason, thrown: caught }: Failure): { readonly reason: string; readonly error?: Error } {
  return isError(caught?.value) ? { reason, error: caught.value } : { reason };
}

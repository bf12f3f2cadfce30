/** The error codes of the jobs API; their prefix depends on the wire. @public */
export type SchedulerErrorCode =
  `${'SIDECAR' | 'DAPR'}_SCHEDULER_${'SCHEDULE_JOB' | 'SCHEDULE_EMPTY' | 'JOB_NAME' | 'JOB_NAME_EMPTY' | 'GET_JOB' | 'DELETE_JOB'}`;

/** The codes of a {@link StateError}. @public */
export type StateErrorCode =
  `ERR_STATE_${'CONFLICT' | 'INVALID' | 'CLOSED' | 'IN_USE' | 'FULL' | 'READ_ONLY' | 'CORRUPT' | 'NEWER_FORMAT' | 'DRIVER_MISSING' | 'FAILED'}`;

/**
 * Why a call of another application was not answered, in code. `unknown`: no such application; `unreachable`: no
 * connection, or it broke off; `unhealthy`; `denied` by access control; `invalid`: the call cannot be sent; `unsupported`:
 * nor in this form; `answer`: it cannot be read.
 *
 * @public
 */
export type InvocationFailure =
  | 'unknown'
  | 'unreachable'
  | 'unhealthy'
  | 'denied'
  | 'invalid'
  | 'unsupported'
  | 'answer';

/** The machine-readable part of an error body, modelled on google.rpc's `ResourceInfo` and `ErrorInfo`. @public */
export interface ErrorDetails {
  /** The reason, in capitals and without a prefix, such as `NOT_FOUND`; the wire adds its prefix. */
  readonly reason: string;
  /** The values of the request that the error is about. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The resource concerned, if the message does not already name it. */
  readonly resource?: { readonly type: string; readonly name: string } | undefined;
  /** The field of the request that is wrong, as in google.rpc's `BadRequest`. */
  readonly field?: string | undefined;
}

/** An entry of a bulk publish that was not published. @public */
export interface FailedEntry {
  /** The publisher's ID of the entry. */
  readonly entryId: string;
  /** The reason, as reported by the component. */
  readonly error: string;
}

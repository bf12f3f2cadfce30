import { inspect } from 'node:util';
import { isNativeError } from 'node:util/types';

/** The error codes of the jobs API; their prefix depends on the wire. @public */
export type SchedulerErrorCode =
  `${'SIDECAR' | 'DAPR'}_SCHEDULER_${'SCHEDULE_JOB' | 'SCHEDULE_EMPTY' | 'JOB_NAME' | 'JOB_NAME_EMPTY' | 'GET_JOB' | 'DELETE_JOB'}`;

/** The codes of the sidecar's errors, in HTTP bodies (`errorCode`) and in {@link SidecarError.code}. @public */
export type ErrorCode =
  | SchedulerErrorCode
  | 'ERR_BAD_REQUEST'
  | 'ERR_MALFORMED_REQUEST'
  | 'ERR_UNAUTHORIZED'
  | 'ERR_NOT_FOUND'
  | 'ERR_METHOD_NOT_ALLOWED'
  | 'ERR_BODY_TOO_LARGE'
  | 'ERR_CONTENT_ENCODING'
  | 'ERR_INTERNAL'
  | 'ERR_SHUTTING_DOWN'
  | 'ERR_CONFIGURATION'
  | 'ERR_PUBSUB_EMPTY'
  | 'ERR_PUBSUB_NOT_FOUND'
  | 'ERR_TOPIC_NAME_EMPTY'
  | 'ERR_PUBSUB_FORBIDDEN'
  | 'ERR_PUBSUB_REQUEST_METADATA'
  | 'ERR_PUBSUB_EVENTS_SER'
  | 'ERR_PUBSUB_CLOUD_EVENTS_SER'
  | 'ERR_PUBSUB_PUBLISH_MESSAGE'
  | 'ERR_PUBSUB_SUBSCRIBE'
  | 'ERR_QUEUE_NOT_FOUND'
  | 'ERR_QUEUE_BUSY'
  | 'ERR_QUEUES_NOT_SUPPORTED'
  | 'ERR_TOO_MANY_VIEWERS'
  | 'ERR_WORKFLOW_COMPONENT_NOT_FOUND'
  | 'ERR_WORKFLOW_NAME_MISSING'
  | 'ERR_WORKFLOW_NAME_INVALID'
  | 'ERR_WORKFLOW_EVENT_NAME_MISSING'
  | 'ERR_WORKFLOW_EVENT_NAME_INVALID'
  | 'ERR_INSTANCE_ID_TOO_LONG'
  | 'ERR_INSTANCE_ID_INVALID'
  | 'ERR_INSTANCE_ID_PROVIDED_MISSING'
  | 'ERR_INSTANCE_ID_NOT_FOUND'
  | 'ERR_START_WORKFLOW'
  | 'ERR_GET_WORKFLOW'
  | 'ERR_TERMINATE_WORKFLOW'
  | 'ERR_PAUSE_WORKFLOW'
  | 'ERR_RESUME_WORKFLOW'
  | 'ERR_RAISE_EVENT_WORKFLOW'
  | 'ERR_PURGE_WORKFLOW'
  | 'ERR_WORKFLOW_TIMEOUT'
  | 'ERR_DIRECT_INVOKE'
  | 'ERR_METADATA_LIMIT'
  | 'ERR_HEALTH_NOT_READY'
  | 'ERR_HEALTH_APPID_NOT_MATCH'
  | 'ERR_OUTBOUND_HEALTH_NOT_READY';

/** The HTTP status of every error code. No other place maps codes to statuses. */
const STATUS_BY_CODE: Readonly<Record<ErrorCode, number>> = {
  ERR_BAD_REQUEST: 400,
  ERR_MALFORMED_REQUEST: 400,
  ERR_UNAUTHORIZED: 401,
  ERR_NOT_FOUND: 404,
  ERR_METHOD_NOT_ALLOWED: 405,
  ERR_BODY_TOO_LARGE: 413,
  ERR_CONTENT_ENCODING: 415,
  ERR_INTERNAL: 500,
  ERR_SHUTTING_DOWN: 503,
  ERR_CONFIGURATION: 500,
  ERR_PUBSUB_EMPTY: 404,
  ERR_PUBSUB_NOT_FOUND: 404,
  ERR_TOPIC_NAME_EMPTY: 404,
  ERR_PUBSUB_FORBIDDEN: 403,
  ERR_PUBSUB_REQUEST_METADATA: 400,
  ERR_PUBSUB_EVENTS_SER: 400,
  ERR_PUBSUB_CLOUD_EVENTS_SER: 500,
  ERR_PUBSUB_PUBLISH_MESSAGE: 500,
  ERR_PUBSUB_SUBSCRIBE: 500,
  ERR_QUEUE_NOT_FOUND: 404,
  ERR_QUEUE_BUSY: 409,
  ERR_QUEUES_NOT_SUPPORTED: 501,
  ERR_TOO_MANY_VIEWERS: 503,
  SIDECAR_SCHEDULER_SCHEDULE_JOB: 500,
  SIDECAR_SCHEDULER_SCHEDULE_EMPTY: 400,
  SIDECAR_SCHEDULER_JOB_NAME: 400,
  SIDECAR_SCHEDULER_JOB_NAME_EMPTY: 400,
  SIDECAR_SCHEDULER_GET_JOB: 500,
  SIDECAR_SCHEDULER_DELETE_JOB: 500,
  DAPR_SCHEDULER_SCHEDULE_JOB: 500,
  DAPR_SCHEDULER_SCHEDULE_EMPTY: 400,
  DAPR_SCHEDULER_JOB_NAME: 400,
  DAPR_SCHEDULER_JOB_NAME_EMPTY: 400,
  DAPR_SCHEDULER_GET_JOB: 500,
  DAPR_SCHEDULER_DELETE_JOB: 500,
  ERR_WORKFLOW_COMPONENT_NOT_FOUND: 400,
  ERR_WORKFLOW_NAME_MISSING: 400,
  ERR_WORKFLOW_NAME_INVALID: 400,
  ERR_WORKFLOW_EVENT_NAME_MISSING: 400,
  ERR_WORKFLOW_EVENT_NAME_INVALID: 400,
  ERR_INSTANCE_ID_TOO_LONG: 400,
  ERR_INSTANCE_ID_INVALID: 400,
  ERR_INSTANCE_ID_PROVIDED_MISSING: 400,
  ERR_INSTANCE_ID_NOT_FOUND: 404,
  ERR_START_WORKFLOW: 500,
  ERR_GET_WORKFLOW: 500,
  ERR_TERMINATE_WORKFLOW: 500,
  ERR_PAUSE_WORKFLOW: 500,
  ERR_RESUME_WORKFLOW: 500,
  ERR_RAISE_EVENT_WORKFLOW: 500,
  ERR_PURGE_WORKFLOW: 500,
  ERR_WORKFLOW_TIMEOUT: 504,
  ERR_DIRECT_INVOKE: 500,
  ERR_METADATA_LIMIT: 400,
  ERR_HEALTH_NOT_READY: 500,
  ERR_HEALTH_APPID_NOT_MATCH: 500,
  ERR_OUTBOUND_HEALTH_NOT_READY: 500,
};

/** The machine-readable part of an error body, modelled on google.rpc's `ResourceInfo` and `ErrorInfo`. @public */
export interface ErrorDetails {
  /** The reason, in capitals and without a prefix, such as `NOT_FOUND`; the wire adds its prefix. */
  readonly reason: string;
  /** The values of the request that the error is about. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The resource concerned, if the message does not already name it. */
  readonly resource?: { readonly type: string; readonly name: string };
}

/** An entry of a bulk publish that was not published. @public */
export interface FailedEntry {
  /** The publisher's ID of the entry. */
  readonly entryId: string;
  /** The reason, as reported by the component. */
  readonly error: string;
}

/** Options of {@link SidecarError}. @public */
export interface SidecarErrorOptions {
  /** The cause; goes to the log, never into a response. */
  readonly cause?: unknown;
  /** The machine-readable part of the body. */
  readonly details?: ErrorDetails;
  /** Overrides the status of the code where the API document requires it. */
  readonly status?: number;
  /** The entries of a bulk publish that failed. */
  readonly failedEntries?: readonly FailedEntry[];
  /** Response headers, such as `allow`. Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

const BRAND = Symbol.for('insidecar.SidecarError');

/**
 * The only error that the sidecar throws and responds with: the same code in code and over HTTP.
 *
 * Its message names the offending value and what was expected, and may be shown to the caller. Recognise it with {@link
 * isSidecarError}, which also works across two loaded copies of the package.
 *
 * @public
 */
export class SidecarError extends Error {
  /** `SidecarError`. */
  override readonly name: string = 'SidecarError';
  /** The error code; stable across releases. */
  readonly code: ErrorCode;
  /** The HTTP status of the response. */
  readonly status: number;
  /** The machine-readable part of the response body, if any. */
  readonly details: ErrorDetails | undefined;
  /** The entries of a bulk publish that failed, in the order of the request; the others were published. */
  readonly failedEntries: readonly FailedEntry[] | undefined;
  /** Response headers. */
  readonly headers: Readonly<Record<string, string>>;

  /** Makes an error with the status of its code. */
  constructor(code: ErrorCode, message: string, options: SidecarErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options.status ?? STATUS_BY_CODE[code];
    this.details = options.details;
    this.failedEntries = options.failedEntries;
    this.headers = options.headers ?? {};
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/** Whether a thrown value is a {@link SidecarError}, from this or another copy of the package. @public */
export function isSidecarError(value: unknown): value is SidecarError {
  return typeof value === 'object' && value !== null && BRAND in value;
}

/**
 * Whether a value is an error of any realm. Jest runs tests in a separate realm, where errors thrown by Node's own
 * modules are not instances of `Error`.
 */
export function isError(value: unknown): value is Error {
  try {
    return value instanceof Error || isNativeError(value);
  } catch {
    // A proxy can throw when it is inspected.
    return false;
  }
}

/** Max length of the text of a thrown value, in characters. */
const MAX_MESSAGE_LENGTH = 16 * 1024;

/** One line; runs neither getters nor custom inspect functions. */
const INSPECT = {
  compact: true,
  breakLength: Number.POSITIVE_INFINITY,
  customInspect: false,
  showProxy: true,
} as const;

/** The message of any thrown value, for causes outside our control. Never throws. */
export function messageOf(error: unknown): string {
  try {
    const { message }: { readonly message: unknown } = isError(error) ? error : { message: undefined };
    if (typeof message === 'string') return shortened(message, MAX_MESSAGE_LENGTH);
    return shortened(`a value that is not an error was thrown: ${inspect(error, INSPECT)}`, MAX_MESSAGE_LENGTH);
  } catch {
    return 'a value that cannot be inspected was thrown';
  }
}

/** Truncates a text to this many characters and marks the cut. */
export function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}

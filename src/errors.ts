import type {
  ErrorDetails,
  FailedEntry,
  InvocationFailure,
  SchedulerErrorCode,
  StateErrorCode,
} from './util/error-parts.ts';

export { isError, messageOf, shortened } from './util/thrown.ts';
export type { ErrorDetails, FailedEntry, InvocationFailure, SchedulerErrorCode, StateErrorCode };

/** The codes of the sidecar's errors, in HTTP bodies (`errorCode`) and in {@link SidecarError.code}. @public */
export type ErrorCode =
  | SchedulerErrorCode
  | StateErrorCode
  | 'ERR_JOB_EXISTS'
  | 'ERR_JOB_BUSY'
  | 'ERR_JOB_STORE'
  | 'ERR_BAD_REQUEST'
  | 'ERR_MALFORMED_REQUEST'
  | 'ERR_INVALID_ARGUMENT'
  | 'ERR_INVALID_DATA'
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
  | 'ERR_CANCEL_WORKFLOW'
  | 'ERR_TERMINATE_WORKFLOW'
  | 'ERR_PAUSE_WORKFLOW'
  | 'ERR_RESUME_WORKFLOW'
  | 'ERR_RAISE_EVENT_WORKFLOW'
  | 'ERR_PURGE_WORKFLOW'
  | 'ERR_WORKFLOW_TIMEOUT'
  | 'ERR_WORKFLOW_FAILED'
  | 'ERR_WORKFLOW_CANCELED'
  | 'ERR_WORKFLOW_TERMINATED'
  | 'ERR_DIRECT_INVOKE'
  | 'ERR_METADATA_LIMIT'
  | 'ERR_STATE_STORE_NOT_CONFIGURED'
  | 'ERR_STATE_STORE_NOT_FOUND'
  | 'ERR_STATE_STORE_NOT_SUPPORTED'
  | 'ERR_STATE_STORE_TOO_MANY_TRANSACTIONS'
  | 'ERR_NOT_SUPPORTED_STATE_OPERATION'
  | 'ERR_STATE_SAVE'
  | 'ERR_STATE_GET'
  | 'ERR_STATE_BULK_GET'
  | 'ERR_STATE_DELETE'
  | 'ERR_STATE_TRANSACTION'
  | 'ERR_STATE_QUERY'
  | 'ERR_LOCK_STORE_NOT_CONFIGURED'
  | 'ERR_LOCK_STORE_NOT_FOUND'
  | 'ERR_TRY_LOCK'
  | 'ERR_UNLOCK'
  | 'ERR_INVOKE_OUTPUT_BINDING'
  | 'ERR_ACTOR_INVOKE_METHOD'
  | 'ERR_ACTOR_NO_ADDRESS'
  | 'ERR_ACTOR_STACK_DEPTH'
  | 'ERR_ACTOR_TYPE_RESERVED'
  | 'ERR_ACTOR_INSTANCE_MISSING'
  | 'ERR_ACTOR_STATE_TRANSACTION_SAVE'
  | 'ERR_ACTOR_STATE_GET'
  | 'ERR_ACTOR_REMINDER_NON_HOSTED'
  | 'ERR_CONFIGURATION_STORE_NOT_CONFIGURED'
  | 'ERR_CONFIGURATION_STORE_NOT_FOUND'
  | 'ERR_ACTOR_REMINDER_NOT_FOUND'
  | 'ERR_ACTOR_REMINDER_ALREADY_EXISTS'
  | 'ERR_ACTOR_REMINDER_CREATE'
  | 'ERR_ACTOR_REMINDER_GET'
  | 'ERR_ACTOR_REMINDER_DELETE'
  | 'ERR_APP_CHANNEL_NIL'
  | 'ERR_CONFIGURATION_GET'
  | 'ERR_CONFIGURATION_SUBSCRIBE'
  | 'ERR_SECRET_STORES_NOT_CONFIGURED'
  | 'ERR_SECRET_STORE_NOT_FOUND'
  | 'ERR_PERMISSION_DENIED'
  | 'ERR_SECRET_GET'
  | 'ERR_NOT_STARTED'
  | 'ERR_HEALTH_NOT_READY'
  | 'ERR_HEALTH_APPID_NOT_MATCH'
  | 'ERR_OUTBOUND_HEALTH_NOT_READY';

/** The HTTP status of every error code. No other place maps codes to statuses. */
const STATUS_BY_CODE: Readonly<Record<Exclude<ErrorCode, StateErrorCode>, number>> = {
  /** The path, the body or a header cannot be decoded. 408, 431 and 505 for heads that are late, too large or of another HTTP version. Fix: Encode the path with `encodeURIComponent`; send the body in the encoding that `Content-Encoding` names. */
  ERR_BAD_REQUEST: 400,
  /** The body has no form that the operation takes; the message names the field. Fix: Correct the field. */
  ERR_MALFORMED_REQUEST: 400,
  /** An argument of a call in code cannot be: the message names it, its value and what was expected; `argument` is its path. Fix: Correct the argument. Only thrown in code. */
  ERR_INVALID_ARGUMENT: 400,
  /** The data do not fit the schema of their topic, job, event or activity; the message names the path. Fix: Correct the data, or the schema. Only thrown in code. */
  ERR_INVALID_DATA: 400,
  /** The API token is missing or wrong. 403: a web page, or a client that names an unknown host. 429: too many wrong tokens for the inspector. Fix: Send the token in `sidecar-api-token` (`dapr-api-token`); list the host in `allowedHosts`; after 429, wait as `Retry-After` says. */
  ERR_UNAUTHORIZED: 401,
  /** No route has this path, or `api` disables it. Fix: Compare the path with docs/http-api.md, and the options `api` and `wire`. */
  ERR_NOT_FOUND: 404,
  /** The path exists for other methods, which `Allow` lists. Fix: Use one of them. */
  ERR_METHOD_NOT_ALLOWED: 405,
  /** The body, or the answer of an actor, is larger than the limit, as sent or decoded. Fix: Send less, or raise `bodyLimitBytes`. */
  ERR_BODY_TOO_LARGE: 413,
  /** `Content-Encoding` is not `gzip`, `deflate`, `br` or `identity`. Fix: Use one of these, or none. */
  ERR_CONTENT_ENCODING: 415,
  /** A bug of this package, or the store failed. The log has the cause. Fix: Read the log; report a bug with its stack. */
  ERR_INTERNAL: 500,
  /** The sidecar is stopping. Fix: Send the request again after `Retry-After`, or to another instance. */
  ERR_SHUTTING_DOWN: 503,
  /** An option of the sidecar, a component or an adapter, or a resource, is wrong: the message names it, its value and the expected values. Or parts do not go together, such as two functions for one name. Fix: Correct it. Only thrown in code. */
  ERR_CONFIGURATION: 500,
  /** The path names no pub/sub component. Fix: Put its name in the path: `/v1.0/publish/<pubsubname>/<topic>`. */
  ERR_PUBSUB_EMPTY: 404,
  /** No pub/sub component has this name. 400 for a bulk publish. Fix: Compare the name with `components` in the options or the resource files; the metadata list them. */
  ERR_PUBSUB_NOT_FOUND: 404,
  /** The path names no topic. Fix: Put it behind the component's name. */
  ERR_TOPIC_NAME_EMPTY: 404,
  /** This app ID may not use the topic. Fix: Change `publishingScopes`, `subscriptionScopes`, `allowedTopics` or `protectedTopics` of the component. */
  ERR_PUBSUB_FORBIDDEN: 403,
  /** A metadata value is wrong, such as a TTL that is not positive. Fix: Correct the value that the message names. Nothing was published. */
  ERR_PUBSUB_REQUEST_METADATA: 400,
  /** A bulk publish is not a list of entries with unique `entryId`s and events that fit their content types. Fix: Correct the entry that the message names. Nothing was published. */
  ERR_PUBSUB_EVENTS_SER: 400,
  /** The message is not a valid CloudEvent, although its content type says so. Fix: Correct the attribute that the message names. */
  ERR_PUBSUB_CLOUD_EVENTS_SER: 500,
  /** The component did not accept the message, for example because its queue or disk is full, or a resiliency policy ended the publish. After a time-out the message may have been published all the same. Fix: Publish again, those of `failedEntries` after a bulk publish. Give it the same CloudEvent `id`, so that receivers recognise duplicates. */
  ERR_PUBSUB_PUBLISH_MESSAGE: 500,
  /** The component could not begin the subscription. Fix: Subscribe again once the cause, which is in the error, is gone. Subscriptions of options and applications are tried again by themselves. */
  ERR_PUBSUB_SUBSCRIBE: 500,
  /** The topic has no group of this name. Fix: List the queues to see the groups. */
  ERR_QUEUE_NOT_FOUND: 404,
  /** The queue of the group is in use: by another host, or by consumers whose subscriptions must end first. Fix: End the subscriptions, try again, or ask the host that the message names. */
  ERR_QUEUE_BUSY: 409,
  /** The component gives no access to its queues: it is on a broker. Fix: Use the tools of the broker. */
  ERR_QUEUES_NOT_SUPPORTED: 501,
  /** Too many browsers show the inspector at the same time. Fix: Close one. */
  ERR_TOO_MANY_VIEWERS: 503,
  /** There is a job of this name. Only thrown in code. Fix: Choose another name, or set `ifExists`. */
  ERR_JOB_EXISTS: 409,
  /** The job runs, or is due already. Only thrown in code. Fix: Run it again once it waits for its time. */
  ERR_JOB_BUSY: 409,
  /** The store failed. Only thrown in code. Fix: Call again; a job that is scheduled twice with its name is one job. */
  ERR_JOB_STORE: 500,
  /** 400: a schedule, time, duration or name is invalid. 409: the name is taken and `overwrite` is not `true`, or the job runs or is due. 500: the store failed. Fix: 400: correct the value. 409: choose another name, or set `overwrite`. 500: schedule it again; with a name, this creates one job only. */
  SIDECAR_SCHEDULER_SCHEDULE_JOB: 500,
  /** The job has neither `schedule` nor `dueTime`. Fix: Give one of them. */
  SIDECAR_SCHEDULER_SCHEDULE_EMPTY: 400,
  /** The body has a `name`. Fix: Put the name in the path only. */
  SIDECAR_SCHEDULER_JOB_NAME: 400,
  /** The path has no name. Fix: Put it there. */
  SIDECAR_SCHEDULER_JOB_NAME_EMPTY: 400,
  /** 400: an invalid name. 500: no job has this name, or the store failed. Fix: Read the message: it says which. */
  SIDECAR_SCHEDULER_GET_JOB: 500,
  /** 400: an invalid name. 500: the store failed. Fix: Delete it again; to delete a job that is missing is no error. */
  SIDECAR_SCHEDULER_DELETE_JOB: 500,
  DAPR_SCHEDULER_SCHEDULE_JOB: 500,
  DAPR_SCHEDULER_SCHEDULE_EMPTY: 400,
  DAPR_SCHEDULER_JOB_NAME: 400,
  DAPR_SCHEDULER_JOB_NAME_EMPTY: 400,
  DAPR_SCHEDULER_GET_JOB: 500,
  DAPR_SCHEDULER_DELETE_JOB: 500,
  /** The component in the path is not the workflow engine. Fix: Use `sidecar` (`dapr` with `wire: 'dapr'`). */
  ERR_WORKFLOW_COMPONENT_NOT_FOUND: 400,
  /** The path has no name of a workflow. Fix: Put it there. */
  ERR_WORKFLOW_NAME_MISSING: 400,
  /** The name of the workflow has more than 256 characters. Fix: Use a shorter one. */
  ERR_WORKFLOW_NAME_INVALID: 400,
  /** The event has no name. Fix: Put it in the path. */
  ERR_WORKFLOW_EVENT_NAME_MISSING: 400,
  /** The name of the event has more than 256 characters. Fix: Use a shorter one. */
  ERR_WORKFLOW_EVENT_NAME_INVALID: 400,
  /** The instance ID is too long. Fix: Use at most 64 characters. */
  ERR_INSTANCE_ID_TOO_LONG: 400,
  /** The instance ID has characters that are not allowed, or was given twice. Fix: Use letters, digits, `-` and `_`. */
  ERR_INSTANCE_ID_INVALID: 400,
  /** The path has no instance ID. Fix: Put it there. */
  ERR_INSTANCE_ID_PROVIDED_MISSING: 400,
  /** No instance has this ID: it never existed, was purged, or its retention is over. Fix: Compare the ID with the one that the start returned. */
  ERR_INSTANCE_ID_NOT_FOUND: 404,
  /** An instance with this ID has not finished, or the store failed. 409: a rerun that is not possible; the message says why. Fix: Choose another ID, or an ID reuse policy. After a failure of the store, start it again with the same ID: there will be one instance. */
  ERR_START_WORKFLOW: 500,
  /** The store failed. Fix: Read it again. */
  ERR_GET_WORKFLOW: 500,
  /** The store failed. Fix: Cancel it again; twice is harmless. */
  ERR_CANCEL_WORKFLOW: 500,
  /** The store failed. Fix: Terminate it again; twice is harmless. */
  ERR_TERMINATE_WORKFLOW: 500,
  /** The store failed. Fix: Pause it again; twice is harmless. */
  ERR_PAUSE_WORKFLOW: 500,
  /** The store failed. Fix: Resume it again; twice is harmless. */
  ERR_RESUME_WORKFLOW: 500,
  /** The store failed. The event may have been accepted. Fix: Raise it again if the workflow tolerates the event twice; else read the instance first. */
  ERR_RAISE_EVENT_WORKFLOW: 500,
  /** The instance, or a child of it, has not finished, or the store failed. Fix: Terminate it and wait for its end; after a failure of the store, purge again. */
  ERR_PURGE_WORKFLOW: 500,
  /** The instance did not finish within the time-out of the wait. It goes on. Fix: Wait again, or longer. */
  ERR_WORKFLOW_TIMEOUT: 504,
  /** The workflow whose result was asked for has failed; `failure` and `cause` of the error say why. Fix: Mend the cause, then run the instance again. */
  ERR_WORKFLOW_FAILED: 500,
  /** The workflow whose result was asked for was canceled. Fix: Run the instance again if its result is still needed. */
  ERR_WORKFLOW_CANCELED: 409,
  /** The workflow whose result was asked for was terminated. Fix: Run the instance again if its result is still needed. */
  ERR_WORKFLOW_TERMINATED: 409,
  /** The target is unknown, cannot be reached, is unhealthy, or broke off. 400: a path, query or header that is refused. 403: the callee's access control denies the call. 501: a method or body that cannot be forwarded. Fix: Read the message: it says which. The callee may have done the work: repeat only calls that are idempotent. */
  ERR_DIRECT_INVOKE: 500,
  /** There are 1,000 metadata attributes already. Fix: Use fewer. */
  ERR_METADATA_LIMIT: 400,
  /** The sidecar has no state store. Fix: Add one to `components`, or a resource file of type `state.…`. */
  ERR_STATE_STORE_NOT_CONFIGURED: 500,
  /** No state store has this name, or the application is not in its `scopes`. Fix: Use one of the names in the message. */
  ERR_STATE_STORE_NOT_FOUND: 400,
  /** The store cannot do this, such as queries on Redis. Fix: Use a store that can; `capabilities` in the metadata tell which. */
  ERR_STATE_STORE_NOT_SUPPORTED: 500,
  /** A transaction has more than 10,000 operations. Fix: Use several. */
  ERR_STATE_STORE_TOO_MANY_TRANSACTIONS: 400,
  /** An operation of a transaction is neither `upsert` nor `delete`. Fix: Use one of them. */
  ERR_NOT_SUPPORTED_STATE_OPERATION: 400,
  /** The store failed; a part may have been saved. 409: the ETag does not match, or the key exists. Fix: 409: read the value and its ETag again. Else save again, or read first if an ETag was given. */
  ERR_STATE_SAVE: 500,
  /** The store failed, or the value cannot be decrypted. Fix: Read again; the log has the cause. */
  ERR_STATE_GET: 500,
  /** The store failed. Fix: Read again; the log has the cause. */
  ERR_STATE_BULK_GET: 500,
  /** The store failed. 409: the ETag does not match, or the key exists. Fix: 409: read the value and its ETag again. Else delete again, or read first if an ETag was given. */
  ERR_STATE_DELETE: 500,
  /** The store failed. 409: an ETag does not match, or a key exists; nothing was written. Fix: 409: read the values and their ETags again. Else read first: the transaction may have been done. */
  ERR_STATE_TRANSACTION: 500,
  /** The store failed. 400: the query is malformed. Fix: 400: correct what the message names. Else query again. */
  ERR_STATE_QUERY: 500,
  /** The sidecar has no lock store. Fix: Add one to `components`, or a resource file of type `lock.…`. */
  ERR_LOCK_STORE_NOT_CONFIGURED: 500,
  /** No lock store has this name, or the application is not in its `scopes`. Fix: Use one of the names in the message. */
  ERR_LOCK_STORE_NOT_FOUND: 400,
  /** The store failed. The lock may have been taken. Fix: Try again, with another owner. */
  ERR_TRY_LOCK: 500,
  /** The store failed. Fix: Unlock again; else the lock ends by its expiry. */
  ERR_UNLOCK: 500,
  /** No output binding has this name, the operation is missing or not one of the binding's, or the binding failed: then `metadata.` headers may say more, and the call may have been done. Fix: Compare the name with `components` in the metadata, and the operation with those that the message lists. */
  ERR_INVOKE_OUTPUT_BINDING: 500,
  /** The actor has failed, its application could not be asked, or its host died during the call: the message says which. 503: 10,000 calls wait for the actor. Fix: Read the message. The actor may have done the work: repeat only calls that are idempotent. After 503, wait as `Retry-After` says. */
  ERR_ACTOR_INVOKE_METHOD: 500,
  /** No application that runs now hosts the actor type. Fix: Compare the type with the `entities` that the application answers, or with `actors.register`; start its application. */
  ERR_ACTOR_NO_ADDRESS: 404,
  /** A chain of calls has come back to the actor more often than `reentrancy.maxStackDepth` says. Fix: Look for an endless recursion, or raise the limit. */
  ERR_ACTOR_STACK_DEPTH: 500,
  /** The actor type is one of the workflow engine. Fix: Use the workflow API, or another type. */
  ERR_ACTOR_TYPE_RESERVED: 403,
  /** The state of an actor was to be written by a host where it is not active. Fix: Write it during a call of the actor, at the sidecar that has made the call. */
  ERR_ACTOR_INSTANCE_MISSING: 400,
  /** The state store failed, an etag does not match, or the actor belongs to another host by now; nothing was written. Fix: Read the message; read the state again before the next write. */
  ERR_ACTOR_STATE_TRANSACTION_SAVE: 500,
  /** The state store failed. Fix: Read again; the log has the cause. */
  ERR_ACTOR_STATE_GET: 500,
  /** The application of this sidecar does not host the actor type. Fix: Ask a sidecar of the application that does, or name the type in `entities`. */
  ERR_ACTOR_REMINDER_NON_HOSTED: 403,
  /** The sidecar has no configuration store. Fix: Add one to `components`, or a resource file of type `configuration.…`. */
  ERR_CONFIGURATION_STORE_NOT_CONFIGURED: 500,
  /** No configuration store has this name, or the application is not in its `scopes`. Fix: Use one of the names in the message. */
  ERR_CONFIGURATION_STORE_NOT_FOUND: 400,
  /** The actor has no reminder of this name, or it has ended. Fix: Compare type, ID and name, and the times with which it was set. */
  ERR_ACTOR_REMINDER_NOT_FOUND: 404,
  /** The actor has a reminder of this name, and `overwrite` is `false`. Fix: Choose another name, or let it be replaced. */
  ERR_ACTOR_REMINDER_ALREADY_EXISTS: 409,
  /** 409: the reminder was to run, and runs or is due already. 500: the store failed, or the actor belongs to another host by now. Fix: 409: wait for it. 500: set it again; with `overwrite`, which is the default, that does no harm. */
  ERR_ACTOR_REMINDER_CREATE: 500,
  /** The state store failed. Fix: Read again; the log has the cause. */
  ERR_ACTOR_REMINDER_GET: 500,
  /** The state store failed, or the actor belongs to another host by now. Fix: Delete it again; to delete one that is missing is no error. */
  ERR_ACTOR_REMINDER_DELETE: 500,
  /** There is no application to notify of changes. Fix: Set the option `app`, or watch in code. */
  ERR_APP_CHANNEL_NIL: 500,
  /** The store failed. Fix: Read again; the log has the cause. */
  ERR_CONFIGURATION_GET: 500,
  /** The store failed, cannot notify of changes, or there are 1,000 subscriptions. Fix: Read the message; unsubscribe what is not needed. */
  ERR_CONFIGURATION_SUBSCRIBE: 500,
  /** The sidecar has no secret store. Fix: Add one to `components`, or a resource file of type `secretstores.…`. */
  ERR_SECRET_STORES_NOT_CONFIGURED: 500,
  /** No secret store has this name, or the application is not in its `scopes`. Fix: Use one of the names in the message. */
  ERR_SECRET_STORE_NOT_FOUND: 401,
  /** The rules for secrets do not allow this one, whether it exists or not. Fix: Allow it in `secrets.scopes`. */
  ERR_PERMISSION_DENIED: 403,
  /** There is no such secret, or the store failed. Fix: Compare the name; the log has the cause of a failure. */
  ERR_SECRET_GET: 500,
  /** `start()` has not been called, or has not finished. Only thrown in code. Fix: Await `start()` first. */
  ERR_NOT_STARTED: 500,
  /** `start()` has not been called, or has not finished; or the health check failed for the parts in the message. Fix: Wait for `start()`; read the log for the part that is named. */
  ERR_HEALTH_NOT_READY: 500,
  /** The health check asked for another app ID. Fix: Send it to the sidecar of that application. */
  ERR_HEALTH_APPID_NOT_MATCH: 500,
  /** A part that the API needs is not ready; the message names it. Fix: Wait, or read the log for the part. */
  ERR_OUTBOUND_HEALTH_NOT_READY: 500,
};

/** Options of {@link SidecarError}. @public */
export interface SidecarErrorOptions {
  /** The cause; goes to the log, never into a response. */
  readonly cause?: unknown;
  /** The machine-readable part of the body. */
  readonly details?: ErrorDetails | undefined;
  /** Overrides the status of the code where the API document requires it. */
  readonly status?: number | undefined;
  /** The path of the argument that is wrong, such as `options.timeout`. */
  readonly argument?: string | undefined;
  /** Why a call of another application failed, with `ERR_DIRECT_INVOKE`. */
  readonly reason?: InvocationFailure | undefined;
  /** The code over HTTP, if it has another name there. @internal */
  readonly wireCode?: ErrorCode | undefined;
  /** The entries of a bulk publish that failed. */
  readonly failedEntries?: readonly FailedEntry[] | undefined;
  /** Response headers, such as `allow`. Names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

const BRAND = Symbol.for('insidecar.SidecarError');

/**
 * The only error that the sidecar throws and responds with. {@link StateError} is one, too.
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
  declare readonly details: ErrorDetails | undefined;
  /** The path of the argument that is wrong, such as `options.timeout`, with `ERR_INVALID_ARGUMENT`. */
  declare readonly argument: string | undefined;
  /** Why a call of another application failed, with `ERR_DIRECT_INVOKE`. In code only. */
  declare readonly reason: InvocationFailure | undefined;
  /** @internal */
  declare readonly wireCode: ErrorCode | undefined;
  /** The entries of a bulk publish that failed, in the order of the request; the others were published. */
  declare readonly failedEntries: readonly FailedEntry[] | undefined;
  /** Response headers. */
  declare readonly headers: Readonly<Record<string, string>>;

  /** Makes an error with the status of its code. */
  constructor(code: ErrorCode, message: string, options: SidecarErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options.status ?? STATUS_BY_CODE[code as keyof typeof STATUS_BY_CODE] ?? 500;
    const { details, argument, reason, wireCode, failedEntries, headers } = options;
    // A printed error shows what it has, and no fields that are empty.
    if (details !== undefined) this.details = details;
    if (argument !== undefined) this.argument = argument;
    if (reason !== undefined) this.reason = reason;
    Object.defineProperty(this, 'wireCode', { value: wireCode });
    if (failedEntries !== undefined) this.failedEntries = failedEntries;
    Object.defineProperty(this, 'headers', { value: headers ?? {}, enumerable: headers !== undefined });
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/** Whether a thrown value is a {@link SidecarError}, from this or another copy of the package. @public */
export function isSidecarError(value: unknown): value is SidecarError {
  return typeof value === 'object' && value !== null && BRAND in value;
}

/** Whether a response may show an error: it is ours, and not that of a store, which is told in the words of the API. */
export function isApiError(value: unknown): value is SidecarError {
  return isSidecarError(value) && !('kind' in value);
}

import { type ErrorCode, isApiError, SidecarError } from '../errors.ts';

/** What the API calls a mistake of a request is, in code, an argument that cannot be: which one, if the error does not say. */
const MISTAKES: ReadonlyMap<ErrorCode, string | undefined> = new Map([
  ['ERR_BAD_REQUEST', undefined],
  ['ERR_MALFORMED_REQUEST', undefined],
  ['ERR_PUBSUB_EMPTY', 'pubsubName'],
  ['ERR_TOPIC_NAME_EMPTY', 'topic'],
  ['ERR_PUBSUB_REQUEST_METADATA', 'options'],
  ['ERR_PUBSUB_CLOUD_EVENTS_SER', 'data'],
  ['ERR_PUBSUB_EVENTS_SER', 'entries'],
]);

/** Raised where the code called whatever their status is: they come from a store, a turn or a timer, which no code has called. */
const FROM_ELSEWHERE: ReadonlySet<ErrorCode> = new Set([
  'ERR_CONFIGURATION',
  'ERR_START_WORKFLOW',
  'ERR_WORKFLOW_TIMEOUT',
]);

/**
 * An error of a call in code, raised where the code called. A mistake of the caller has the caller's line in its stack,
 * and `ERR_INVALID_ARGUMENT` as its code where the API has one of its own; `argument` is the path of what is wrong,
 * unless the error knows it. The error as it was is the cause. Other errors are returned as they are.
 */
export function inCode(error: unknown, argument?: string): unknown {
  if (!isApiError(error)) return error;
  const { code, message, status, details, failedEntries, reason, wireCode } = error;
  const isMistake =
    MISTAKES.has(code) ||
    (code === 'ERR_DIRECT_INVOKE' && reason === 'invalid') ||
    (code === 'ERR_STATE_QUERY' && status === 400);
  if (!isMistake && status >= 500 && !FROM_ELSEWHERE.has(code)) return error;
  const raised = new SidecarError(isMistake ? 'ERR_INVALID_ARGUMENT' : code, message, {
    ...(isMistake ? undefined : { status, wireCode }),
    ...{ details, failedEntries, cause: error },
    argument: error.argument ?? (isMistake ? (argument ?? MISTAKES.get(code)) : undefined),
  });
  // From the method that was called on.
  Error.captureStackTrace(raised, inCode);
  return raised;
}

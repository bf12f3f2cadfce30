import { type ErrorCode, isApiError, messageOf, SidecarError } from '../../errors.ts';
import { PolicyError } from '../../resiliency/policy-error.ts';
import { isStateError } from '../../state/errors.ts';

/** The most operations of a transaction. */
export const MAX_OPERATIONS = 10_000;

/** A request that cannot be understood. Nothing was written. */
export function malformed(problem: string, cause?: unknown): SidecarError {
  return new SidecarError('ERR_MALFORMED_REQUEST', problem, { cause });
}

/** A key that no request may have. */
export function illegalKey(storeName: string, key: string): SidecarError {
  const message = `key ${quoted(key)} contains "||": expected a key without it`;
  return new SidecarError('ERR_MALFORMED_REQUEST', message, {
    details: { reason: 'STATE_ILLEGAL_KEY', metadata: {}, resource: resource(storeName), field: key },
  });
}

/** Too many operations in a transaction. */
export function tooManyOperations(storeName: string, count: number): SidecarError {
  const message = `a transaction of state store ${storeName} has ${count} operations: at most ${MAX_OPERATIONS} are accepted`;
  const metadata = { currentOpsTransaction: String(count), maxOpsPerTransaction: String(MAX_OPERATIONS) };
  return new SidecarError('ERR_STATE_STORE_TOO_MANY_TRANSACTIONS', message, {
    details: { reason: 'STATE_TOO_MANY_TRANSACTIONS', metadata, resource: resource(storeName) },
  });
}

/** An operation of a transaction that there is not. */
export function unknownOperation(operation: string): SidecarError {
  const message = `operation ${quoted(operation)} of a transaction is not supported: expected upsert or delete`;
  return new SidecarError('ERR_NOT_SUPPORTED_STATE_OPERATION', message);
}

/** The condition of a write does not hold. */
export function refused(code: ErrorCode, storeName: string, key: string, hasEtag: boolean): SidecarError {
  const problem = hasEtag ? 'the ETag does not match' : 'the key exists';
  return new SidecarError(code, `key ${quoted(key)} of state store ${storeName} is not written: ${problem}`, {
    status: 409,
  });
}

/**
 * A store has failed. Only our own words are shown: those of a driver may hold scripts and values.
 */
export function storeFailed(code: ErrorCode, storeName: string, key: string | undefined, cause: unknown): SidecarError {
  if (isApiError(cause)) return cause;
  const about = key === undefined ? '' : `, key ${quoted(key)}`;
  const isOurs = isStateError(cause) || cause instanceof StateFailure || cause instanceof PolicyError;
  const reason = isOurs ? `: ${messageOf(cause)}` : '';
  return new SidecarError(code, `state store ${storeName} failed${about}${reason}`, { cause });
}

/** A failure in our own words. */
export class StateFailure extends Error {
  override readonly name: string = 'StateFailure';
}

/** The store has no queries. */
export function queryNotSupported(storeName: string): SidecarError {
  const message = `state store ${storeName} cannot be queried: it does not list its keys`;
  return new SidecarError('ERR_STATE_STORE_NOT_SUPPORTED', message, {
    details: { reason: 'STATE_QUERYING_NOT_SUPPORTED', metadata: {}, resource: resource(storeName) },
  });
}

/** The store does not list its keys. */
export function keysNotListed(storeName: string): SidecarError {
  const message = `state store ${storeName} does not list its keys: expected a key`;
  return new SidecarError('ERR_STATE_STORE_NOT_SUPPORTED', message);
}

/** A query that cannot be answered: with 400, its sender can change that. */
export function queryFailed(storeName: string, problem: string, status: 400 | 500, cause?: unknown): SidecarError {
  return new SidecarError('ERR_STATE_QUERY', `failed query in state store ${storeName}: ${problem}`, {
    status,
    cause,
    details: { reason: 'STATE_QUERY_FAILED', metadata: {}, resource: resource(storeName) },
  });
}

function resource(name: string): { readonly type: string; readonly name: string } {
  return { type: 'state', name };
}

const MAX_SHOWN = 80;

/** A text in a message. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
}

import { type InvocationFailure, isApiError, isError, messageOf, SidecarError } from '../../errors.ts';

const MAX_SHOWN = 200;

/** The caller's text in a message: quoted and truncated. */
export function shown(text: string): string {
  return JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
}

/** The request cannot be forwarded; nothing was called. `argument`: what is wrong, of a call in code. */
export function refused(
  message: string,
  argument: 'target' | 'path' | 'options.method' | 'options.headers' = 'path',
): SidecarError {
  return new SidecarError('ERR_DIRECT_INVOKE', message, { status: 400, reason: 'invalid', argument });
}

/** The requested feature is not supported. */
export function notOffered(message: string): SidecarError {
  return new SidecarError('ERR_DIRECT_INVOKE', message, { status: 501, reason: 'unsupported' });
}

/** The callee's access control denies the call. */
export function denied(target: string, caller: string, operation: string): SidecarError {
  const message = `access control of ${shown(target)} denies ${operation} to ${caller}`;
  return new SidecarError('ERR_DIRECT_INVOKE', message, { status: 403, reason: 'denied' });
}

/** The target is not available or did not respond. */
export function failed(target: string, problem: string, reason: InvocationFailure, cause?: unknown): SidecarError {
  const message = `invocation of ${shown(target)} failed: ${problem}`;
  return new SidecarError('ERR_DIRECT_INVOKE', message, { reason, cause });
}

/** Converts any error of a call to an invocation error. */
export function asFailed(target: string, error: unknown): SidecarError {
  return isApiError(error) ? error : failed(target, reasonOf(error), 'unreachable', error);
}

/** A failed connection reports an error per address tried and has no message of its own. */
function reasonOf(error: unknown): string {
  const addresses: unknown = isError(error) && error.message === '' && 'errors' in error && error.errors;
  return messageOf(Array.isArray(addresses) ? addresses[0] : error) || 'the call broke off before there was an answer';
}

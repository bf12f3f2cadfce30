import { isError, isSidecarError, messageOf, SidecarError } from '../../errors.ts';

const MAX_SHOWN = 200;

/** A text of the caller's in a message: quoted, and not longer than it is of use. */
export function shown(text: string): string {
  return JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
}

/** The request cannot be passed on as it is; nothing has been called. */
export function refused(message: string): SidecarError {
  return new SidecarError('ERR_DIRECT_INVOKE', message, { status: 400 });
}

/** What it asks for is not offered. */
export function notOffered(message: string): SidecarError {
  return new SidecarError('ERR_DIRECT_INVOKE', message, { status: 501 });
}

/** The callee does not let the caller in. */
export function denied(target: string, caller: string, operation: string): SidecarError {
  const message = `access control of ${shown(target)} denies ${operation} to ${caller}`;
  return new SidecarError('ERR_DIRECT_INVOKE', message, { status: 403 });
}

/** The target is not there, or did not answer. */
export function failed(target: string, reason: string, cause?: unknown): SidecarError {
  return new SidecarError('ERR_DIRECT_INVOKE', `invocation of ${shown(target)} failed: ${reason}`, { cause });
}

/** Whatever a call has thrown, as an error of the invocation. */
export function asFailed(target: string, error: unknown): SidecarError {
  return isSidecarError(error) ? error : failed(target, reasonOf(error), error);
}

/** A connection tells of each address that was tried, with no text of their own. */
function reasonOf(error: unknown): string {
  const addresses: unknown = isError(error) && error.message === '' && 'errors' in error && error.errors;
  return messageOf(Array.isArray(addresses) ? addresses[0] : error) || 'the call broke off before there was an answer';
}

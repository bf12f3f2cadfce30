import { isError } from '../errors.ts';

/** System calls that come before a connection stands. */
const BEFORE_CONNECTION = new Set(['connect', 'getaddrinfo']);

/**
 * Whether a call failed because no connection could be made, so that nothing of it has reached anybody. For errors
 * of our HTTP client: what a function in this process throws may say the same of something else.
 */
export function isNoConnection(error: unknown): boolean {
  if (!isError(error)) return false;
  const { syscall, code, errors } = error as NodeJS.ErrnoException & { readonly errors?: unknown };
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || (syscall !== undefined && BEFORE_CONNECTION.has(syscall))) return true;
  // One error for each address that was tried.
  return Array.isArray(errors) && errors.length > 0 && errors.every(isNoConnection);
}

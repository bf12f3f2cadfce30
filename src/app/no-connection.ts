import { isError } from '../errors.ts';

/** System calls before a connection is made. */
const BEFORE_CONNECTION = new Set(['connect', 'getaddrinfo']);

/**
 * Whether a call failed because no connection could be made, so that nothing was sent. For errors of our HTTP client
 * only: a function in this process may throw such an error about another connection.
 */
export function isNoConnection(error: unknown): boolean {
  if (!isError(error)) return false;
  const { syscall, code, errors } = error as NodeJS.ErrnoException & { readonly errors?: unknown };
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || (syscall !== undefined && BEFORE_CONNECTION.has(syscall))) return true;
  // An AggregateError has one error per address.
  return Array.isArray(errors) && errors.length > 0 && errors.every(isNoConnection);
}

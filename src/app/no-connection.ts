/** System calls that come before a connection stands. */
const BEFORE_CONNECTION = new Set(['connect', 'getaddrinfo']);

/**
 * Whether a call failed because no connection could be made, so that nothing of it has reached anybody. For errors
 * of our HTTP client: what a function in this process throws may say the same of something else.
 */
export function isNoConnection(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { syscall, code } = error as NodeJS.ErrnoException;
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || (syscall !== undefined && BEFORE_CONNECTION.has(syscall))) return true;
  // One error for each address that was tried.
  return error instanceof AggregateError && error.errors.length > 0 && error.errors.every(isNoConnection);
}

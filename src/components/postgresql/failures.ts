import { StateError } from '../../state/errors.ts';
import { ConnectionLostError, RetryableError, SessionClosedError } from '../remote/connection.ts';
import { tlsErrorOf } from '../remote/tls-errors.ts';

/**
 * Deadlock, serialisation failure, a statement that was cancelled (`statement_timeout`), or another process made the
 * same entry or table (also with `IF NOT EXISTS`): the transaction was rolled back.
 */
const RETRYABLE = new Set(['40001', '40P01', '55P03', '57014', '23505', '42710', '42P07']);
/**
 * The server is shutting down or starting, has become a standby, lacks resources, or has closed the connection, also for
 * a transaction that took long (`idle_in_transaction_session_timeout`, `transaction_timeout`).
 */
const LOST = /^(08|57P0|25006|25P0[34]|53[2-4])/;
/** Wrong credentials, no such database or schema, no permission, no such function. */
const HOPELESS = /^(28|3D000|3F000|42501|42883|42P01)/;
const FULL = /^(53100|54)/;
/** A prepared statement is unknown, or already there. */
const STATEMENTS = new Set(['26000', '42P05']);
const SESSION_CLOSED = 'IC001';

/** An error that the server has replied, as the driver throws it. */
interface Reply {
  readonly code: unknown;
  readonly message: string;
  readonly severity: unknown;
}

/** Converts an error of the driver. An error that is not a reply of PostgreSQL is a connection error. */
export function errorOf(error: unknown, server: string): Error {
  if (error instanceof StateError || error instanceof ConnectionLostError) return error;
  const tlsError = tlsErrorOf(error, server);
  if (tlsError !== undefined) return tlsError;
  const { code, message, severity } = error as Partial<Reply>;
  const text = message === undefined || message === '' ? String(code ?? error) : message;
  // Node's own codes may look like those of PostgreSQL: EPIPE. Only a reply has a severity.
  if (typeof code !== 'string' || severity === undefined || LOST.test(code))
    return new ConnectionLostError(text, { cause: error });
  if (code === SESSION_CLOSED) return new SessionClosedError(text);
  if (RETRYABLE.has(code)) return new RetryableError(text, { cause: error });
  if (FULL.test(code)) return new StateError('full', `${server} has no space left: ${text}.`, error);
  if (STATEMENTS.has(code))
    return new StateError(
      'failed',
      `${server} reports: ${text} (${code}). Behind PgBouncer before 1.21 in transaction mode, preparedStatements: false is needed.`,
      error,
    );
  if (HOPELESS.test(code))
    return new StateError('failed', `${server} refuses the connection: ${text} (${code}).`, error);
  return new StateError('failed', `${server} reports: ${text} (${code}).`, error);
}

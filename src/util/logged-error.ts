import { isError, messageOf, shortened } from '../errors.ts';
import type { Logger } from './logger.ts';

/** An error as the log has it. Plain: most loggers write an `Error` that they do not expect as `{}`. */
export interface LoggedError {
  /** Its class. */
  readonly type: string;
  readonly message: string;
  readonly code?: string | number;
  readonly stack?: string;
  readonly cause?: LoggedError;
  /** Of an `AggregateError`. */
  readonly errors?: readonly LoggedError[];
}

/** So far are causes followed, and so many errors of an `AggregateError` are told. */
const MAX_CAUSES = 5;
const MAX_ERRORS = 5;
const MAX_NAME_LENGTH = 256;
const MAX_MESSAGE_LENGTH = 4 * 1024;
const MAX_STACK_LENGTH = 8 * 1024;

/** What the log says of an error. Bounded, and never throws, whatever the error is. */
export function loggedError(error: unknown, causes: number = MAX_CAUSES): LoggedError {
  const [code, stack, cause] = (['code', 'stack', 'cause'] as const).map((name) => read(error, name));
  const mayGoOn = causes > 0;
  return {
    type: shortened(typeOf(error), MAX_NAME_LENGTH),
    message: shortened(messageOf(error), MAX_MESSAGE_LENGTH),
    ...codeOf(code),
    ...(typeof stack === 'string' ? { stack: shortened(stack, MAX_STACK_LENGTH) } : undefined),
    ...(mayGoOn && cause !== undefined && cause !== null ? { cause: loggedError(cause, causes - 1) } : undefined),
    ...(mayGoOn ? errorsOf(error) : undefined),
  };
}

function codeOf(code: unknown): Pick<LoggedError, 'code'> | undefined {
  if (typeof code === 'number') return { code };
  return typeof code === 'string' ? { code: shortened(code, MAX_NAME_LENGTH) } : undefined;
}

/** The errors of an `AggregateError`. The list may be anything too. */
function errorsOf(error: unknown): Pick<LoggedError, 'errors'> | undefined {
  const errors = read(error, 'errors');
  try {
    if (!Array.isArray(errors)) return undefined;
    const count = Math.min(errors.length, MAX_ERRORS);
    return { errors: Array.from({ length: count }, (_, index) => loggedError(read(errors, index), 0)) };
  } catch {
    // A proxy may refuse to be looked at.
    return undefined;
  }
}

/** The message of an error among the details of a line, if that is what it is. */
export function messageOfLogged(detail: unknown): string | undefined {
  if (isError(detail)) return messageOf(detail);
  const [type, message] = [read(detail, 'type'), read(detail, 'message')];
  return typeof type === 'string' && typeof message === 'string' ? message : undefined;
}

function typeOf(error: unknown): string {
  if (!isError(error)) return error === null ? 'null' : typeof error;
  const [own, given] = [read(read(error, 'constructor'), 'name'), read(error, 'name')];
  return [own, given].find((name): name is string => typeof name === 'string' && name !== '') ?? 'Error';
}

/** A property; a getter or a proxy may throw. */
function read(value: unknown, name: string | number): unknown {
  try {
    return (value as Readonly<Record<string | number, unknown>> | null | undefined)?.[name];
  } catch {
    return undefined;
  }
}

/** A logger that writes errors among the details with their stacks and causes, whatever it makes of an `Error`. */
export function loggingErrors(logger: Logger): Logger {
  return {
    debug: (details, message) => logger.debug(plain(details), message),
    info: (details, message) => logger.info(plain(details), message),
    warn: (details, message) => logger.warn(plain(details), message),
    error: (details, message) => logger.error(plain(details), message),
  };
}

function plain(details: object): object {
  const entries = Object.entries(details);
  if (!entries.some(([name, value]) => wasThrown(name, value))) return details;
  return Object.fromEntries(
    entries.map(([name, value]) => [name, wasThrown(name, value) ? loggedError(value) : value]),
  );
}

/** What is under `error` was thrown, whatever it is; a text is what was made of it. */
function wasThrown(name: string, value: unknown): boolean {
  return isError(value) || (name === 'error' && typeof value !== 'string' && messageOfLogged(value) === undefined);
}

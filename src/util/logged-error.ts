import { isError, messageOf, shortened } from '../errors.ts';
import type { Logger } from './logger.ts';
import type { Apart } from './outside.ts';

/** The form of errors in the log: plain data, because most loggers write a nested `Error` as `{}`. */
export interface LoggedError {
  /** The class name. */
  readonly type: string;
  readonly message: string;
  readonly code?: string | number;
  readonly stack?: string;
  readonly cause?: LoggedError;
  /** The errors of an `AggregateError`. */
  readonly errors?: readonly LoggedError[];
}

/** Max depth of causes, and max errors of an `AggregateError`. */
const MAX_CAUSES = 5;
const MAX_ERRORS = 5;
const MAX_NAME_LENGTH = 256;
const MAX_MESSAGE_LENGTH = 4 * 1024;
const MAX_STACK_LENGTH = 8 * 1024;

/** The log form of an error. Bounded in size; never throws, whatever the value is. */
export function loggedError(error: unknown, causes: number = MAX_CAUSES): LoggedError {
  const [code, stack, cause] = (['code', 'stack', 'cause'] as const).map((name) => read(error, name));
  const mayGoOn = causes > 0;
  return {
    type: shortened(classNameOf(error), MAX_NAME_LENGTH),
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

/** The errors of an `AggregateError`. The property may hold any value. */
function errorsOf(error: unknown): Pick<LoggedError, 'errors'> | undefined {
  const errors = read(error, 'errors');
  try {
    if (!Array.isArray(errors)) return undefined;
    const count = Math.min(errors.length, MAX_ERRORS);
    return { errors: Array.from({ length: count }, (_, index) => loggedError(read(errors, index), 0)) };
  } catch {
    // A proxy can throw when it is inspected.
    return undefined;
  }
}

/** The message of a logged value, if it is an error. */
export function messageOfLogged(detail: unknown): string | undefined {
  if (isError(detail)) return messageOf(detail);
  const [type, message] = [read(detail, 'type'), read(detail, 'message')];
  return typeof type === 'string' && typeof message === 'string' ? message : undefined;
}

/** The name of an error's class; of any other value, that of its type. */
export function classNameOf(error: unknown): string {
  if (!isError(error)) return error === null ? 'null' : typeof error;
  const [own, given] = [read(read(error, 'constructor'), 'name'), read(error, 'name')];
  return [own, given].find((name): name is string => typeof name === 'string' && name !== '') ?? 'Error';
}

/** Reads a property; a getter or a proxy may throw. */
function read(value: unknown, name: string | number): unknown {
  try {
    return (value as Readonly<Record<string | number, unknown>> | null | undefined)?.[name];
  } catch {
    return undefined;
  }
}

/**
 * Wraps a logger: errors in the details are logged with stacks and causes, however the logger treats an `Error`.
 *
 * @param apart - how a logger of the user's is called. Default: in the context of the caller
 */
export function loggingErrors(logger: Logger, apart: Apart = () => directly): Logger {
  return {
    debug: (details, message) => apart()(() => logger.debug(plain(details), message)),
    info: (details, message) => apart()(() => logger.info(plain(details), message)),
    warn: (details, message) => apart()(() => logger.warn(plain(details), message)),
    error: (details, message) => apart()(() => logger.error(plain(details), message)),
  };
}

function directly<T>(work: () => T): T {
  return work();
}

function plain(details: object): object {
  const entries = Object.entries(details);
  if (!entries.some(([name, value]) => wasThrown(name, value))) return details;
  return Object.fromEntries(
    entries.map(([name, value]) => [name, wasThrown(name, value) ? loggedError(value) : value]),
  );
}

/** Values under `error` were thrown, whatever their type; a string is already a message. */
function wasThrown(name: string, value: unknown): boolean {
  return isError(value) || (name === 'error' && typeof value !== 'string' && messageOfLogged(value) === undefined);
}

import { isError } from '../errors.ts';
import { harmlessLines } from './harmless-text.ts';
import { type LoggedError, loggedError } from './logged-error.ts';
import { readableLine } from './readable-line.ts';

/**
 * The sidecar's logger: the object first, then the message. `pino`, `winston` and `console` fit. An error in the
 * details is plain data: `{ type, message, code?, stack?, cause?, errors? }`, bounded in length and depth.
 *
 * @public
 */
export interface Logger {
  /** Details for debugging. */
  debug(details: object, message: string): void;
  /** Normal events of interest to operators. */
  info(details: object, message: string): void;
  /** Something was rejected, dropped or must be retried. */
  warn(details: object, message: string): void;
  /** A problem that needs attention. */
  error(details: object, message: string): void;
}

const discard = (): void => undefined;

/** Discards everything. */
export const silentLogger: Logger = { debug: discard, info: discard, warn: discard, error: discard };

/**
 * The default: warnings and errors on standard error, as one line of JSON each, or as readable lines with the stacks of
 * errors when that is a terminal; the rest is discarded.
 */
export const standardErrorLogger: Logger = errorLogger(() => undefined);

/** The default logger, with fields that name the present trace. */
export function errorLogger(traceFields: () => object | undefined): Logger {
  const write = (level: string, details: object, message: string): void =>
    writeLine(level, { ...traceFields(), ...details }, message);
  return {
    debug: discard,
    info: discard,
    warn: (details, message) => write('warn', details, message),
    error: (details, message) => write('error', details, message),
  };
}

function writeLine(level: string, details: object, message: string): void {
  if (process.stderr.isTTY) {
    const line = readableLine(level.padEnd(5), details, message, Date.now());
    process.stderr.write(`insidecar | ${line}\n${stacksOf(details)}`);
    return;
  }
  const entry = { level, time: new Date().toISOString(), logger: 'insidecar', message };
  process.stderr.write(`${asJson({ ...entry, ...details }) ?? asJson(entry)}\n`);
}

/** Details may contain values that JSON cannot represent: log the message without them then. */
function asJson(value: object): string | undefined {
  try {
    return JSON.stringify(value, replaceErrors);
  } catch {
    return undefined;
  }
}

function replaceErrors(_key: string, value: unknown): unknown {
  return isError(value) ? loggedError(value) : value;
}

/** The stacks of the errors in the details, with their causes, below the line. */
function stacksOf(details: object): string {
  const logged = Object.values(details).map((value: unknown) => (isError(value) ? loggedError(value) : value));
  return logged.map((value) => stackOf(value as Partial<LoggedError> | null)).join('');
}

function stackOf(error: Partial<LoggedError> | null | undefined): string {
  if (typeof error?.stack !== 'string') return '';
  const own = harmlessLines(error.stack).replace(/^/gm, '    ');
  const cause = stackOf(error.cause);
  return `${own}\n${cause === '' ? '' : `    caused by\n${cause}`}`;
}

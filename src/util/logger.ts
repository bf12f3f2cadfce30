import { isError } from '../errors.ts';
import { harmlessLines } from './harmless-text.ts';
import { jsonLine } from './json-line.ts';
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

/** Whose default logger it is. */
export interface StandardErrorLoggerOptions {
  readonly appId: string;
  /** The fields that name the present trace. */
  readonly traceFields?: () => object | undefined;
}

/**
 * The default: warnings and errors on standard error, as one line of JSON each, or as readable lines with the stacks of
 * errors when that is a terminal; the rest is discarded.
 */
export function standardErrorLogger({ appId, traceFields }: StandardErrorLoggerOptions): Logger {
  const logAt = (level: 'warn' | 'error'): Logger['warn'] => {
    return (details, message) => {
      const all = { ...traceFields?.(), ...details };
      const line = process.stderr.isTTY
        ? `insidecar | ${readableLine(level.padEnd(5), all, message, Date.now())}\n${stacksOf(all)}`
        : `${jsonLine({ level, at: Date.now(), appId, message }, all)}\n`;
      process.stderr.write(line);
    };
  };
  return { debug: discard, info: discard, warn: logAt('warn'), error: logAt('error') };
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

import { isError } from '../errors.ts';
import { loggedError } from './logged-error.ts';

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

/** The default: warnings and errors as one line of JSON each on standard error; the rest is discarded. */
export const standardErrorLogger: Logger = errorLogger(() => undefined);

/** The same, with fields that name the present trace. */
export function errorLogger(traceFields: () => object | undefined): Logger {
  const write = (level: string, details: object, message: string): void =>
    writeLine(level, { ...traceFields(), ...details }, message);
  return {
    debug: () => undefined,
    info: () => undefined,
    warn: (details, message) => write('warn', details, message),
    error: (details, message) => write('error', details, message),
  };
}

function writeLine(level: string, details: object, message: string): void {
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

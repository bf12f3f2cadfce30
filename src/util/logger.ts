import { isError } from '../errors.ts';
import { loggedError } from './logged-error.ts';

/**
 * Where the sidecar logs to: the object first, then the message. `pino`, `winston` and `console` satisfy it. An error
 * among the details is plain data: `{ type, message, code?, stack?, cause?, errors? }`, bounded in length and depth.
 *
 * @public
 */
export interface Logger {
  /** Details of use when looking for a fault. */
  debug(details: object, message: string): void;
  /** What a person on duty may want to know. */
  info(details: object, message: string): void;
  /** Something was refused, dropped or has to be retried. */
  warn(details: object, message: string): void;
  /** Something is wrong and needs a person. */
  error(details: object, message: string): void;
}

/** The default: warnings and errors as one line of JSON each on standard error, the rest nowhere. */
export const standardErrorLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: (details, message) => writeLine('warn', details, message),
  error: (details, message) => writeLine('error', details, message),
};

function writeLine(level: string, details: object, message: string): void {
  const entry = { level, time: new Date().toISOString(), logger: 'insidecar', message };
  process.stderr.write(`${asJson({ ...entry, ...details }) ?? asJson(entry)}\n`);
}

/** Details may hold what JSON cannot say: the message must get out all the same. */
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

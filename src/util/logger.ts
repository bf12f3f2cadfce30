/**
 * Where the sidecar logs to: the object first, then the message. `pino`, `winston` and `console` satisfy it.
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
  const line = JSON.stringify({ level, time: new Date().toISOString(), message, ...details }, replaceErrors);
  process.stderr.write(`insidecar ${line}\n`);
}

function replaceErrors(_key: string, value: unknown): unknown {
  return value instanceof Error ? { name: value.name, message: value.message, stack: value.stack } : value;
}

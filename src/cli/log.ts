import type { Clock } from '../util/clock.ts';
import { jsonLine } from '../util/json-line.ts';
import type { Logger } from '../util/logger.ts';
import { readableLine } from '../util/readable-line.ts';
import { type Output, styled } from './output.ts';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'fatal'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
type LineLevel = Exclude<LogLevel, 'fatal'>;

export interface LogOptions {
  readonly level: LogLevel;
  readonly asJson: boolean;
  readonly output: Output;
  readonly clock: Clock;
  /** The fields that name the present trace, in JSON lines. */
  readonly traceFields?: () => object | undefined;
  /** The name before a human-readable line. */
  readonly label: (name: string, isColoured: boolean) => string;
}

/** Makes the logger of an application's sidecar, or of the command itself, by name, optionally with its own level. */
export type Loggers = (name: string, level?: LogLevel) => Logger;

/** Logs human-readable lines or JSON. */
export function openLog(options: LogOptions): Loggers {
  const loggerOf = options.asJson ? jsonLogger : prettyLogger;
  return (name, level = options.level) => loggerOf(name, { ...options, level });
}

function jsonLogger(appId: string, { level, output, clock, traceFields }: LogOptions): Logger {
  return loggerFrom(level, (at) => (details, message) => {
    const line = jsonLine({ level: at, at: clock.now(), appId, message }, { ...traceFields?.(), ...details });
    output.offer(`${line}\n`);
  });
}

const LEVEL_STYLES = { debug: 'dim', info: 'green', warn: 'yellow', error: 'red' } as const;

function prettyLogger(name: string, { level, output, clock, label }: LogOptions): Logger {
  const { isColoured } = output;
  const start = `${label(name, isColoured)} :`;
  return loggerFrom(level, (at) => {
    const shown = isColoured ? styled(LEVEL_STYLES[at], at.padEnd(5)) : at.padEnd(5);
    return (details, message) => output.offer(`${start} ${readableLine(shown, details, message, clock.now())}\n`);
  });
}

/** A logger that leaves out what is below a level. */
function loggerFrom(level: LogLevel, logAt: (level: LineLevel) => Logger['info']): Logger {
  const lowest = LOG_LEVELS.indexOf(level);
  const from = (at: LineLevel): Logger['info'] => (LOG_LEVELS.indexOf(at) < lowest ? () => undefined : logAt(at));
  return { debug: from('debug'), info: from('info'), warn: from('warn'), error: from('error') };
}

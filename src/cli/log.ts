import type { Clock } from '../util/clock.ts';
import { loggingErrors } from '../util/logged-error.ts';
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
export async function openLog(options: LogOptions): Promise<Loggers> {
  return options.asJson
    ? await jsonLoggers(options)
    : (name, level = options.level) => prettyLogger(name, { ...options, level });
}

async function jsonLoggers({ level, output, clock, traceFields }: LogOptions): Promise<Loggers> {
  // Loaded on demand: terminals start faster without it.
  const { pino } = await import('pino');
  const log = pino(
    {
      level,
      base: null,
      mixin: () => traceFields?.() ?? {},
      formatters: { level: (label) => ({ level: label }) },
      timestamp: () => `,"time":"${new Date(clock.now()).toISOString()}"`,
    },
    { write: (line: string) => output.offer(line) },
  );
  return (name, own = level) => loggingErrors(log.child({ app_id: name }, { level: own }));
}

const LEVEL_STYLES = { debug: 'dim', info: 'green', warn: 'yellow', error: 'red' } as const;

function prettyLogger(name: string, { level, output, clock, label }: LogOptions): Logger {
  const { isColoured } = output;
  const start = `${label(name, isColoured)} :`;
  const lowest = LOG_LEVELS.indexOf(level);
  const logAt = (at: LineLevel): Logger['info'] => {
    if (LOG_LEVELS.indexOf(at) < lowest) return () => undefined;
    const shown = isColoured ? styled(LEVEL_STYLES[at], at.padEnd(5)) : at.padEnd(5);
    return (details, message) => output.offer(`${start} ${readableLine(shown, details, message, clock.now())}\n`);
  };
  return { debug: logAt('debug'), info: logAt('info'), warn: logAt('warn'), error: logAt('error') };
}

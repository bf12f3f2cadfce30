import type { Clock } from '../util/clock.ts';
import { loggingErrors, messageOfLogged } from '../util/logged-error.ts';
import type { Logger } from '../util/logger.ts';
import { harmlessLines } from './operate/text.ts';
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
    return (details, message) => {
      const words = harmlessLines(`${message}${wordsOf(details)}`);
      output.offer(`${start} ${timeOf(clock.now())} ${shown} ${words}\n`);
    };
  };
  return { debug: logAt('debug'), info: logAt('info'), warn: logAt('warn'), error: logAt('error') };
}

/** The time of day: readers watch the log live. */
function timeOf(instant: number): string {
  const time = new Date(instant);
  const two = (number: number): string => String(number).padStart(2, '0');
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}

function wordsOf(details: object): string {
  return Object.entries(details)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}=${wordOf(value)}`)
    .join('');
}

/** Quotes a value unless it is one word, so that its content cannot look like other fields. */
function wordOf(value: unknown): string {
  const words = typeof value === 'string' ? value : messageOfLogged(value);
  const text = words ?? asJson(value);
  const isData = words === undefined && typeof value === 'object';
  return isData || /^[\w./:@+*#-]+$/.test(text) ? text : JSON.stringify(text);
}

function asJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

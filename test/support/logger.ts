import type { Logger } from '../../src/index.ts';

/** A line of the log. */
export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Keeps the log. */
export class RecordingLogger implements Logger {
  readonly lines: LogLine[] = [];

  debug(details: object, message: string): void {
    this.#keep('debug', details, message);
  }
  info(details: object, message: string): void {
    this.#keep('info', details, message);
  }
  warn(details: object, message: string): void {
    this.#keep('warn', details, message);
  }
  error(details: object, message: string): void {
    this.#keep('error', details, message);
  }

  at(level: string): readonly LogLine[] {
    return this.lines.filter((line) => line.level === level);
  }

  #keep(level: string, details: object, message: string): void {
    this.lines.push({ level, message, details: details as Record<string, unknown> });
  }
}

import type { Logger } from '../../src/index.ts';

/** How often each line was logged, by level and message. */
export type LogTally = ReadonlyMap<string, number>;

/** Counts the lines, so that a long run needs no memory for them; keeps what must not be logged at all. */
export class TallyLogger implements Logger {
  readonly tally = new Map<string, number>();
  /** Faults of our own, in full. */
  readonly faults: string[] = [];

  debug(): void {}
  info(): void {}

  warn(_details: object, message: string): void {
    this.#count('warn', message);
  }

  error(details: object, message: string): void {
    this.#count('error', message);
    if (message === 'request failed unexpectedly') this.faults.push(JSON.stringify(details));
  }

  #count(level: string, message: string): void {
    const line = `${level} ${message}`;
    this.tally.set(line, (this.tally.get(line) ?? 0) + 1);
  }
}

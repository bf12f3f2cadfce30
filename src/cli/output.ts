import type { Writable } from 'node:stream';

/** With more bytes waiting, the output has no reader: log lines are dropped until they are written. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;

/** Standard output or standard error, shared by all writers. */
export class Output {
  readonly isColoured: boolean;
  readonly #stream: Writable;
  readonly #waiting = new Set<() => void>();
  readonly #onBroken: () => void;
  #isBroken = false;

  /** @param onBroken - called once when the reader has gone; later output is discarded */
  constructor(stream: Writable, { isColoured, onBroken }: { isColoured: boolean; onBroken: () => void }) {
    this.#stream = stream;
    this.isColoured = isColoured;
    this.#onBroken = onBroken;
    stream.on('error', () => this.#break());
    stream.on('drain', () => this.#wake());
  }

  /** Whether more may be written at once; otherwise wait for {@link Output.drained}. */
  write(data: Uint8Array | string): boolean {
    return this.#isBroken || this.#stream.write(data);
  }

  /** Writes a line without back-pressure; drops it while too much is waiting. */
  offer(line: string): void {
    if (this.#stream.writableLength < MAX_WAITING_BYTES) this.write(line);
  }

  /** Resolves when there is room again. */
  drained(): Promise<void> {
    if (this.#isBroken || !this.#stream.writableNeedDrain) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
    });
  }

  /** Resolves when everything so far is written. */
  flushed(): Promise<void> {
    if (this.#isBroken) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
      this.#stream.write('', () => resolve());
    });
  }

  #break(): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    this.#wake();
    this.#onBroken();
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

/** Whether to use colours: on a terminal, unless configured otherwise (no-color.org, force-color.org). */
export function wantsColour(isTerminal: boolean, environment: NodeJS.ProcessEnv): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = environment;
  if (NO_COLOR !== undefined && NO_COLOR !== '') return false;
  if (FORCE_COLOR !== undefined && FORCE_COLOR !== '') return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false';
  return isTerminal && TERM !== 'dumb';
}

const CODES = { red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36, dim: 2 } as const;
export type Style = keyof typeof CODES;

/** Styles text for a terminal. */
export function styled(style: Style, text: string): string {
  return `\u001b[${CODES[style]}m${text}\u001b[0m`;
}

/** Colours that distinguish applications. */
const NAME_STYLES: readonly Style[] = ['cyan', 'magenta', 'green', 'blue', 'yellow'];

/** The name at the start of a line, padded to the longest one. */
export function labels(names: readonly string[]): (name: string, isColoured: boolean) => string {
  const width = Math.max(...names.map((name) => name.length));
  return (name, isColoured) => {
    const style = NAME_STYLES[Math.max(0, names.indexOf(name)) % NAME_STYLES.length] ?? 'cyan';
    return isColoured ? styled(style, name.padEnd(width)) : name.padEnd(width);
  };
}

/** Lets at most `limit` holders in at a time, in the order in which they came. */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.#free = limit;
  }

  /** Waits for a place; rejects with the signal's reason when that fires first. */
  acquire(signal: AbortSignal): Promise<void> | undefined {
    if (this.#free > 0) {
      this.#free--;
      return undefined;
    }
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(signal.reason as Error);
      };
      if (signal.aborted) return reject(signal.reason as Error);
      this.#waiting.push(enter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  /** Gives the place back, to the next in line if there is one. */
  release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}

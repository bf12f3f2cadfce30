import type { CancelToken } from './cancel-token.ts';

/** Lets at most `limit` holders in at a time, in the order in which they came. */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.#free = limit;
  }

  /** Waits for a place; rejects with the reason when the caller gives up first. */
  acquire(cancelToken: CancelToken): Promise<void> | undefined {
    if (this.#free > 0) {
      this.#free--;
      return undefined;
    }
    return new Promise((resolve, reject) => {
      if (cancelToken.aborted) return reject(cancelToken.reason);
      const enter = (): void => {
        unsubscribe();
        resolve();
      };
      this.#waiting.push(enter);
      const unsubscribe = cancelToken.onAbort(() => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(cancelToken.reason);
      });
    });
  }

  /** Gives the place back, to the next in line if there is one. */
  release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}

import type { CancelToken } from './cancel-token.ts';

/** Admits at most `limit` holders at a time, in order of arrival. */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.#free = limit;
  }

  /** Waits for admission; rejects with the token's reason if the caller gives up first. */
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

  /** Passes the place to the next in line, if any. */
  release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}

import type { Abortion } from './abortion.ts';

/** Lets at most `limit` holders in at a time, in the order in which they came. */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.#free = limit;
  }

  /** Waits for a place; rejects with the reason when the caller gives up first. */
  acquire(abortion: Abortion): Promise<void> | undefined {
    if (this.#free > 0) {
      this.#free--;
      return undefined;
    }
    return new Promise((resolve, reject) => {
      if (abortion.aborted) return reject(abortion.reason);
      const enter = (): void => {
        deaf();
        resolve();
      };
      this.#waiting.push(enter);
      const deaf = abortion.onAbort(() => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(abortion.reason);
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

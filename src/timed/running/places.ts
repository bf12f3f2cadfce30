/** Max attempts that wait for turns of their own. Beyond that, none begins until one of them has ended. */
const MAX_WAITING = 10_000;

/** The place of an attempt among those that run at the same time, until its end. */
export interface Place {
  /** The attempt waits: others may begin meanwhile. */
  leave(): void;
  /** The attempt goes on, whether a place is free or not. Answers whether it has waited. */
  retake(): boolean;
  end(): void;
}

/** Counts the attempts under way: those that run, of which only so many begin, and those that wait for a turn. */
export class Places {
  readonly #concurrency: number;
  readonly #onFree: () => void;
  #taken = 0;
  #waiting = 0;

  /** @param onFree - called, not at once, when an attempt has left its place before its end */
  constructor(concurrency: number, onFree: () => void) {
    this.#concurrency = concurrency;
    this.#onFree = onFree;
  }

  /** Whether an attempt may begin. */
  get hasFree(): boolean {
    return this.#taken < this.#concurrency && this.#waiting < MAX_WAITING;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** An attempt begins. */
  take(): Place {
    let isWaiting = false;
    let hasWaited = false;
    const count = (by: 1 | -1): void => {
      if (isWaiting) this.#waiting += by;
      else this.#taken += by;
    };
    const change = (toWaiting: boolean): void => {
      count(-1);
      isWaiting = toWaiting;
      count(1);
    };
    count(1);
    return {
      leave: () => {
        hasWaited = true;
        change(true);
        // Later: a begin within a begin would be as deep as attempts are many.
        queueMicrotask(this.#onFree);
      },
      retake: () => {
        change(false);
        return hasWaited;
      },
      end: () => count(-1),
    };
  }
}

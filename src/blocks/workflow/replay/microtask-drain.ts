// Taken from the global: importing node:process would load all of it, which costs 2 to 4 MiB.
const { nextTick } = process;

/**
 * Waits until the microtask queue is empty: then all code that follows from a settled promise has run until its next
 * wait. A tick that is queued by a microtask runs after all microtasks. Waits before the tick share it, except waits
 * that begin in the tick queue: microtasks have to run before those.
 */
export class Drain {
  #waiting: (() => void)[] = [];
  #isMicrotaskQueued = false;
  #isTickQueued = false;

  /** Calls back when the microtask queue is empty. */
  onDrained(listener: () => void): void {
    this.#waiting.push(listener);
    if (this.#isMicrotaskQueued) return;
    this.#isMicrotaskQueued = true;
    queueMicrotask(this.#awaitTick);
  }

  readonly #awaitTick = (): void => {
    this.#isMicrotaskQueued = false;
    if (this.#isTickQueued) return;
    this.#isTickQueued = true;
    nextTick(this.#tick);
  };

  readonly #tick = (): void => {
    this.#isTickQueued = false;
    // A wait began in an earlier tick: its microtask comes next, followed by another tick.
    if (this.#isMicrotaskQueued) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const listener of waiting) listener();
  };
}

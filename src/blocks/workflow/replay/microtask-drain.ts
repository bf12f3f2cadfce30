// From the global: an import of node:process reads all that it has, which costs 2 to 4 MiB.
const { nextTick } = process;

/**
 * Waits until no microtask is left: whatever chain of promises hangs on what was just settled has run to where it
 * waits for something else. The queue of ticks comes after that of microtasks when it is filled from within one.
 * Who asks before the tick shares it, except from within the queue of ticks: there microtasks have to run first.
 */
export class Drain {
  #waiting: (() => void)[] = [];
  #isMicrotaskQueued = false;
  #isTickQueued = false;

  /** Resolves when no microtask is left. */
  drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#isMicrotaskQueued) return;
      this.#isMicrotaskQueued = true;
      queueMicrotask(() => this.#awaitTick());
    });
  }

  #awaitTick(): void {
    this.#isMicrotaskQueued = false;
    if (this.#isTickQueued) return;
    this.#isTickQueued = true;
    nextTick(() => this.#tick());
  }

  #tick(): void {
    this.#isTickQueued = false;
    // Somebody asked in a tick before this one: that microtask comes next, and another tick after it.
    if (this.#isMicrotaskQueued) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

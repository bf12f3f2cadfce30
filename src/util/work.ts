import type { Activity, Clock } from './clock.ts';

/**
 * Counts what is running, so that a stop can wait for it and a test can see when all has settled.
 * Kept to a map of small numbers: it is on the path of every delivery.
 */
export class Work implements Activity {
  readonly #running = new Map<number, string>();
  #sequence = 0;
  #idle: (() => void)[] = [];

  /** Notes the start of something; call what it returns when that has ended. */
  begin(what: string): () => void {
    const id = ++this.#sequence;
    this.#running.set(id, what);
    return () => this.#end(id);
  }

  #end(id: number): void {
    this.#running.delete(id);
    if (this.#running.size > 0 || this.#idle.length === 0) return;
    const waiting = this.#idle;
    this.#idle = [];
    for (const resolve of waiting) resolve();
  }

  running(): readonly string[] {
    return [...this.#running.values()];
  }

  /** Resolves once nothing runs, or when that has taken `patienceMs`. */
  idle(clock: Clock, patienceMs: number): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = clock.setTimeout(resolve, patienceMs);
      this.#idle.push(() => {
        timer.cancel();
        resolve();
      });
    });
  }
}

import type { Activity, Clock } from './clock.ts';
import { type Link, Linked } from './linked.ts';

/**
 * Counts what is running, so that a stop can wait for it and a test can see when all has settled.
 * It is on the path of every delivery.
 */
export class Work implements Activity {
  readonly #running = new Linked<string>();
  #idle: (() => void)[] = [];

  /** Notes the start of something; call what it returns when that has ended. */
  begin(what: string): () => void {
    const link = this.#running.add(what);
    return () => this.#end(link);
  }

  #end(link: Link<string>): void {
    this.#running.delete(link);
    if (this.#running.size > 0 || this.#idle.length === 0) return;
    const waiting = this.#idle;
    this.#idle = [];
    for (const resolve of waiting) resolve();
  }

  running(): readonly string[] {
    return [...this.#running];
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

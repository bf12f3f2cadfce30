import type { Activity, Clock } from './clock.ts';
import { setGracePeriod } from './grace-period.ts';
import { type Link, Linked } from './linked.ts';

interface Running {
  readonly what: string | (() => readonly string[]);
  readonly since: number | undefined;
}

/** Describes running work with its start time. */
export function sinceWhen(what: string, since: number): string {
  return `${what} (since ${new Date(since).toISOString()})`;
}

/**
 * Counts running work, so that a stop can wait for it and tests can see when everything has settled. It is on the hot
 * path of every delivery.
 */
export class Work implements Activity {
  readonly #clock: Clock | undefined;
  readonly #running = new Linked<Running>();
  #idle: (() => void)[] = [];

  /** @param clock - records start times; without it they are not reported */
  constructor(clock?: Clock) {
    this.#clock = clock;
  }

  /** Records the start of work; call the result at its end. A function may describe several pieces of work. */
  begin(what: string | (() => readonly string[])): () => void {
    const link = this.#running.add({ what, since: this.#clock?.now() });
    return () => this.#end(link);
  }

  #end(link: Link<Running>): void {
    this.#running.delete(link);
    if (this.#running.size > 0 || this.#idle.length === 0) return;
    const waiting = this.#idle;
    this.#idle = [];
    for (const resolve of waiting) resolve();
  }

  running(): readonly string[] {
    return [...this.#running].flatMap(({ what, since }) =>
      typeof what === 'function' ? what() : since === undefined ? what : sinceWhen(what, since),
    );
  }

  /** Resolves once nothing is running, without a time limit. */
  whenIdle(): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#idle.push(resolve);
    });
  }

  /** Resolves once nothing is running, or after `gracePeriodMs`. */
  idle(clock: Clock, gracePeriodMs: number): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setGracePeriod(clock, gracePeriodMs, resolve);
      this.#idle.push(() => {
        timer.cancel();
        resolve();
      });
    });
  }
}

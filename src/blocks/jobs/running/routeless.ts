/** Most names that are kept. */
const LIMIT = 10_000;

/**
 * Jobs for which the application has no route. If other hosts may have a function for one, they are asked first: only
 * when none of them takes it, the run counts as done.
 */
export class RoutelessJobs {
  /** Whether there are other hosts. */
  mayOffer: () => boolean = () => false;
  /** No other host has taken a job. */
  onLeft: () => void = () => undefined;
  /** Those that wait for other hosts. */
  readonly #offered = new Set<string>();
  /** Those that no other host has taken. */
  readonly #left = new Set<string>();

  /** The application has answered that it has no route for a job. Answers whether the job waits for other hosts. */
  add(name: string): boolean {
    if (!this.mayOffer() || this.#left.has(name) || this.#offered.size >= LIMIT) return false;
    this.#offered.add(name);
    return true;
  }

  /** Whether a job waits for other hosts. */
  has(name: string): boolean {
    return this.#offered.has(name);
  }

  /** Whether no other host has taken a job. */
  isLeft(name: string): boolean {
    return this.#left.has(name);
  }

  /** No other host has taken a job. Answers whether it waited for that. */
  leave(name: string): boolean {
    if (!this.#offered.delete(name)) return false;
    if (this.#left.size >= LIMIT) this.#left.clear();
    this.#left.add(name);
    this.onLeft();
    return true;
  }

  /** The application or the other hosts may have changed. */
  clear(): void {
    this.#offered.clear();
    this.#left.clear();
  }
}

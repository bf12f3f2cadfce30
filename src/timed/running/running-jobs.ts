import type { Due } from './stored-jobs.ts';

/** The jobs being handled or changed, and entries of the same jobs that wait for it to end. */
export class RunningJobs {
  readonly #running = new Map<string, Due>();
  /** Those of them whose entry was replaced or removed meanwhile. */
  readonly #outdated = new Set<Due>();
  /** Entries of jobs that were replaced while they ran, or are being changed; they come next. */
  readonly #held = new Map<string, Due>();
  /** How many changes of a job are under way. */
  readonly #changing = new Map<string, number>();

  get size(): number {
    return this.#running.size;
  }

  has(name: string): boolean {
    return this.#running.has(name);
  }

  /** Whether no run of the job may begin now. */
  mustWait(name: string): boolean {
    return this.#running.has(name) || this.#changing.has(name);
  }

  /** A change of the job begins. */
  beginChange(name: string): void {
    this.#changing.set(name, (this.#changing.get(name) ?? 0) + 1);
  }

  /** A change of the job has ended; returns the entry that comes next, if any. */
  endChange(name: string): Due | undefined {
    const others = (this.#changing.get(name) ?? 1) - 1;
    if (others > 0) this.#changing.set(name, others);
    else this.#changing.delete(name);
    return this.#next(name);
  }

  /** Whether this entry is being handled or waits. Compares versions: a replaced job may have the same key. */
  hasEntry({ version, job }: Due): boolean {
    return this.#running.get(job.name)?.version === version || this.#held.get(job.name)?.version === version;
  }

  /** The handling of an entry begins. */
  begin(due: Due): void {
    this.#running.set(due.job.name, due);
  }

  holdBack(due: Due): void {
    this.#held.set(due.job.name, due);
  }

  /** Handles the entry again after this, unless it was replaced. */
  putBack(due: Due): void {
    if (!this.#held.has(due.job.name)) this.#held.set(due.job.name, due);
  }

  /** Whether the entry being handled was replaced or removed meanwhile. */
  isOutdated(due: Due): boolean {
    return this.#outdated.has(due);
  }

  /** An entry was removed and no longer waits. */
  forget({ key, name }: { readonly key: string; readonly name: string }): void {
    const running = this.#running.get(name);
    if (running?.key === key) this.#outdated.add(running);
    if (this.#held.get(name)?.key === key) this.#held.delete(name);
  }

  /** The job is no longer handled here. */
  drop(name: string): void {
    this.#running.delete(name);
  }

  /** Handling has ended; returns the entry that comes next, if any. */
  end(due: Due): Due | undefined {
    const { name } = due.job;
    this.#outdated.delete(due);
    if (this.#running.get(name) === due) this.#running.delete(name);
    return this.#next(name);
  }

  #next(name: string): Due | undefined {
    const held = this.#held.get(name);
    if (held === undefined || this.mustWait(name)) return undefined;
    this.#held.delete(name);
    return held;
  }
}

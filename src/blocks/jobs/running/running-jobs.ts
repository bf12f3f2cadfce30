import type { Due } from './job-store.ts';

/** The jobs being handled, and later entries of the same jobs that wait for it to end. */
export class RunningJobs {
  readonly #taken = new Map<string, Due>();
  /** Entries of jobs that were replaced while they ran; they come next. */
  readonly #held = new Map<string, Due>();

  get size(): number {
    return this.#taken.size;
  }

  has(name: string): boolean {
    return this.#taken.has(name);
  }

  /** Whether this entry is being handled or waits. Compares versions: a replaced job may have the same key. */
  hasEntry({ version, job }: Due): boolean {
    return this.#taken.get(job.name)?.version === version || this.#held.get(job.name)?.version === version;
  }

  take(due: Due): void {
    this.#taken.set(due.job.name, due);
  }

  holdBack(due: Due): void {
    this.#held.set(due.job.name, due);
  }

  /** Handles the entry again after this, unless it was replaced. */
  putBack(due: Due): void {
    if (!this.#held.has(due.job.name)) this.#held.set(due.job.name, due);
  }

  /** An entry was removed and no longer waits. */
  forget({ key, job }: Pick<Due, 'key' | 'job'>): void {
    if (this.#held.get(job.name)?.key === key) this.#held.delete(job.name);
  }

  /** The job is no longer handled here. */
  drop(name: string): void {
    this.#taken.delete(name);
  }

  /** Handling has ended; returns the entry that comes next, if any. */
  letGo(due: Due): Due | undefined {
    const { name } = due.job;
    if (this.#taken.get(name) === due) this.#taken.delete(name);
    const held = this.#held.get(name);
    if (held === undefined || this.#taken.has(name)) return undefined;
    this.#held.delete(name);
    return held;
  }
}

import type { Due } from './job-store.ts';

/** Jobs that something is done for, and entries that wait for that to end. */
export class RunningJobs {
  readonly #taken = new Map<string, Due>();
  /** Entries of jobs that are in hand already, as they were replaced while they ran: their turn comes after. */
  readonly #held = new Map<string, Due>();

  get size(): number {
    return this.#taken.size;
  }

  has(name: string): boolean {
    return this.#taken.has(name);
  }

  /** Whether it is this entry that is in hand or waits. By version: a job that is replaced may have the key of before. */
  hasEntry({ version, job }: Due): boolean {
    return this.#taken.get(job.name)?.version === version || this.#held.get(job.name)?.version === version;
  }

  take(due: Due): void {
    this.#taken.set(due.job.name, due);
  }

  holdBack(due: Due): void {
    this.#held.set(due.job.name, due);
  }

  /** What is in hand has its turn again, unless what replaced it has. */
  putBack(due: Due): void {
    if (!this.#held.has(due.job.name)) this.#held.set(due.job.name, due);
  }

  /** An entry has been removed: it waits no longer. */
  forget({ key, job }: Pick<Due, 'key' | 'job'>): void {
    if (this.#held.get(job.name)?.key === key) this.#held.delete(job.name);
  }

  /** It is not in hand any more, whatever is done about it. */
  drop(name: string): void {
    this.#taken.delete(name);
  }

  /** It is done; answers the entry that has its turn now. */
  letGo(due: Due): Due | undefined {
    const { name } = due.job;
    if (this.#taken.get(name) === due) this.#taken.delete(name);
    const held = this.#held.get(name);
    if (held === undefined || this.#taken.has(name)) return undefined;
    this.#held.delete(name);
    return held;
  }
}

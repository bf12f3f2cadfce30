import type { JobFields } from '../model/job.ts';

/** Writes a job. */
export type WriteDeclared = (name: string, fields: JobFields) => Promise<unknown>;

/** The jobs that the code defines, until they are in the store. */
export class DeclaredJobs {
  readonly #jobs = new Map<string, JobFields>();

  add(name: string, fields: JobFields): void {
    this.#jobs.set(name, fields);
  }

  /** The job was scheduled or deleted since: that counts. */
  forget(name: string): void {
    this.#jobs.delete(name);
  }

  /** Writes all that are not in the store yet, and throws the first error. */
  async write(write: WriteDeclared): Promise<void> {
    const writes = [...this.#jobs].map(async ([name, fields]) => {
      await write(name, fields);
      if (this.#jobs.get(name) === fields) this.#jobs.delete(name);
    });
    const failed = (await Promise.allSettled(writes)).find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }
}

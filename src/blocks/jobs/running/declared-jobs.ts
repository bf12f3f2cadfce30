import type { JobFields } from '../../../timed/job.ts';

/** Writes a job, as long as it is still wanted when it would replace another one. */
export type WriteDeclared = (name: string, fields: JobFields, isWanted: () => boolean) => Promise<unknown>;

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

  /** Writes all that are not in the store yet. Tells the first error, if there is one, and throws it. */
  async write(write: WriteDeclared, onTried: (error: unknown) => void): Promise<void> {
    const writes = [...this.#jobs].map(async ([name, fields]) => {
      await write(name, fields, () => this.#jobs.get(name) === fields);
      if (this.#jobs.get(name) === fields) this.#jobs.delete(name);
    });
    const failed = (await Promise.allSettled(writes)).find((one) => one.status === 'rejected');
    onTried(failed?.reason);
    if (failed !== undefined) throw failed.reason;
  }
}

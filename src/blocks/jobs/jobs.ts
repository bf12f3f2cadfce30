import { checkFunction } from '../../util/known-fields.ts';
import type { JobService } from './job-service.ts';
import type { Job, JobDefinition, JobHandler, JobHandlerOptions, JobOptions } from './model/job.ts';
import { checkJobName } from './model/job-name.ts';
import { timeLimitOf } from './planning/parse-job.ts';

/**
 * Jobs that run at a time or on a schedule, kept in the state store: with a durable one they survive the process.
 *
 * A run goes to the function that {@link Jobs.handle} has for the job, else to the application as
 * `POST /job/<name>`. Runs come at least once: after a crash one may be repeated, none is left out.
 *
 * @example
 * ```ts
 * const report = { schedule: 'TZ=Europe/Rome 0 0 6 * * mon-fri', data: { to: 'board' } };
 * await sidecar.jobs.define('report', report, async ({ data }) => sendReport(data.to));
 * ```
 * @public
 */
export class Jobs {
  readonly #service: JobService;

  /** @internal */
  constructor(service: JobService) {
    this.#service = service;
  }

  /**
   * Declares a job and the function that runs it: it is there as long as the code says so. At the start, or at once
   * after it, the job is created when it is missing, left alone with its next instant when the same was set, else
   * changed, as {@link IfJobExists} says of `update`. A job whose definition is taken out of the code stays until
   * {@link Jobs.delete}.
   *
   * Before the start this resolves at once; after it, when the job is kept.
   *
   * @param name - of one job: no `*`
   * @throws SidecarError of status 400 for what cannot be understood, `ERR_CONFIGURATION` when the name has a handler
   * already, 500 when the store fails.
   */
  async define<T = unknown>(name: string, definition: JobDefinition<T>, handler: JobHandler<T>): Promise<void> {
    const { errors } = this.#service;
    checkJobName(name, 'SCHEDULE_JOB', errors);
    const fields = this.#service.parser.parseDefinition(name, definition);
    // Refused here, and not by the start.
    this.#service.check(name, fields);
    const { timeoutMs } = definition;
    const handled = this.handle(name, handler, timeoutMs === undefined ? {} : { timeoutMs });
    try {
      await this.#service.declare(name, fields);
    } catch (error) {
      handled[Symbol.dispose]();
      throw error;
    }
  }

  /**
   * Schedules a job. When this resolves the job is kept, on disk if the state store is durable. Answers whether it was
   * written: `false` when `ifExists` left the job that is there as it is.
   *
   * @throws SidecarError of status 400 for what cannot be understood, 409 (`…_SCHEDULER_SCHEDULE_JOB`) for a name
   * that is taken when `ifExists` is `fail`, 500 when the store fails.
   */
  async schedule<T = unknown>(name: string, options: JobOptions<T>): Promise<boolean> {
    return this.#service.schedule(name, this.#service.parser.parseOptions(options));
  }

  /** The job of a name; `undefined` when there is none, also when it has finished or expired. */
  async get<T = unknown>(name: string): Promise<Job<T> | undefined> {
    const found = await this.#service.find(name);
    if (found === undefined) return undefined;
    const { data, nextRunAt } = found;
    const { schedule, dueTime, repeats, ttl, policy } = found.job;
    return {
      name,
      ...(schedule === undefined ? undefined : { schedule }),
      ...(dueTime === undefined ? undefined : { dueTime }),
      ...(repeats === undefined ? undefined : { repeats }),
      ...(ttl === undefined ? undefined : { ttl }),
      ...(data === undefined ? undefined : { data: JSON.parse(data) as T }),
      ...(policy === undefined ? undefined : { failurePolicy: policy }),
      nextRunAt,
    };
  }

  /** Removes a job; answers whether there was one. A run that is under way is not broken off. */
  delete(name: string): Promise<boolean> {
    return this.#service.delete(name);
  }

  /**
   * Runs jobs in code: those of a name, or of a pattern in which `*` stands for any characters (`report-*`). A name
   * goes before a pattern, the pattern that names more characters before another. Register before the start, or jobs
   * that are due by then go to the application, or wait when there is none. Dispose of the result to stop it.
   *
   * A run lasts until the function has returned, however long that takes: the job's next run waits for it. One that
   * has no time-out and takes more than five minutes is warned of in the log, once.
   *
   * @throws SidecarError `ERR_CONFIGURATION` when the name or pattern has a handler already, for unknown options, and
   * for a handler that is no function.
   */
  handle<T = unknown>(pattern: string, handler: JobHandler<T>, options: JobHandlerOptions = {}): Disposable {
    checkFunction(handler, `the handler of jobs ${JSON.stringify(pattern)}`);
    const timeLimitMs = timeLimitOf(pattern, options);
    // What data a job has is for those to know who scheduled it.
    return this.#service.handle(pattern, { handler: handler as JobHandler, timeLimitMs });
  }
}

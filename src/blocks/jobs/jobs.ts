import { checkNamePage } from '../../util/check-limit.ts';
import { checkFunction } from '../../util/known-fields.ts';
import { badRequest, checkOptions, type OptionFields, WELL_FORMED, whole } from '../../util/option-fields.ts';
import type { FoundJob, JobService } from './job-service.ts';
import type {
  Job,
  JobDefinition,
  JobHandler,
  JobHandlerOptions,
  JobInfo,
  JobListOptions,
  JobOptions,
  JobPage,
} from './model/job.ts';
import { checkJobName } from './model/job-name.ts';
import { timeLimitOf } from './parse-job.ts';

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
   * @example
   * ```ts
   * await sidecar.jobs.define('report', { schedule: '0 30 2 * * *', data: 'accounts' }, ({ data }) => sendReport(data));
   * ```
   */
  async define<T = unknown>(name: string, definition: JobDefinition<T>, handler: JobHandler<T>): Promise<void> {
    const { errors } = this.#service;
    checkJobName(name, 'SCHEDULE_JOB', errors);
    const fields = this.#service.parser.parseDefinition(name, definition);
    // Refused here, and not by the start.
    this.#service.check(name, fields);
    const { timeout } = definition;
    const handled = this.handle(name, handler, timeout === undefined ? {} : { timeout });
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
   * @example
   * ```ts
   * await sidecar.jobs.schedule('reminder-4711', { dueTime: '3d', data: 'invoice 4711 is due' });
   * ```
   */
  async schedule<T = unknown>(name: string, options: JobOptions<T>): Promise<boolean> {
    return this.#service.schedule(name, this.#service.parser.parseOptions(options));
  }

  /**
   * The job of a name; `undefined` if it does not exist, has finished or has expired.
   *
   * @example
   * ```ts
   * const job = await sidecar.jobs.get<string>('reminder-4711');
   * if (job !== undefined) console.log(job.data, new Date(job.nextRunAt));
   * ```
   */
  async get<T = unknown>(name: string): Promise<Job<T> | undefined> {
    const found = await this.#service.find(name);
    if (found === undefined) return undefined;
    const { data } = found;
    return { ...infoOf(found), ...(data === undefined ? undefined : { data: JSON.parse(data) as T }) };
  }

  /** A job with its data as JSON text, digit for digit, and its next instants. @internal */
  async inspect(
    name: string,
    limit: number,
  ): Promise<{ readonly job: JobInfo; readonly data?: string; readonly nextRuns: readonly number[] } | undefined> {
    const found = await this.#service.find(name);
    if (found === undefined) return undefined;
    const { data } = found;
    const nextRuns = this.#service.upcoming(found, limit);
    return { job: infoOf(found), nextRuns, ...(data === undefined ? undefined : { data }) };
  }

  /** Schedules a job whose data are JSON text. @internal */
  async scheduleText(name: string, options: Omit<JobOptions, 'data'>, data: string | undefined): Promise<boolean> {
    const fields = this.#service.parser.parseOptions(options);
    return this.#service.schedule(name, data === undefined ? fields : { ...fields, data });
  }

  /**
   * The jobs of the app ID in the order of their names, page by page; without their data.
   *
   * @throws SidecarError `ERR_BAD_REQUEST` for options that cannot be understood, 500 when the store fails.
   * @example
   * ```ts
   * for (const { name, nextRunAt } of (await sidecar.jobs.list()).jobs) console.log(name, new Date(nextRunAt));
   * ```
   */
  async list(options: JobListOptions = {}): Promise<JobPage> {
    checkOptions('options of list', options, LIST_FIELDS, badRequest);
    const { prefix = '', cursor, limit = DEFAULT_LIMIT } = options;
    checkNamePage({ prefix, cursor });
    const { jobs, next } = await this.#service.list(prefix, cursor, limit);
    return { jobs: jobs.map(infoOf), ...(next === undefined ? undefined : { cursor: next }) };
  }

  /**
   * Has a job run now, whatever its schedule, also if it is paused; answers whether there is such a job. The run is kept
   * when this resolves, and begins on the host that owns the job. If the last attempt has failed and waits to be retried,
   * it is retried now. Else the run is one more: the schedule and the counters (`runs`, `repeats`) stay as they are. Its
   * `dueAt` is now, and its failures are retried as the job's policy says.
   *
   * @throws SidecarError `…_SCHEDULER_SCHEDULE_JOB` of status 409 when the job runs or is due already, of status 400 for
   * a bad name, 500 when the store fails.
   * @example
   * ```ts
   * await sidecar.jobs.run('report'); // now; its schedule stays
   * ```
   */
  run(name: string): Promise<boolean> {
    return this.#service.run(name);
  }

  /**
   * Pauses a job until {@link Jobs.resume}, over restarts and on all hosts: no run and no retry begins but those of {@link
   * Jobs.run}. A run that is under way ends and is recorded. It still expires at its `ttl`. A definition in code that is
   * set again leaves it paused; replacing it does not.
   *
   * Answers whether that has changed anything: `false` for a job that is paused already, is not there, or has no runs
   * left.
   *
   * @example
   * ```ts
   * await sidecar.jobs.pause('report'); // on all hosts, over restarts
   * ```
   */
  pause(name: string): Promise<boolean> {
    return this.#service.pause(name);
  }

  /**
   * Resumes a job; answers whether it was paused. If it was due meanwhile it runs at once, and then by its schedule: what
   * it has missed is treated as after a stop of the process, see `missedTicks` of {@link JobsOptions}.
   *
   * @example
   * ```ts
   * await sidecar.jobs.resume('report');
   * ```
   */
  resume(name: string): Promise<boolean> {
    return this.#service.resume(name);
  }

  /**
   * Removes a job; answers whether there was one. A run that is under way is not broken off.
   *
   * @example
   * ```ts
   * await sidecar.jobs.delete('reminder-4711'); // false if there was none
   * ```
   */
  delete(name: string): Promise<boolean> {
    return this.#service.delete(name);
  }

  /**
   * Runs jobs in code: those of a name, or of a pattern in which `*` stands for any characters (`report-*`). A name
   * goes before a pattern, the pattern that names more characters before another. Register before the start, or jobs
   * that are due by then go to the application, or wait without one. Dispose of the result to stop it.
   *
   * A run lasts until the function has returned, however long that takes: the job's next run waits for it. One that
   * has no time-out and takes more than five minutes is warned of in the log, once.
   *
   * @throws SidecarError `ERR_CONFIGURATION` when the name or pattern has a handler already, for unknown options, and
   * for a handler that is no function.
   * @example
   * ```ts
   * sidecar.jobs.handle<string>('reminder-*', ({ name, data }) => remind(name, data));
   * ```
   */
  handle<T = unknown>(pattern: string, handler: JobHandler<T>, options: JobHandlerOptions = {}): Disposable {
    checkFunction(handler, `the handler of jobs ${JSON.stringify(pattern)}`);
    const timeLimitMs = timeLimitOf(pattern, options);
    // The type of its data is known only to the code that scheduled the job.
    return this.#service.handle(pattern, { handler: handler as JobHandler, timeLimitMs });
  }
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;
const LIST_FIELDS: OptionFields<JobListOptions> = {
  prefix: WELL_FORMED,
  cursor: WELL_FORMED,
  limit: whole(1, MAX_LIMIT),
};

/** A job as it is shown, without its data. */
function infoOf({ job, nextRunAt }: Omit<FoundJob, 'data'>): JobInfo {
  const { name, schedule, dueTime, repeats, ttl, policy, resumeAt, runs, lastRun } = job;
  return {
    name,
    ...(schedule === undefined ? undefined : { schedule }),
    ...(dueTime === undefined ? undefined : { dueTime }),
    ...(repeats === undefined ? undefined : { repeats }),
    ...(ttl === undefined ? undefined : { ttl }),
    ...(policy === undefined ? undefined : { failurePolicy: policy }),
    nextRunAt,
    isPaused: resumeAt !== undefined,
    runs,
    ...(lastRun === undefined ? undefined : { lastRun }),
  };
}

import type { JobFields } from '../../timed/job.ts';
import { retryInfoOfPolicy } from '../../timed/planning/policy.ts';
import { isKeptFailure } from '../../timed/planning/transition.ts';
import { checkNamePage } from '../../util/check-limit.ts';
import { definedOnly } from '../../util/defined-only.ts';
import { msOf } from '../../util/duration.ts';
import { eachOf } from '../../util/each-of.ts';
import type { Jsonify } from '../../util/jsonify.ts';
import { nameOfKind } from '../../util/known-fields.ts';
import { checkOptions, invalidArgument, type OptionFields, WELL_FORMED, whole } from '../../util/option-fields.ts';
import { slotLimitsOf } from '../../util/run-limits.ts';
import { parseWith } from '../../util/standard-schema.ts';
import { inCode } from '../in-code.ts';
import type { FoundJob, JobService } from './job-service.ts';
import {
  type JobDefinition,
  type JobOrName,
  keptRetry,
  misfit,
  nameOfJob,
  type RecurringJobOptions,
} from './model/define-job.ts';
import type {
  DefinedJobOptions,
  Job,
  JobHandler,
  JobInfo,
  JobListOptions,
  JobOptions,
  JobPage,
  JobRegistration,
} from './model/job.ts';

/**
 * Jobs that run at a time or on a schedule, kept in the state store: with a durable one they survive the process.
 *
 * A run goes to the function of the job's definition, else to the application as `POST /job/<name>`. Runs come at least
 * once: after a crash one may be repeated, none is left out.
 *
 * @example
 * ```ts
 * const options = { schedule: 'TZ=Europe/Rome 0 0 6 * * mon-fri', data: { to: 'board' } };
 * sidecar.register(defineJob('report', options, ({ to }) => sendReport(to)));
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
   * Has a function run the jobs of its definition, and sets the job if the definition has a schedule; before the start
   * as {@link Sidecar.register}. At the start, or at once after it, a job with a schedule is created when it is missing,
   * left alone with its next instant when the same was set, else changed, as {@link IfJobExists} says of `update`. A job
   * whose definition is taken out of the code stays until {@link Jobs.delete}.
   *
   * A name goes before a pattern, the pattern that names more characters before another. Register before the start, or
   * jobs that are due by then go to the application, or wait without one.
   *
   * A run lasts until the function has returned, however long that takes: the job's next run waits for it. One that
   * has no time-out and takes more than five minutes is warned of in the log, once.
   *
   * Before the start this resolves at once; after it, when the job is kept. What cannot be understood is thrown, not
   * rejected: a definition of before the start never fails without notice.
   *
   * @throws SidecarError `ERR_INVALID_ARGUMENT` for what cannot be understood, `ERR_CONFIGURATION` when the name or pattern has a
   * function already; 500 when the store fails.
   * @example
   * ```ts
   * const report = defineJob('report', { schedule: '0 30 2 * * *' }, () => sendReport('board'));
   * await using registration = await sidecar.jobs.register(report);
   * ```
   */
  register(job: JobDefinition): Promise<JobRegistration> {
    if (Object(job).kind !== 'job')
      throw invalidArgument(`register was given ${nameOfKind(job)}: expected what defineJob returns`, 'job');
    const { name, options, handler } = job;
    const { schema, timeout, retry } = options;
    const fields = options.schedule === undefined ? undefined : this.#checked(name, options);
    const close = this.#service.handle(name, {
      // Its type of data is that of the definition.
      handler: handler as JobHandler,
      schema,
      timeLimitMs: msOf(timeout) ?? 0,
      retryIf: retry?.retryIf,
      limits: slotLimitsOf(`options of job ${JSON.stringify(name)}`, options, invalidArgument),
    });
    const registration: JobRegistration = { close: async () => close(), [Symbol.asyncDispose]: async () => close() };
    if (fields === undefined) return Promise.resolve(registration);
    return this.#service.declare(name, fields).then(
      () => registration,
      (error: unknown) => {
        close();
        throw error;
      },
    );
  }

  #checked(name: string, options: RecurringJobOptions<unknown, unknown>): JobFields {
    try {
      return this.#service.checkedJob(name, options);
    } catch (error) {
      throw inCode(error);
    }
  }

  /**
   * Schedules a job of a definition, whose function runs it. When this resolves the job is kept, on disk if the state
   * store is durable. Answers whether it was written: `false` when `ifExists` left the job that is there as it is.
   *
   * @throws SidecarError `ERR_INVALID_DATA` for data that do not fit the schema; `ERR_INVALID_ARGUMENT` for what cannot be
   * understood, `ERR_JOB_EXISTS` for a name that is taken when `ifExists` is `fail`, `ERR_JOB_STORE` when the store
   * fails.
   * @example
   * ```ts
   * const reminder = defineJob('reminder-*', (invoice: number) => remind(invoice));
   * await sidecar.jobs.schedule(reminder, { id: '4711', dueTime: '3d', data: 4711 });
   * ```
   */
  schedule<Input>(job: JobDefinition<Input>, options: NoInfer<DefinedJobOptions<Input>>): Promise<boolean>;
  /** Schedules the job of a name, which a function or the application runs. */
  schedule(name: string, options: JobOptions): Promise<boolean>;
  async schedule(job: JobOrName, options: JobOptions | DefinedJobOptions<unknown>): Promise<boolean> {
    try {
      if (Object(job).kind !== 'job')
        return await this.#service.schedule(job as string, this.#service.parser.parseOptions(options));
      const { id, ...rest } = Object(options) as DefinedJobOptions<unknown>;
      const name = nameOfJob(job, id);
      const { schedule, schema, retry } = (job as JobDefinition).options;
      if (schedule !== undefined)
        throw invalidArgument(`job ${JSON.stringify(name)} has a schedule of its own: run() runs it now`, 'job');
      const fields = this.#service.parser.parseOptions({ retry: keptRetry(retry), ...definedOnly(rest) });
      if (schema !== undefined) {
        const sent: unknown = fields.data === undefined ? undefined : JSON.parse(fields.data);
        await parseWith(schema, sent, (problem) => misfit(name, problem));
      }
      return await this.#service.schedule(name, fields);
    } catch (error) {
      throw inCode(error);
    }
  }

  /**
   * The job of a definition; `undefined` if it does not exist, has finished or has expired. For the definition of several
   * jobs, `id` says which one; so it does in all methods that take a definition. One that runs once and has failed for
   * good is there until {@link JobInfo.keptUntilAt}.
   *
   * @example
   * ```ts
   * const reminder = defineJob('reminder-*', (invoice: number) => remind(invoice));
   * const job = await sidecar.jobs.get(reminder, '4711');
   * if (job !== undefined) console.log(job.data, job.nextRunAt && new Date(job.nextRunAt));
   * ```
   */
  get<Input>(job: JobDefinition<Input>, id?: string): Promise<Job<Jsonify<Input>> | undefined>;
  /** The job of a name. */
  get(name: string): Promise<Job | undefined>;
  async get(job: JobOrName, id?: string): Promise<Job | undefined> {
    try {
      const found = await this.#service.find(nameOfJob(job, id));
      if (found === undefined) return undefined;
      const { data } = found;
      return { ...infoOf(found), ...(data === undefined ? undefined : { data: JSON.parse(data) as unknown }) };
    } catch (error) {
      throw inCode(error);
    }
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
   * The jobs of the app ID in the order of their names, for `for await`; without their data.
   *
   * @throws SidecarError `ERR_INVALID_ARGUMENT` for options that cannot be understood, 500 when the store fails; with the first
   * job.
   * @example
   * ```ts
   * for await (const { name, nextRunAt } of sidecar.jobs.list()) console.log(name, nextRunAt);
   * ```
   */
  list(options: Pick<JobListOptions, 'prefix'> = {}): AsyncIterable<JobInfo> {
    return eachOf(async (cursor) => {
      checkOptions('options of list', options, { prefix: LIST_FIELDS.prefix }, invalidArgument);
      const { jobs, cursor: next } = await this.listPage({ ...options, cursor });
      return { items: jobs, cursor: next };
    });
  }

  /**
   * A part of the jobs, as {@link Jobs.list} lists them.
   *
   * @throws SidecarError `ERR_INVALID_ARGUMENT` for options that cannot be understood, 500 when the store fails.
   * @example
   * ```ts
   * const { jobs, cursor } = await sidecar.jobs.listPage({ prefix: 'report', limit: 50 });
   * ```
   */
  async listPage(options: JobListOptions = {}): Promise<JobPage> {
    checkOptions('options of listPage', options, LIST_FIELDS, invalidArgument);
    const { prefix = '', cursor, limit = DEFAULT_LIMIT } = options;
    checkNamePage({ prefix, cursor });
    const { jobs, next } = await this.#service.list(prefix, cursor, limit);
    return { jobs: jobs.map(infoOf), ...(next === undefined ? undefined : { cursor: next }) };
  }

  /**
   * Has a job run now, whatever its schedule, also if it is paused; answers whether there is such a job. The run is kept
   * when this resolves, and begins on the host that owns the job. If the last attempt has failed and waits to be retried,
   * it is retried now. Else the run is one more: the schedule and the counters (`runs`, `repeats`) stay as they are. Its
   * `dueAt` is now, and its failures are retried as the job's policy says. A job that runs once and has failed for good
   * runs from its first attempt.
   *
   * @throws SidecarError `ERR_JOB_BUSY` when the job runs or is due already, `ERR_INVALID_ARGUMENT` for a bad name,
   * `ERR_JOB_STORE` when the store fails.
   * @example
   * ```ts
   * await sidecar.jobs.run('report'); // now; its schedule stays
   * ```
   */
  async run(job: JobDefinition | string, id?: string): Promise<boolean> {
    try {
      return await this.#service.run(nameOfJob(job, id));
    } catch (error) {
      throw inCode(error);
    }
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
  async pause(job: JobDefinition | string, id?: string): Promise<boolean> {
    try {
      return await this.#service.pause(nameOfJob(job, id));
    } catch (error) {
      throw inCode(error);
    }
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
  async resume(job: JobDefinition | string, id?: string): Promise<boolean> {
    try {
      return await this.#service.resume(nameOfJob(job, id));
    } catch (error) {
      throw inCode(error);
    }
  }

  /**
   * Removes a job; answers whether there was one. A run that is under way is not broken off.
   *
   * @example
   * ```ts
   * await sidecar.jobs.delete('reminder-4711'); // false if there was none
   * ```
   */
  async delete(job: JobDefinition | string, id?: string): Promise<boolean> {
    try {
      return await this.#service.delete(nameOfJob(job, id));
    } catch (error) {
      throw inCode(error);
    }
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
  const { name, schedule, dueTime, repeats, ttl, policy, resumeAt, expiresAt, runs, lastRun } = job;
  return {
    name,
    ...(schedule === undefined ? undefined : { schedule }),
    ...(dueTime === undefined ? undefined : { dueTime }),
    ...(repeats === undefined ? undefined : { repeats }),
    ...(ttl === undefined ? undefined : { ttl }),
    ...(policy === undefined ? undefined : { retry: retryInfoOfPolicy(policy) }),
    ...(isKeptFailure(job) && expiresAt !== undefined ? { keptUntilAt: expiresAt } : { nextRunAt }),
    isPaused: resumeAt !== undefined,
    runs,
    ...(lastRun === undefined ? undefined : { lastRun }),
  };
}

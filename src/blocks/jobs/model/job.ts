import type { IfJobExists, JobOutcome } from '../../../timed/job.ts';
import type { RetryInfo, RetryOptions } from '../../../util/retry-options.ts';

/** The retries that are kept with a job: {@link RetryOptions} without the function, which `defineJob` takes. @public */
export type JobRetryOptions = Omit<RetryOptions, 'retryIf'>;

/** A job to schedule. At least one of `schedule` and `dueTime` is needed. @public */
export interface JobOptions {
  /**
   * A repeating schedule: six cron fields (`0 30 2 * * mon-fri`), an `@` period (`@daily`) or `@every 1h30m`. The first
   * two may have a time zone in front (`TZ=Europe/Rome 0 30 2 * * *`).
   */
  readonly schedule?: string | undefined;
  /**
   * When the job runs first, or its only time without `schedule`: a duration from now on (`10m`, `3d`, `P1M`; a number
   * is one of milliseconds), a `Date`, or a text of RFC 3339 (without an offset: the server's local time).
   */
  readonly dueTime?: number | string | Date | undefined;
  /** How many times it runs, 1 to 2³¹−1; more than 1 needs `schedule`. Default: until it expires, or forever. */
  readonly repeats?: number | undefined;
  /** When it expires, in the forms of `dueTime`; needs `schedule`. Default: never. */
  readonly ttl?: number | string | Date | undefined;
  /** The data of each run: any JSON value. Default: none. */
  readonly data?: unknown;
  /** How to treat an existing job of the same name. Default `fail`. */
  readonly ifExists?: IfJobExists | undefined;
  /**
   * When and how often a run that failed is tried again. Default: that of the definition, else 3 retries, 1 second apart;
   * with an object, the defaults of {@link RetryOptions}.
   */
  readonly retry?: JobRetryOptions | undefined;
}

/** A job to schedule with the function of its definition; the data are optional if their type allows `undefined`. @public */
export type DefinedJobOptions<Input> = Omit<JobOptions, 'data'> & {
  /** Stands for the `*` in the name of the definition. Default: none, for a name without `*`. */
  readonly id?: string | undefined;
} & (undefined extends Input ? { readonly data?: Input } : { readonly data: Input });

/** A scheduled job without its data: its options as they were set, and its progress. @public */
export interface JobInfo {
  /** Its name. */
  readonly name: string;
  /** As set. */
  readonly schedule?: string;
  /** As set. */
  readonly dueTime?: string;
  /** As set, not the number of runs left. */
  readonly repeats?: number;
  /** As set. */
  readonly ttl?: string;
  /** The retries of a run; absent if they were not set. A policy of the HTTP API that drops a job has no retries. */
  readonly retry?: RetryInfo;
  /**
   * When it runs next or is retried, in milliseconds since 1970; in the past while it waits or runs. Of a paused job:
   * when it would, so in the past if it will as soon as it is resumed. Absent if it has failed for good.
   */
  readonly nextRunAt?: number;
  /**
   * Until when a job that runs once is kept after it has failed for good, in milliseconds since 1970: until then {@link
   * Jobs.run} runs it again. Absent for all others.
   */
  readonly keptUntilAt?: number;
  /** Whether it is paused: see {@link Jobs.pause}. */
  readonly isPaused: boolean;
  /** How many of its runs have ended, whatever their outcome; without those of {@link Jobs.run}. */
  readonly runs: number;
  /** How its last attempt ended; absent before that. A job that has ended is gone, unless it is kept as failed. */
  readonly lastRun?: JobOutcome;
}

/** A scheduled job. @public */
export interface Job<T = unknown> extends JobInfo {
  /** As set. */
  readonly data?: T;
}

/** Which jobs to list. @public */
export interface JobListOptions {
  /** Only jobs whose names begin with it. Default: all. */
  readonly prefix?: string | undefined;
  /** The `cursor` of the previous page. */
  readonly cursor?: string | undefined;
  /** The maximum number of jobs in a page, 1 to 1,000. Default 100. */
  readonly limit?: number | undefined;
}

/** A page of jobs. @public */
export interface JobPage {
  /** The jobs, without their data. */
  readonly jobs: readonly JobInfo[];
  /** The cursor for the next page; absent on the last page. */
  readonly cursor?: string;
}

/** The run of a job, passed to its function beside the data. @public */
export interface JobContext {
  /** The job's name. */
  readonly name: string;
  /** The instant for which the run was scheduled, in milliseconds since 1970. */
  readonly dueAt: number;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /**
   * Fires at the time-out, and when half of a stop's time is over. An exception thrown after it fired for a stop is no
   * failure: the run is repeated. Returning always means success.
   */
  readonly signal: AbortSignal;
}

/** Runs a job; `data` is `undefined` if it has none. A rejection or exception is a failure, anything else a success. @public */
export type JobHandler<Data = unknown> = (data: Data, context: JobContext) => unknown;

/** A function that runs jobs. Made by {@link Jobs.register}. @public */
export interface JobRegistration extends AsyncDisposable {
  /** Begins no more runs; one that is under way goes on. The job stays. A second call is harmless. */
  close(): Promise<void>;
}

/**
 * What happens when a run fails. `constant` runs it again up to `maxRetries` times (`null` or unset: without limit),
 * `interval` apart, a duration such as `200ms` or `2m` (default: at once). `drop` gives up after the first failure.
 *
 * @public
 */
export type JobFailurePolicy =
  | { readonly constant: { readonly maxRetries?: number | null; readonly interval?: string } }
  | { readonly drop: Readonly<Record<string, never>> };

/** A job to schedule. At least one of `schedule` and `dueTime` is needed. @public */
export interface JobOptions<T = unknown> {
  /**
   * When it runs, again and again: six cron fields (`0 30 2 * * mon-fri`), an `@` period (`@daily`) or
   * `@every 1h30m`; the first two may have a zone in front (`TZ=Europe/Rome 0 30 2 * * *`).
   */
  readonly schedule?: string;
  /**
   * When it runs for the first time, or the only time without `schedule`: an instant in RFC 3339 (without an offset:
   * the server's local time) or a duration from now, as Go or ISO 8601 writes it (`10m`, `P1D`).
   */
  readonly dueTime?: string | Date;
  /** How often it runs, 1 to 2³¹−1; more than 1 needs `schedule`. Default: until it expires, or for ever. */
  readonly repeats?: number;
  /** When it expires, in the forms of `dueTime`; needs `schedule`. Default: never. */
  readonly ttl?: string | Date;
  /** What the run gets: any value that JSON can hold. Default: nothing. */
  readonly data?: T;
  /** What becomes of a job of the same name. Default `fail`. */
  readonly ifExists?: IfJobExists;
  /** The HTTP API's word for `ifExists`: `true` is `replace`, `false` is `fail`. Not beside `ifExists`. */
  readonly overwrite?: boolean;
  /** Default: 3 retries, 1 second apart. */
  readonly failurePolicy?: JobFailurePolicy;
}

/**
 * What scheduling does with a job of the same name.
 *
 * - `fail`: refuses, with status 409.
 * - `keep`: leaves it as it is, whatever it is.
 * - `replace`: puts the new one in its place; intervals and counters begin anew.
 * - `update`: leaves it alone when the same was set. When what decides its times (`schedule`, `dueTime`, `repeats`,
 *   `ttl`) is the same, only `data` and `failurePolicy` change: its next instant and counters stay. Else as `replace`.
 *
 * @public
 */
export type IfJobExists = 'fail' | 'keep' | 'replace' | 'update';

/** A job that is declared in code, beside the function that runs it: see {@link Jobs.define}. @public */
export interface JobDefinition<T = unknown> {
  /** As in {@link JobOptions.schedule}. */
  readonly schedule: string;
  /** When it runs for the first time after it was created or its times were changed. Default: as `schedule` says. */
  readonly dueTime?: string | Date;
  /** What the run gets: any value that JSON can hold. Default: nothing. */
  readonly data?: T;
  /** Default: 3 retries, 1 second apart. */
  readonly failurePolicy?: JobFailurePolicy;
  /** As in {@link JobHandlerOptions.timeoutMs}: of the function, not kept with the job. */
  readonly timeoutMs?: number;
}

/** How a function runs jobs. @public */
export interface JobHandlerOptions {
  /**
   * When the signal of a run fires, in milliseconds after its begin. The run goes on until the function has returned,
   * and the job's next one waits for that. Default 0: never.
   */
  readonly timeoutMs?: number;
}

/** A scheduled job: what was set, as it was set, and when it runs next. @public */
export interface Job<T = unknown> {
  /** Its name. */
  readonly name: string;
  /** As set. */
  readonly schedule?: string;
  /** As set. */
  readonly dueTime?: string;
  /** As set: not what is left. */
  readonly repeats?: number;
  /** As set. */
  readonly ttl?: string;
  /** As set. */
  readonly data?: T;
  /** As set. */
  readonly failurePolicy?: JobFailurePolicy;
  /** When it runs next (or is tried again), in milliseconds since 1970; in the past while it waits or runs. */
  readonly nextRunAt: number;
}

/** A run of a job, as a handler in code gets it. @public */
export interface JobRun<T = unknown> {
  /** The job's name. */
  readonly name: string;
  /** Its data; `undefined` without any. */
  readonly data: T;
  /** The instant for which the run was scheduled, in milliseconds since 1970. */
  readonly dueAt: number;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /**
   * Fires when the time-out is over, and when a stop has waited half of its time. What is thrown after that of a stop
   * is no failure: the run comes again. To return is success, always.
   */
  readonly signal: AbortSignal;
}

/** Does a job's work. A rejection or exception is a failure, anything else success. @public */
export type JobHandler<T = unknown> = (run: JobRun<T>) => unknown;

/** A failure policy as it was set. */
export type PolicyFields =
  | { readonly constant: { readonly maxRetries?: number; readonly interval?: string } }
  | { readonly drop: Readonly<Record<string, never>> };

/** A job as it was asked for: its form is right, its meaning is still to be looked at. */
export interface JobFields {
  readonly schedule?: string;
  readonly dueTime?: string;
  readonly repeats?: number;
  readonly ttl?: string;
  readonly ifExists: IfJobExists;
  readonly failurePolicy?: PolicyFields;
  /** JSON text, to the last digit. */
  readonly data?: string;
}

/**
 * What is kept of a job: what was set, and how far it is. Nothing is optional, so that all have one shape: it is made
 * for every schedule and every run.
 */
export interface StoredJob {
  readonly name: string;
  readonly schedule: string | undefined;
  readonly dueTime: string | undefined;
  readonly repeats: number | undefined;
  readonly ttl: string | undefined;
  readonly policy: PolicyFields | undefined;
  /** JSON text; nothing when there is no data, or it lies apart. */
  readonly data: string | undefined;
  /** Where data lies that is too large to be written with every run. */
  readonly dataId: string | undefined;
  /** Where `@every` counts from. */
  readonly anchorAt: number;
  readonly expiresAt: number | undefined;
  /** The instant for which the current run is scheduled. */
  readonly tickAt: number;
  /** How often the current run has failed. */
  readonly failures: number;
  /** When the first attempt of the current run began: ticks up to then are in it. */
  readonly coveredTo: number | undefined;
  /** How many runs have ended, one way or the other. */
  readonly runs: number;
  /** No run is left: it waits for its expiry. */
  readonly ended: boolean;
}

/** The longest data that is written together with the rest, in bytes. */
export const MAX_INLINE_DATA_BYTES: number = 4 * 1024;

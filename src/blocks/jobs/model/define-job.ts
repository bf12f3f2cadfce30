import type { SidecarError } from '../../../errors.ts';
import type { Duration } from '../../../util/duration.ts';
import { duration } from '../../../util/duration-option.ts';
import type { JsonInput, Jsonify } from '../../../util/jsonify.ts';
import { checkFunction } from '../../../util/known-fields.ts';
import {
  ANYTHING,
  checkOptions,
  invalidArgument,
  type OptionError,
  type OptionFields,
} from '../../../util/option-fields.ts';
import { checkRetry, type RetryOptions } from '../../../util/retry-options.ts';
import { RUN_LIMIT_FIELDS, type RunLimits, slotLimitsOf } from '../../../util/run-limits.ts';
import { shown } from '../../../util/shown.ts';
import { checkSchema, invalidData, isPromise, parseWith, type StandardSchema } from '../../../util/standard-schema.ts';
import type { JobHandler, JobRetryOptions } from './job.ts';

/** Options of `defineJob` that all jobs may have. Its limits are those of all jobs of its name or pattern together. @public */
export interface JobDefinitionOptions<Input = unknown, Output = Input> extends RunLimits {
  /**
   * Checks the data when they are set, as JSON carries them, and when the job runs; the function gets what the schema
   * makes of them. Default: nothing is checked.
   */
  readonly schema?: StandardSchema<Input, Output> | undefined;
  /**
   * When and how often a run that failed is tried again. All but `retryIf` is kept with the job, and can be replaced by
   * `Jobs.schedule`. Default: 3 retries, 1 second apart; with an object, the defaults of {@link RetryOptions}.
   */
  readonly retry?: RetryOptions | undefined;
  /**
   * How long after the begin of a run its signal fires; 0 for never. The run still lasts until the function returns,
   * and the job's next run waits for that. Default 0.
   */
  readonly timeout?: Duration | undefined;
}

/** Options of `defineJob` for a job that repeats, and is there as long as the code says so. @public */
export interface RecurringJobOptions<Input = unknown, Output = Input> extends JobDefinitionOptions<Input, Output> {
  /** As in {@link JobOptions.schedule}. */
  readonly schedule: string;
  /** When it runs first after it was created or its times were changed. Default: the next time of `schedule`. */
  readonly dueTime?: number | string | Date | undefined;
  /** The data of each run: any JSON value. Default: none. */
  readonly data?: Input | undefined;
}

/** Options of `defineJob` for jobs that `Jobs.schedule` sets. @public */
export interface ScheduledJobOptions<Input = unknown, Output = Input> extends JobDefinitionOptions<Input, Output> {
  /** Not here: a job with a schedule is a recurring one. */
  readonly schedule?: undefined;
}

/** A job and the function that runs it. Made by `defineJob`. @public */
export interface JobDefinition<Input = unknown> {
  /** `job`. */
  readonly kind: 'job';
  /** The name of the job, or the pattern of the names of several: `*` stands for any characters. */
  readonly name: string;
  /** Its options. */
  readonly options: RecurringJobOptions<Input, unknown> | ScheduledJobOptions<Input, unknown>;
  /** The function. */
  readonly handler: JobHandler<never>;
}

const FIELDS: OptionFields<RecurringJobOptions> = {
  schedule: ANYTHING,
  dueTime: ANYTHING,
  data: ANYTHING,
  schema: ANYTHING,
  retry: ANYTHING,
  timeout: duration(),
  ...RUN_LIMIT_FIELDS,
};

/**
 * Names a job and the function that runs it, for {@link Sidecar.register}.
 *
 * With a `schedule` the job repeats: it is set when the sidecar starts, and stays as long as the code has it. Without
 * one, `Jobs.schedule` sets the job, as often as it is needed. A `*` in the name stands for the `id` that each of
 * them is given there.
 *
 * @throws SidecarError `ERR_INVALID_ARGUMENT` for a name that is empty, unknown or wrong options, and a handler that is
 * not a function; `ERR_INVALID_DATA` for data that do not fit the schema. A schedule that cannot be read is refused by
 * `register`.
 * @example
 * ```ts
 * const report = defineJob('report', { schedule: '0 30 2 * * *', data: { to: 'board' } }, ({ to }) => sendReport(to));
 * const reminder = defineJob('reminder-*', (invoice: number, { signal }) => remind(invoice, signal));
 * sidecar.register(report, reminder);
 * await sidecar.start();
 * await sidecar.jobs.schedule(reminder, { id: '4711', dueTime: '3d', data: 4711 });
 * ```
 * @public
 */
export function defineJob<Input, Output = Jsonify<Input>>(
  name: string,
  options: RecurringJobOptions<Input, Output> & { readonly data: Input },
  handler: JobHandler<NoInfer<Output>>,
): JobDefinition<Input>;
/** Names a job that repeats, without data. @public */
export function defineJob(
  name: string,
  options: RecurringJobOptions<undefined> & { readonly data?: undefined },
  handler: JobHandler<undefined>,
): JobDefinition<undefined>;
/** Names jobs that `Jobs.schedule` sets, with options. @public */
export function defineJob<Input = unknown>(
  name: string,
  options: ScheduledJobOptions<Input> & { readonly schema?: undefined },
  handler: JobHandler<Input>,
): JobDefinition<JsonInput<Input>>;
/** Names jobs that `Jobs.schedule` sets, with a schema. @public */
export function defineJob<Input, Output>(
  name: string,
  options: ScheduledJobOptions<Input, Output>,
  handler: JobHandler<NoInfer<Output>>,
): JobDefinition<Input>;
/** Names jobs that `Jobs.schedule` sets. @public */
export function defineJob<Input = unknown>(name: string, handler: JobHandler<Input>): JobDefinition<JsonInput<Input>>;
export function defineJob(
  name: string,
  ...given: readonly [JobHandler<never>] | readonly [JobDefinition['options'], JobHandler<never>]
): JobDefinition {
  if (typeof name !== 'string' || name === '')
    throw invalidArgument(`the name of a job is ${shown(name)}: expected a text that is not empty`, 'name');
  const [options, handler] =
    given.length < 2 ? [{}, given[0] as JobHandler<never>] : (given as [JobDefinition['options'], JobHandler<never>]);
  const job = `job ${JSON.stringify(name)}`;
  checkFunction(handler, `the handler of ${job}`, 'handler');
  const what = `options of ${job}`;
  refuseFailurePolicy(what, Object(options), invalidArgument);
  checkOptions<object>(what, options, FIELDS, invalidArgument);
  slotLimitsOf(what, options, invalidArgument);
  checkRetry(options.retry, `retry in ${what}`);
  checkSchema(options.schema, 'schema', what);
  if (options.schedule !== undefined) checkRecurring(name, options);
  else if ('data' in options || 'dueTime' in options)
    throw invalidArgument(
      `${job} has no schedule: its data and dueTime are those of jobs.schedule`,
      'options.schedule',
    );
  return { kind: 'job', name, options, handler };
}

/** Code has the retries that all blocks have; the API has those of Dapr. */
export function refuseFailurePolicy(what: string, options: object, error: OptionError): void {
  if ('failurePolicy' in options)
    throw error(
      `${what}: unknown field "failurePolicy": expected retry, such as { maxRetries: 5, delay: '1m' }`,
      'options.failurePolicy',
    );
}

/** The retries that are kept with a job: a function cannot be. */
export function keptRetry(retry: RetryOptions | undefined): JobRetryOptions | undefined {
  if (retry === undefined) return undefined;
  const { retryIf: _notKept, ...rest } = retry;
  return rest;
}

function checkRecurring(name: string, { data, schema }: RecurringJobOptions<unknown, unknown>): void {
  if (name.includes(ANY))
    throw invalidArgument(
      `job ${JSON.stringify(name)} has a schedule: expected the name of one job, without *`,
      'name',
    );
  // What JSON cannot hold is refused with its place when the job is registered.
  const sent: unknown = data === undefined ? undefined : JSON.parse(JSON.stringify(data) ?? 'null');
  const checked = parseWith(schema, sent, (problem) => misfit(name, problem));
  // It fails the runs, then.
  if (isPromise(checked)) checked.catch(() => undefined);
}

/** Stands for any characters in the names of jobs. */
export const ANY = '*';

/** The error for data of a job that do not fit its schema. */
export function misfit(name: string, problem: string): SidecarError {
  return invalidData(`the data of job ${JSON.stringify(name)} ${problem}`);
}

/** A job by its name, or its definition. */
export type JobOrName = JobDefinition | string;

/**
 * The name of a job. For the definition of several, `id` says which one.
 *
 * @throws SidecarError `ERR_INVALID_ARGUMENT` for an `id` that is missing, or has no place in the name.
 */
export function nameOfJob(job: JobOrName, id: string | undefined): string {
  if (Object(job).kind !== 'job') {
    if (id !== undefined) throw badId(`the job ${shown(job)} has an id: expected what defineJob returns`);
    // In JavaScript it may be anything: where names are checked it is refused.
    return job as string;
  }
  const { name } = job as JobDefinition;
  const parts = name.split(ANY);
  if (parts.length === 1 && id === undefined) return name;
  const jobs = `jobs ${JSON.stringify(name)}`;
  if (parts.length === 1) throw badId(`${jobs} have the id ${shown(id)}: expected none, as the name has no *`);
  if (parts.length > 2) throw badId(`${jobs} have more than one *: expected the name of the job instead`);
  if (typeof id !== 'string' || id === '')
    throw badId(`${jobs} have the id ${shown(id)}: expected a text for the * in the name`);
  return parts.join(id);
}

function badId(problem: string): SidecarError {
  return invalidArgument(problem, 'id');
}

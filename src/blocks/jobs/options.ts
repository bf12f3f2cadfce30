import { DEFAULT_MAX_CRASHES } from '../../util/crashes.ts';
import { type Complete, definedOnly } from '../../util/defined-only.ts';
import { type Duration, msOf } from '../../util/duration.ts';
import { DURATION, type JsonSchema, NOT_NEGATIVE, optionsSchema, POSITIVE } from '../../util/options-schema.ts';
import type { Wire } from '../../wire.ts';

/** Options of jobs. @public */
export interface JobsOptions {
  /** The maximum number of concurrent runs; never more than the application's `maxConcurrency`. Default 100. */
  readonly concurrency?: number | undefined;
  /**
   * The treatment of ticks missed while the process was down, the application unavailable or the previous run still in
   * progress: `once` makes one run for all of them, `all` runs each. It holds for the reminders of actors, too. Default
   * `once`; `all` with `wire: 'dapr'`.
   */
  readonly missedTicks?: 'once' | 'all' | undefined;
  /**
   * The application's time limit for a run; 0 for no limit. Functions in code have only the time limit of
   * {@link JobDefinitionOptions}. Default `1m`; none with `wire: 'dapr'`.
   */
  readonly timeout?: Duration | undefined;
  /**
   * How often in a row the process may end while the same run is under way before that attempt counts as failed, and
   * the job's failure policy decides what follows. The first time and stops are not counted. 0: never. It holds for the
   * reminders of actors, too. Default 3.
   */
  readonly maxCrashes?: number | undefined;
  /**
   * How long a job that runs once is kept, with its data, after it has failed for good: it can be run again or deleted.
   * 0: not at all. Default `7d`.
   */
  readonly keepFailed?: Duration | undefined;
}

/** The JSON schema of {@link JobsOptions}. */
export const JOBS_OPTIONS_SCHEMA: JsonSchema = optionsSchema<JobsOptions>({
  concurrency: POSITIVE,
  missedTicks: { enum: ['once', 'all'] },
  timeout: DURATION,
  maxCrashes: NOT_NEGATIVE,
  keepFailed: DURATION,
});

/** Options, complete. */
export interface JobsSettings extends Complete<Omit<JobsOptions, 'timeout' | 'keepFailed'>> {
  readonly timeoutMs: number;
  readonly keepFailedMs: number;
}

/** A week: time to notice the failure, to mend its cause, and to run the job again. */
const DEFAULT_KEEP_FAILED_MS = 7 * 24 * 3_600_000;

/** Fills in defaults. */
export function resolveJobs(
  { timeout, keepFailed, ...options }: JobsOptions,
  { appTimeLimitMs, jobs: { missedTicks } }: Wire,
): JobsSettings {
  const timeoutMs = msOf(timeout) ?? appTimeLimitMs;
  const keepFailedMs = msOf(keepFailed) ?? DEFAULT_KEEP_FAILED_MS;
  const defaults = { concurrency: 100, missedTicks, maxCrashes: DEFAULT_MAX_CRASHES };
  return { ...defaults, ...definedOnly(options), timeoutMs, keepFailedMs };
}

import { definedOnly } from '../../util/defined-only.ts';
import { type JsonSchema, NOT_NEGATIVE, optionsSchema, POSITIVE } from '../../util/options-schema.ts';
import type { Wire } from '../../wire.ts';

/** How jobs are run. @public */
export interface JobsOptions {
  /** The most runs at a time; never more than the application's `maxConcurrency`. Default 100. */
  readonly concurrency?: number;
  /**
   * What becomes of ticks that were missed while the process was down, the application away or the run before them
   * still under way: `once` makes one run of them, `all` runs each. Default `once`; `all` with `wire: 'dapr'`.
   */
  readonly missedTicks?: 'once' | 'all';
  /**
   * How long the application may take for a run, in milliseconds; 0 for no limit. For functions in code there is none
   * but that of {@link JobHandlerOptions}. Default 60,000.
   */
  readonly timeoutMs?: number;
}

/** The JSON schema of {@link JobsOptions}. */
export const JOBS_OPTIONS_SCHEMA: JsonSchema = optionsSchema<JobsOptions>({
  concurrency: POSITIVE,
  missedTicks: { enum: ['once', 'all'] },
  timeoutMs: NOT_NEGATIVE,
});

/** Fills in defaults. */
export function resolveJobs(options: JobsOptions, { jobs: { missedTicks } }: Wire): Required<JobsOptions> {
  return { concurrency: 100, missedTicks, timeoutMs: 60_000, ...definedOnly(options) };
}

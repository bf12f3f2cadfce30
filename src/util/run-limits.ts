import { msOf } from './duration.ts';
import { duration } from './duration-option.ts';
import { checkOptions, field, type OptionError, type OptionFields, required, whole } from './option-fields.ts';
import { MAX_RATE, type Rate } from './rate.ts';

/**
 * Limits of the runs of one name, over all processes that run the application on the same state. Retries count, too. What
 * comes above waits. If the processes give different limits, the lowest one holds while its process runs any, and the log
 * of the others has a warning.
 *
 * @public
 */
export interface RunLimits {
  /** The most runs at a time, from 1 to 1,000,000. Default: no limit. */
  readonly globalConcurrency?: number | undefined;
  /** The most runs that begin in a time. Default: no limit. */
  readonly rate?: Rate | undefined;
}

/** Slots for runs: each is taken until its run has ended or, with `perMs`, for so long from its begin. */
export interface SlotLimit {
  readonly max: number;
  readonly perMs?: number | undefined;
}

const RATE_FIELDS: OptionFields<Rate> = { max: required(whole(1, MAX_RATE)), per: required(duration(1)) };

/** The fields of {@link RunLimits}. What is in `rate` is checked with {@link slotLimitsOf}. */
export const RUN_LIMIT_FIELDS: OptionFields<RunLimits> = {
  globalConcurrency: whole(1, MAX_RATE),
  rate: field((value) => typeof value === 'object' && value !== null, "an object such as { max: 50, per: '1s' }"),
};

/**
 * Limits as slots; none without limits. Check the fields first.
 *
 * @throws what `error` makes, for a rate that is none.
 */
export function slotLimitsOf(
  what: string,
  { globalConcurrency, rate }: RunLimits,
  error: OptionError,
): readonly SlotLimit[] {
  if (rate !== undefined)
    checkOptions(`rate in ${what}`, rate, RATE_FIELDS, (problem, argument = 'options') =>
      error(problem, argument.replace(/^options\b/, 'options.rate')),
    );
  return [
    ...(globalConcurrency === undefined ? [] : [{ max: globalConcurrency }]),
    ...(rate === undefined ? [] : [{ max: rate.max, perMs: msOf(rate.per) ?? 1 }]),
  ];
}

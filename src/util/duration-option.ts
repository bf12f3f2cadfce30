import { DURATION_FORMS, type Duration, isDurationWithin, readDuration } from './duration.ts';
import { invalidArgument, type OptionError, type OptionField } from './option-fields.ts';
import { shown } from './shown.ts';

/**
 * Reads a {@link Duration} that the code gets at run time, such as from a file or the environment.
 *
 * @returns its milliseconds, with fractions
 * @throws SidecarError `ERR_INVALID_ARGUMENT` for a text of another form, and for one below zero.
 * @public
 */
export function parseDuration(text: string): number {
  return parseDurationOption('the duration', text, (problem) => invalidArgument(problem, 'text'));
}

/**
 * The milliseconds of a duration, with fractions. `what` names it: the option, unless `fail` knows its path.
 *
 * @param fail - makes the error. Default: `ERR_INVALID_ARGUMENT`
 * @throws SidecarError naming the value and what is expected.
 */
export function parseDurationOption(
  what: string,
  value: Duration | string,
  fail: OptionError = invalidArgument,
): number {
  const ms = readDuration(value);
  if (ms !== undefined && Number.isFinite(ms) && ms >= 0) return ms;
  throw fail(`${what} is ${shown(value)}: expected ${DURATION_FORMS}`, `options.${what}`);
}

/** A field of options that has a duration, within bounds in milliseconds. */
export function duration(minMs = 0, maxMs: number = Number.MAX_SAFE_INTEGER): OptionField {
  const bounds = boundsOf(minMs, maxMs);
  return {
    expected: (value) => (isDurationWithin(value, minMs, maxMs) ? undefined : `${DURATION_FORMS}${bounds}`),
  };
}

function boundsOf(minMs: number, maxMs: number): string {
  const most = maxMs === Number.MAX_SAFE_INTEGER ? '' : ` and ${maxMs} ms at most`;
  return minMs === 0 && most === '' ? '' : `, of ${minMs} ms or more${most}`;
}

import { SidecarError } from '../errors.ts';
import { parseGoDuration } from './duration.ts';
import type { OptionError } from './option-fields.ts';
import { shown } from './shown.ts';

/**
 * A duration in milliseconds, with fractions: a number of them, or a text such as `1h30m`. `what` names the option.
 *
 * @param fail - makes the error. Default: `ERR_BAD_REQUEST`
 * @throws SidecarError naming the value and what is expected.
 */
export function parseDurationOption(what: string, value: number | string, fail: OptionError = badRequest): number {
  const ms = typeof value === 'string' ? parseGoDuration(value) : value;
  if (typeof ms === 'number' && Number.isFinite(ms) && ms >= 0) return ms;
  throw fail(`${what} is ${shown(value)}: expected a number of milliseconds or a duration such as 1h30m`);
}

function badRequest(message: string): SidecarError {
  return new SidecarError('ERR_BAD_REQUEST', message);
}

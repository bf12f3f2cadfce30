import { SidecarError } from '../errors.ts';
import { parseGoDuration } from './duration.ts';
import { shown } from './shown.ts';

/**
 * A duration in milliseconds, with fractions: a number of them, or a text such as `1h30m`. `what` names the option.
 *
 * @throws SidecarError `ERR_BAD_REQUEST`, naming the value and what is expected.
 */
export function parseDurationOption(what: string, value: number | string): number {
  const ms = typeof value === 'string' ? parseGoDuration(value) : value;
  if (typeof ms === 'number' && Number.isFinite(ms) && ms >= 0) return ms;
  const expected = 'a number of milliseconds or a duration such as 1h30m';
  throw new SidecarError('ERR_BAD_REQUEST', `${what} is ${shown(value)}: expected ${expected}`);
}

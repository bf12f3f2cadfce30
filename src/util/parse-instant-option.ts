import { SidecarError } from '../errors.ts';
import { LAST_INSTANT } from './clock.ts';
import { shown } from './shown.ts';

/**
 * An instant in milliseconds since 1970. `what` names the option.
 *
 * @throws SidecarError `ERR_BAD_REQUEST`, naming the value and what is expected.
 */
export function parseInstantOption(what: string, value: Date | number): number {
  const at = value instanceof Date ? value.getTime() : value;
  if (typeof at === 'number' && Math.abs(at) <= LAST_INSTANT) return at;
  const given = value instanceof Date ? 'an invalid Date' : shown(value);
  throw new SidecarError('ERR_BAD_REQUEST', `${what} is ${given}: expected a Date or milliseconds since 1970`);
}

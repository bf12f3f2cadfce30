import { SidecarError } from '../errors.ts';
import { isTruthy } from './is-truthy.ts';

const FALSE = new Set(['', '0', 'false', 'no', 'off', 'n', 'f']);

/**
 * Whether an environment variable is on; an absent one is not.
 *
 * @throws SidecarError `ERR_CONFIGURATION` for a value that is neither true nor false.
 */
export function isSwitchedOn(environment: NodeJS.ProcessEnv, name: string): boolean {
  const value = environment[name] ?? '';
  if (isTruthy(value)) return true;
  if (FALSE.has(value.trim().toLowerCase())) return false;
  throw new SidecarError(
    'ERR_CONFIGURATION',
    `environment variable ${name} is ${JSON.stringify(value)}: expected true or false`,
  );
}

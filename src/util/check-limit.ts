import { SidecarError } from '../errors.ts';

/**
 * Checks the size of a page.
 *
 * @throws SidecarError `ERR_BAD_REQUEST`, naming the value and the allowed ones.
 */
export function checkLimit(limit: number, max: number): void {
  if (Number.isInteger(limit) && limit >= 1 && limit <= max) return;
  throw new SidecarError('ERR_BAD_REQUEST', `limit is ${limit}: expected a whole number from 1 to ${max}`);
}

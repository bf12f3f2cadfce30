import { SidecarError } from '../errors.ts';
import { shown } from './shown.ts';

/** Which names to list, and from where on. */
export interface NamePage {
  readonly prefix: string;
  readonly cursor: string | undefined;
}

/**
 * Checks what a page of names is asked for with, two texts. The cursor of a page is a name with the prefix.
 *
 * @throws SidecarError `ERR_INVALID_ARGUMENT`, naming the value and what is expected.
 */
export function checkNamePage({ prefix, cursor = prefix }: NamePage): void {
  if (cursor.startsWith(prefix)) return;
  const given = `cursor is ${JSON.stringify(cursor)}`;
  throw new SidecarError(
    'ERR_INVALID_ARGUMENT',
    `${given}: expected that of a page with prefix ${JSON.stringify(prefix)}`,
    { argument: 'options.cursor' },
  );
}

/**
 * Checks the size of a page.
 *
 * @throws SidecarError `ERR_INVALID_ARGUMENT`, naming the value and the allowed ones.
 */
export function checkLimit(limit: number, max: number): void {
  if (Number.isInteger(limit) && limit >= 1 && limit <= max) return;
  throw new SidecarError('ERR_INVALID_ARGUMENT', `limit is ${shown(limit)}: expected a whole number from 1 to ${max}`, {
    argument: 'options.limit',
  });
}

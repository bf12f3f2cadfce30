import { SidecarError } from '../../../errors.ts';
import { shown } from '../../../util/shown.ts';

const MAX_LENGTH = 64;
/** Where the ID of a new instance is given. */
const OPTION = 'options.instanceId';
const ALLOWED = /^[A-Za-z0-9_-]*$/;

/** Rejects an invalid ID for a new instance. */
export function checkInstanceId(instanceId: string): void {
  checkIsText(instanceId, OPTION);
  if (instanceId === '') throw invalidId(OPTION, 'is empty: expected letters, digits, _ and -');
  if (instanceId.length > MAX_LENGTH)
    throw invalidId(
      OPTION,
      `${shownOf(instanceId)}… has ${instanceId.length} characters: at most ${MAX_LENGTH} are accepted`,
      'ERR_INSTANCE_ID_TOO_LONG',
    );
  if (!ALLOWED.test(instanceId))
    throw invalidId(OPTION, `${shownOf(instanceId)} is invalid: expected letters, digits, _ and - only`);
}

/** In JavaScript anything may come, mostly `undefined`. */
export function checkIsText(instanceId: unknown, argument = 'instanceId'): void {
  if (typeof instanceId === 'string') return;
  throw invalidId(argument, `is ${shown(instanceId)}: expected a string of letters, digits, _ and -`);
}

/** Over HTTP it has the codes of the API. */
function invalidId(
  argument: string,
  problem: string,
  wireCode: 'ERR_INSTANCE_ID_INVALID' | 'ERR_INSTANCE_ID_TOO_LONG' = 'ERR_INSTANCE_ID_INVALID',
): SidecarError {
  return new SidecarError('ERR_INVALID_ARGUMENT', `workflow instance ID ${problem}`, { argument, wireCode });
}

function shownOf(instanceId: string): string {
  return JSON.stringify(instanceId.slice(0, MAX_LENGTH));
}

/** The longest ID that is derived from a parent's: it limits how deep workflows can be nested. */
export const MAX_CHILD_ID_LENGTH = 400;

/**
 * Whether an instance, possibly a child, can have an ID.
 *
 * @throws SidecarError `ERR_INVALID_ARGUMENT` for what is no text.
 */
export function canBeInstanceId(instanceId: string): boolean {
  checkIsText(instanceId);
  return instanceId !== '' && instanceId.length <= MAX_CHILD_ID_LENGTH && ALLOWED.test(instanceId);
}

const TIMESTAMP_DIGITS = 12;
const HIGH_DIGITS = 8;
/** The end of a UUID's version digit. */
const AFTER_VERSION = 15;

/**
 * Makes an ID for an instance whose caller gives none: a UUID of version 7 (RFC 9562) based on a random one. Instances
 * started one after the other are then adjacent in the store: on the embedded store they share pages, which makes a
 * turn about twice as fast as with random IDs.
 */
export function newInstanceId(now: number, uuid: string): string {
  const digits = Math.max(0, Math.floor(now)).toString(16).padStart(TIMESTAMP_DIGITS, '0').slice(-TIMESTAMP_DIGITS);
  return `${digits.slice(0, HIGH_DIGITS)}-${digits.slice(HIGH_DIGITS)}-7${uuid.slice(AFTER_VERSION)}`;
}

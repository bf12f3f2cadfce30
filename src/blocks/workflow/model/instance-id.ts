import { SidecarError } from '../../../errors.ts';

const MAX_LENGTH = 64;
const ALLOWED = /^[A-Za-z0-9_-]*$/;

/** Refuses an ID with which no instance can be started. */
export function checkInstanceId(instanceId: string): void {
  if (typeof instanceId !== 'string' || instanceId === '')
    throw new SidecarError(
      'ERR_INSTANCE_ID_INVALID',
      'workflow instance ID is empty: expected letters, digits, _ and -',
    );
  if (instanceId.length > MAX_LENGTH)
    throw new SidecarError(
      'ERR_INSTANCE_ID_TOO_LONG',
      `workflow instance ID ${shownOf(instanceId)}… has ${instanceId.length} characters: at most ${MAX_LENGTH} are accepted`,
    );
  if (!ALLOWED.test(instanceId))
    throw new SidecarError(
      'ERR_INSTANCE_ID_INVALID',
      `workflow instance ID ${shownOf(instanceId)} is invalid: expected letters, digits, _ and - only`,
    );
}

function shownOf(instanceId: string): string {
  return JSON.stringify(instanceId.slice(0, MAX_LENGTH));
}

/** The longest ID of a child that is made of its parent's: so deep can workflows be nested. */
export const MAX_CHILD_ID_LENGTH = 400;

/** Whether there can be an instance of an ID, that of a child among them. */
export function canBeInstanceId(instanceId: string): boolean {
  return instanceId !== '' && instanceId.length <= MAX_CHILD_ID_LENGTH && ALLOWED.test(instanceId);
}

const TIMESTAMP_DIGITS = 12;
const HIGH_DIGITS = 8;
/** Where the version's digit of a UUID ends. */
const AFTER_VERSION = 15;

/**
 * An ID for an instance whose caller gives none: a UUID of version 7 (RFC 9562), made of a random one. Instances that
 * are started one after the other lie next to each other in the store then: on the embedded store they share pages,
 * which makes a turn about twice as fast as with random IDs.
 */
export function newInstanceId(now: number, uuid: string): string {
  const digits = Math.max(0, Math.floor(now)).toString(16).padStart(TIMESTAMP_DIGITS, '0').slice(-TIMESTAMP_DIGITS);
  return `${digits.slice(0, HIGH_DIGITS)}-${digits.slice(HIGH_DIGITS)}-7${uuid.slice(AFTER_VERSION)}`;
}

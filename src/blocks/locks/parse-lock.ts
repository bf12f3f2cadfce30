import { KEY_SEPARATOR } from '../../components/key-value-options.ts';
import { parseJsonBody } from '../../util/json-text.ts';
import { shown } from '../../util/shown.ts';
import { malformedLock } from './errors.ts';

/** The longest time of a lock, in seconds. */
export const MAX_EXPIRY_SECONDS: number = 2 ** 31 - 1;
const MAX_RESOURCE_BYTES = 512;
const MAX_OWNER_BYTES = 256;

/** A lock and its owner. */
export interface LockName {
  readonly resource: string;
  readonly owner: string;
}

/** A request for a lock. */
export interface LockRequest extends LockName {
  readonly expiryMs: number;
}

/** Reads the body of a request for a lock. */
export function parseLock(body: Buffer): LockRequest {
  const fields = fieldsOf(body);
  return { ...lockNameOf(fields), expiryMs: expirySecondsOf(fields) * 1_000 };
}

/** Reads the body of a request to unlock. */
export function parseUnlock(body: Buffer): LockName {
  return lockNameOf(fieldsOf(body));
}

/**
 * Checks what identifies a lock.
 *
 * @throws SidecarError `ERR_MALFORMED_REQUEST`.
 */
export function checkLockName({ resource, owner }: LockName): void {
  checkText('resourceId', resource, MAX_RESOURCE_BYTES);
  checkText('lockOwner', owner, MAX_OWNER_BYTES);
  if (resource.includes(KEY_SEPARATOR))
    throw malformedLock(`resourceId ${shown(resource)} contains ${KEY_SEPARATOR}: expected a text without it`);
}

function checkText(name: string, value: unknown, maxBytes: number): void {
  if (typeof value !== 'string' || value === '') {
    const given = value === undefined || value === '' ? 'missing' : shown(value);
    throw malformedLock(`${name} is ${given}: expected a text that is not empty`);
  }
  if (!value.isWellFormed()) throw malformedLock(`${name} ${shown(value)} is not Unicode: it has half of a pair`);
  const bytes = Buffer.byteLength(value);
  if (bytes > maxBytes) throw malformedLock(`${name} has ${bytes} bytes: expected at most ${maxBytes}`);
}

type Fields = ReadonlyMap<string, unknown>;

function fieldsOf(body: Buffer): Fields {
  const { value } = parseJsonBody(body, malformedLock);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw malformedLock('the body is not a JSON object');
  return new Map<string, unknown>(Object.entries(value));
}

/** A field in one of its two spellings; `null` is missing. */
function fieldOf(fields: Fields, name: string, other: string): unknown {
  return fields.get(name) ?? fields.get(other) ?? undefined;
}

function lockNameOf(fields: Fields): LockName {
  // The casts are safe: `checkLockName` refuses whatever is no text.
  const resource = fieldOf(fields, 'resourceId', 'resource_id') as string;
  const owner = fieldOf(fields, 'lockOwner', 'lock_owner') as string;
  checkLockName({ resource, owner });
  return { resource, owner };
}

function expirySecondsOf(fields: Fields): number {
  const given = fieldOf(fields, 'expiryInSeconds', 'expiry_in_seconds');
  const seconds = typeof given === 'string' && /^\d{1,10}$/.test(given) ? Number(given) : given;
  if (typeof seconds === 'number' && Number.isInteger(seconds) && seconds >= 1 && seconds <= MAX_EXPIRY_SECONDS)
    return seconds;
  const actual = given === undefined ? 'missing' : shown(given);
  throw malformedLock(`expiryInSeconds is ${actual}: expected a whole number from 1 to ${MAX_EXPIRY_SECONDS}`);
}

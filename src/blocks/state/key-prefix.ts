import type { KeyValueDefinition } from '../../components/key-value.ts';
import { KEY_SEPARATOR } from '../../components/key-value-options.ts';
import { keyPrefixText } from '../key-prefix.ts';
import { illegalKey, malformed, quoted } from './errors.ts';

/** The largest key of a request, in bytes of UTF-8. */
const MAX_STATE_KEY_BYTES = 512;

/** The application that the keys belong to. */
export interface KeyOwner {
  readonly appId: string;
  /** `undefined` if none is set. */
  readonly namespace: string | undefined;
}

/** The prefix of the keys of an application in the database. */
export function keyPrefixOf({ name, options }: KeyValueDefinition, { appId, namespace }: KeyOwner): string {
  const isNamespace = options.keyPrefix?.toLowerCase() === 'namespace';
  const prefix = isNamespace
    ? [namespace, appId].filter((part) => part !== undefined).join('.')
    : keyPrefixText(options.keyPrefix, { name, appId });
  return prefix === '' ? '' : prefix + KEY_SEPARATOR;
}

/** @throws SidecarError `ERR_MALFORMED_REQUEST` for a key that a request may not have */
export function checkKey(storeName: string, key: unknown): asserts key is string {
  if (typeof key !== 'string') throw malformed('a key is missing: expected a text that is not empty');
  if (key === '') throw malformed('a key is empty: expected a text that is not empty');
  if (key.includes(KEY_SEPARATOR)) throw illegalKey(storeName, key);
  if (!key.isWellFormed()) throw malformed(`key ${quoted(key)} has an unpaired surrogate: expected Unicode text`);
  if (isTooLong(key))
    throw malformed(
      `key ${quoted(key)} has ${Buffer.byteLength(key)} bytes: at most ${MAX_STATE_KEY_BYTES} are accepted`,
    );
}

/** Whether a key has more bytes than that of a request may have. */
export function isTooLong(key: string): boolean {
  // A code unit takes at most three bytes.
  return key.length * 3 > MAX_STATE_KEY_BYTES && Buffer.byteLength(key) > MAX_STATE_KEY_BYTES;
}

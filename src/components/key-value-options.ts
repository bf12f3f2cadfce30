import { SidecarError } from '../errors.ts';
import { duration } from '../util/duration-option.ts';
import { checkOptions, field, type OptionFields, secret, TEXT } from '../util/option-fields.ts';
import type { EncryptionKey, OutboxOptions, StateStoreOptions } from './key-value.ts';

/** Separates a prefix from the key. */
export const KEY_SEPARATOR = '||';

/** The longest TTL of a value, in seconds. */
export const MAX_TTL_SECONDS: number = 2 ** 31 - 1;

const HEX_KEY = /^(?:[0-9a-f]{32}|[0-9a-f]{48}|[0-9a-f]{64})$/i;

const PREFIX = field(
  (value) => typeof value === 'string' && value !== '' && !value.includes(KEY_SEPARATOR),
  `appid, namespace, name, none or another word without ${KEY_SEPARATOR}`,
);
const KEY = secret(field(isObject, 'an object with name and key'));

/** The fields that every state store has. */
export const STORE_FIELDS: OptionFields<StateStoreOptions> = {
  keyPrefix: PREFIX,
  defaultTtl: duration(1, MAX_TTL_SECONDS * 1_000),
  primaryEncryptionKey: KEY,
  secondaryEncryptionKey: KEY,
  outbox: field(isObject, 'an object with pubsubName and topic'),
};

const KEY_FIELDS: OptionFields<EncryptionKey> = {
  name: { ...TEXT, isRequired: true },
  key: secret({
    ...field((value) => typeof value === 'string' && HEX_KEY.test(value), 'a key of 16, 24 or 32 bytes in hexadecimal'),
    isRequired: true,
  }),
};
const OUTBOX_FIELDS: OptionFields<OutboxOptions> = {
  pubsubName: { ...TEXT, isRequired: true },
  topic: { ...TEXT, isRequired: true },
};

/**
 * Checks the options of a state store of any technology, whose fields are `fields`.
 *
 * @throws SidecarError `ERR_CONFIGURATION`, naming the options, the field and, unless it is secret, the value.
 */
export function checkStoreOptions<T extends StateStoreOptions>(
  what: string,
  options: T,
  fields: OptionFields<T>,
): void {
  checkOptions(what, options, fields);
  const { primaryEncryptionKey, secondaryEncryptionKey, outbox } = options;
  if (primaryEncryptionKey !== undefined)
    checkOptions(`primaryEncryptionKey in ${what}`, primaryEncryptionKey, KEY_FIELDS);
  if (secondaryEncryptionKey !== undefined)
    checkOptions(`secondaryEncryptionKey in ${what}`, secondaryEncryptionKey, KEY_FIELDS);
  if (secondaryEncryptionKey !== undefined && primaryEncryptionKey === undefined)
    throw new SidecarError(
      'ERR_CONFIGURATION',
      `secondaryEncryptionKey in ${what} needs a primaryEncryptionKey: new values would not be encrypted`,
    );
  if (outbox !== undefined) checkOptions(`outbox in ${what}`, outbox, OUTBOX_FIELDS);
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

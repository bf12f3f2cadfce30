import { field, type OptionFields } from '../util/option-fields.ts';
import { KEY_SEPARATOR } from './key-value-options.ts';
import type { LockStoreOptions } from './lock-store.ts';

/** The fields that every lock store has. */
export const LOCK_FIELDS: OptionFields<LockStoreOptions> = {
  keyPrefix: field(
    (value) => typeof value === 'string' && value !== '' && !value.includes(KEY_SEPARATOR),
    `appid, name, none or another word without ${KEY_SEPARATOR}`,
  ),
};

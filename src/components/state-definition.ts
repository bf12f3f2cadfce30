import { MAX_TIMEOUT_MS } from '../util/clock.ts';
import { duration } from '../util/duration-option.ts';
import { type OptionField, type OptionFields, TEXTS } from '../util/option-fields.ts';
import type { KeyValueDefinition, StateStoreOptions } from './key-value.ts';
import { STORE_FIELDS } from './key-value-options.ts';

/** The options of every state store with a format of its own. */
export interface StoreAccess extends StateStoreOptions {
  readonly scopes?: readonly string[] | undefined;
}

/** The fields of {@link StoreAccess}. */
export const FORMAT_STORE_FIELDS: OptionFields<StoreAccess> = { ...STORE_FIELDS, scopes: TEXTS };

/** A time limit. */
export const TIMEOUT: OptionField = duration(1, MAX_TIMEOUT_MS);

/** The definition of a state store with a format of its own. */
export function stateDefinition(
  named: Pick<KeyValueDefinition, 'name' | 'type' | 'version'>,
  { scopes, ...given }: StoreAccess,
  open: KeyValueDefinition['open'],
): KeyValueDefinition {
  const { keyPrefix, defaultTtl, primaryEncryptionKey, secondaryEncryptionKey, outbox } = given;
  const options: StateStoreOptions = {
    ...(keyPrefix === undefined ? {} : { keyPrefix }),
    ...(defaultTtl === undefined ? {} : { defaultTtl }),
    ...(primaryEncryptionKey === undefined ? {} : { primaryEncryptionKey }),
    ...(secondaryEncryptionKey === undefined ? {} : { secondaryEncryptionKey }),
    ...(outbox === undefined ? {} : { outbox }),
  };
  return { ...named, block: 'state', options, ...(scopes === undefined ? {} : { scopes }), open };
}

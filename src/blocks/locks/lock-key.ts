import { KEY_SEPARATOR } from '../../components/key-value-options.ts';
import type { LockStoreDefinition } from '../../components/lock-store.ts';
import { keyPrefixText } from '../key-prefix.ts';

/** The key of a lock in its store: `lock||<prefix>||<resource>`, as Dapr has it. */
export function lockKey({ name, options }: LockStoreDefinition, appId: string, resource: string): string {
  const prefix = keyPrefixText(options.keyPrefix, { name, appId });
  return ['lock', ...(prefix === '' ? [] : [prefix]), resource].join(KEY_SEPARATOR);
}

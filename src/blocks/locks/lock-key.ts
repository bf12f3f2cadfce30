import { KEY_SEPARATOR } from '../../components/key-value-options.ts';
import type { LockStoreDefinition } from '../../components/lock-store.ts';

/** The key of a lock in its store: `lock||<prefix>||<resource>`, as Dapr has it. */
export function lockKey({ name, options }: LockStoreDefinition, appId: string, resource: string): string {
  const prefix = prefixOf(options.keyPrefix ?? 'appid', name, appId);
  return ['lock', ...prefix, resource].join(KEY_SEPARATOR);
}

function prefixOf(written: string, name: string, appId: string): readonly string[] {
  const word = written.toLowerCase();
  if (word === 'none') return [];
  if (word === 'appid') return [appId];
  return word === 'name' ? [name] : [word];
}

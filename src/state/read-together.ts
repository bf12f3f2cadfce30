import { retryOnConflict } from './retry-on-conflict.ts';
import type { Entry, StateStore } from './store.ts';

/** How often entries may change while they are read. */
const MAX_TRIES = 20;

/**
 * Reads entries from one state of a store, also of one without `getAll`: then until none of them changes meanwhile. Keys
 * may repeat.
 */
export async function readTogether(
  store: StateStore,
  keys: readonly string[],
): Promise<readonly (Entry | undefined)[]> {
  const distinct = [...new Set(keys)];
  const found = await (store.getAll?.(distinct) ?? readUnchanged(store, distinct));
  if (distinct.length === keys.length) return found;
  const byKey = new Map(distinct.map((key, index) => [key, found[index]]));
  return keys.map((key) => byKey.get(key));
}

function readUnchanged(store: StateStore, keys: readonly string[]): Promise<readonly (Entry | undefined)[]> {
  return retryOnConflict(MAX_TRIES, async () => {
    const entries = await Promise.all(keys.map((key) => store.get(key)));
    await store.commit({ require: keys.map((key, index) => ({ key, version: entries[index]?.version ?? 'absent' })) });
    return entries;
  });
}

import type { Batch } from './store.ts';

/** The keys that a batch writes or deletes. */
export function changedKeys({ put = [], delete: deleted = [] }: Batch): readonly string[] {
  return [...put.map(({ key }) => key), ...deleted];
}

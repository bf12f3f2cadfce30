import type { KeyedEntry, Scan } from './store.ts';

/** How much one scan of a long range reads at most: more when its first entry alone is larger. */
export type PageSize = Required<Pick<Scan, 'limit' | 'maxBytes'>>;

/** Whether a scan of so much has ended before its range did. */
export function isCutOff(entries: readonly KeyedEntry[], { limit, maxBytes }: PageSize): boolean {
  return entries.length >= limit || entries.reduce((sum, { value }) => sum + value.length, 0) >= maxBytes;
}

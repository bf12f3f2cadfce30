import type { KeyedEntry, Scan } from './store.ts';

/** Limits of one scan of a long range; a larger first entry exceeds `maxBytes`. */
export type PageSize = Required<Pick<Scan, 'limit' | 'maxBytes'>>;

/** Whether a scan with these limits ended before the end of its range. */
export function isCutOff(entries: readonly KeyedEntry[], { limit, maxBytes }: PageSize): boolean {
  return entries.length >= limit || entries.reduce((sum, { value }) => sum + value.length, 0) >= maxBytes;
}

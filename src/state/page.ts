import { DamagedValue } from './damaged-value.ts';
import type { KeyedEntry, Scan } from './store.ts';

/** Limits of one scan of a long range; a larger first entry exceeds `maxBytes`. */
export type PageSize = Required<Pick<Scan, 'limit' | 'maxBytes'>>;

/** Whether a scan with these limits ended before the end of its range, or may have. */
export function isCutOff(entries: readonly KeyedEntry[], { limit, maxBytes }: PageSize): boolean {
  if (entries.length >= limit) return true;
  // A damaged value is empty here, but counted with its stored length where the scan was cut off.
  if (entries.some(({ value }) => value instanceof DamagedValue)) return true;
  return entries.reduce((sum, { value }) => sum + value.length, 0) >= maxBytes;
}

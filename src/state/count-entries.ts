import { keyAfter } from './keys.ts';
import type { KeyRange, StateStore } from './store.ts';

/** How many entries a scan of a store without `count` reads at once. */
const PAGE: number = 1_000;

/** The number of entries of a range, at most `limit`. */
export async function countEntries(store: StateStore, range: KeyRange, limit: number): Promise<number> {
  if (store.count !== undefined) return store.count(range, limit);
  let [count, from] = [0, range.from];
  while (count < limit) {
    const wanted = Math.min(PAGE, limit - count);
    const entries = await store.scan({ ...range, from, limit: wanted });
    count += entries.length;
    const last = entries.at(-1);
    if (last === undefined || entries.length < wanted) break;
    from = keyAfter(last.key);
  }
  return count;
}

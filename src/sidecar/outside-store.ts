import { keepLocalHosts, localHostsOf } from '../cluster/local-hosts.ts';
import { StoreView } from '../cluster/store-view.ts';
import type { OnChange } from '../state/local-watch.ts';
import type { Batch, Entry, KeyedEntry, KeyRange, Scan, StateStore } from '../state/store.ts';
import { outside } from '../util/outside.ts';

/**
 * A store that works outside of the context of its callers: it may be the user's code, and what it opens for one call,
 * such as a connection, serves all.
 */
export class OutsideStore extends StoreView {
  constructor(store: StateStore) {
    super(store);
    keepLocalHosts(this, localHostsOf(store));
    // Sidecars that share a frozen store cannot find each other by it.
    if (!Object.isExtensible(store)) Object.preventExtensions(this);
  }

  override get(key: string): Promise<Entry | undefined> {
    return outside(() => super.get(key));
  }

  override getAll(keys: readonly string[]): Promise<readonly (Entry | undefined)[]> {
    return outside(() => super.getAll(keys));
  }

  override scan(scan: Scan): Promise<readonly KeyedEntry[]> {
    return outside(() => super.scan(scan));
  }

  override count(range: KeyRange, limit: number): Promise<number> {
    return outside(() => super.count(range, limit));
  }

  override commit(batch: Batch): Promise<number> {
    return outside(() => super.commit(batch));
  }

  override watch(prefix: string, onChange: OnChange): Disposable {
    return outside(() => super.watch(prefix, (keys, by) => outside(() => onChange(keys, by))));
  }

  override close(): Promise<void> {
    return outside(() => super.close());
  }
}

import type { OnChange } from '../state/local-watch.ts';
import type { Batch, StateStore } from '../state/store.ts';
import { keepLocalHosts, type LocalHosts } from './local-hosts.ts';
import { StoreView } from './store-view.ts';

/** One host's access to a store. Its watches report the changes of other hosts, not the host's own. */
export class HostStore extends StoreView {
  constructor(store: StateStore, hosts: LocalHosts) {
    super(store);
    keepLocalHosts(this, hosts);
  }

  override commit(batch: Batch): Promise<number> {
    return super.commit({ ...batch, by: this });
  }

  override watch(prefix: string, onChange: OnChange): Disposable {
    return super.watch(prefix, (keys, by) => {
      if (by !== this) onChange(keys, by);
    });
  }
}

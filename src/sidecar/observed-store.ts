import { keepLocalHosts, localHostsOf } from '../cluster/local-hosts.ts';
import { StoreView } from '../cluster/store-view.ts';
import type { Probe } from '../probe.ts';
import type { Batch, StateStore } from '../state/store.ts';

/** Tells the probe how long commits take. */
export class ObservedStore extends StoreView {
  readonly #probe: Probe;

  constructor(store: StateStore, probe: Probe) {
    super(store);
    this.#probe = probe;
    keepLocalHosts(this, localHostsOf(store));
  }

  override async commit(batch: Batch): Promise<number> {
    const startedAt = performance.now();
    try {
      const version = await super.commit(batch);
      this.#probe.committed(performance.now() - startedAt);
      return version;
    } catch (error) {
      this.#probe.committed(performance.now() - startedAt, error);
      throw error;
    }
  }
}

import type { OnChange } from '../state/local-watch.ts';
import type { Batch, Entry, KeyedEntry, Scan, StateStore } from '../state/store.ts';
import { keepLocalHosts, type LocalHosts } from './local-hosts.ts';

/** One host's access to a store. Its watches report the changes of other hosts, not the host's own. */
export class HostStore implements StateStore {
  readonly #store: StateStore;

  constructor(store: StateStore, hosts: LocalHosts) {
    this.#store = store;
    keepLocalHosts(this, hosts);
  }

  get failure(): Error | undefined {
    return this.#store.failure;
  }

  get isExclusive(): boolean {
    return this.#store.isExclusive === true;
  }

  get hints(): 'all' | 'own' {
    return this.#store.hints ?? 'own';
  }

  get(key: string): Promise<Entry | undefined> {
    return this.#store.get(key);
  }

  scan(scan: Scan): Promise<readonly KeyedEntry[]> {
    return this.#store.scan(scan);
  }

  commit(batch: Batch): Promise<number> {
    return this.#store.commit({ ...batch, by: this });
  }

  watch(prefix: string, onChange: OnChange): Disposable {
    return this.#store.watch(prefix, (keys, by) => {
      if (by !== this) onChange(keys, by);
    });
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

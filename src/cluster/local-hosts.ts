import type { StateStore } from '../state/store.ts';

/** A host of this process. */
export interface LocalHost {
  readonly id: string;
  readonly appId: string;
  /** What represents it in this process. */
  readonly owner: object;
  /** Another host of the same store has come or gone. */
  readonly onOthers: () => void;
}

/** The hosts of this process that use one store. */
export class LocalHosts {
  readonly #hosts = new Map<string, LocalHost>();
  /** Grows with every change. */
  revision = 0;

  add(host: LocalHost): void {
    this.#hosts.set(host.id, host);
    this.revision++;
    this.#tellOthers(host.id);
  }

  remove(id: string): void {
    if (!this.#hosts.delete(id)) return;
    this.revision++;
    this.#tellOthers(id);
  }

  /** A host has another ID from now on. */
  replace(former: string, id: string): void {
    const host = this.#hosts.get(former);
    if (host === undefined) return;
    this.#hosts.delete(former);
    this.#hosts.set(id, { ...host, id });
    this.revision++;
  }

  ownerOf(id: string): object | undefined {
    return this.#hosts.get(id)?.owner;
  }

  /** Tells all but one to look. */
  #tellOthers(id: string): void {
    for (const host of [...this.#hosts.values()]) if (host.id !== id) host.onOthers();
  }

  has(id: string): boolean {
    return this.#hosts.has(id);
  }

  get count(): number {
    return this.#hosts.size;
  }

  countOf(appId: string): number {
    let count = 0;
    for (const host of this.#hosts.values()) if (host.appId === appId) count++;
    return count;
  }
}

/**
 * Kept for the process because hosts that were made apart from each other have to find out that they share a store;
 * what is kept goes with the store.
 */
const byStore = new WeakMap<StateStore, LocalHosts>();
/** Several handles of one open store stand for the same one. */
const originals = new WeakMap<StateStore, StateStore>();

/** Notes that a handle stands for a store. */
export function noteHandle(handle: StateStore, original: StateStore): void {
  originals.set(handle, original);
}

/** The store for which a handle stands; any other is itself. */
export function originalOf(store: StateStore): StateStore {
  return originals.get(store) ?? store;
}

/** The hosts of this process that use a store. */
export function localHostsOf(store: StateStore): LocalHosts {
  const original = originalOf(store);
  const known = byStore.get(original);
  if (known !== undefined) return known;
  const hosts = new LocalHosts();
  byStore.set(original, hosts);
  return hosts;
}

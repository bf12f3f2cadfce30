import type { StateStore } from '../state/store.ts';

/** Represents a host to the other hosts of its process. */
export interface LocalOwner {
  /** The object that it shares with them. */
  readonly offered: object | undefined;
}

/** What hosts call each other for. */
export type HostCalls = 'workflows' | 'actors';

/** A host of this process. */
export interface LocalHost {
  readonly id: string;
  readonly appId: string;
  readonly owner: LocalOwner;
  /** Called when another host of the same store comes or goes, or when other processes may have hosts from now on. */
  readonly onOthers: () => void;
  /** Handle calls of other hosts, by their kind. */
  readonly calls?: Readonly<Partial<Record<HostCalls, object | undefined>>> | undefined;
}

/** The hosts of this process that use one store. */
export class LocalHosts {
  readonly #hosts = new Map<string, LocalHost>();
  /** Incremented with every change. */
  revision = 0;
  /** Identifies the store in this process, even after it is closed and opened again. */
  storeName: string | undefined;

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

  /** Gives a host a new ID. */
  replace(former: string, id: string): void {
    const host = this.#hosts.get(former);
    if (host === undefined) return;
    this.#hosts.delete(former);
    this.#hosts.set(id, { ...host, id });
    this.revision++;
  }

  /** The object that a host shares with the others of this process. */
  offeredBy(id: string): object | undefined {
    return this.#hosts.get(id)?.owner.offered;
  }

  /** Sets or clears a host's handler of calls. */
  setCalls(id: string, kind: HostCalls, handler: object | undefined): void {
    const host = this.#hosts.get(id);
    if (host !== undefined) this.#hosts.set(id, { ...host, calls: { ...host.calls, [kind]: handler } });
  }

  /** A host's handler of calls. */
  callsOf(id: string, kind: HostCalls): object | undefined {
    return this.#hosts.get(id)?.calls?.[kind];
  }

  /** Other processes have the store open now, or none has any more: {@link areHostsLocal} has changed. */
  sharingChanged(): void {
    this.revision++;
    for (const host of [...this.#hosts.values()]) host.onOthers();
  }

  /** Notifies all hosts except one. */
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

const LOCAL_HOSTS = Symbol('the hosts of this process');

/**
 * The hosts of this process that use a store. The store object itself holds them, under a symbol that only this file
 * knows: so hosts that were created independently discover that they share the store.
 */
export function localHostsOf(store: StateStore): LocalHosts {
  return (store as { [LOCAL_HOSTS]?: LocalHosts })[LOCAL_HOSTS] ?? keepLocalHosts(store, new LocalHosts());
}

/** Attaches hosts to a store object. A store that wraps another one gets the hosts of that one. */
export function keepLocalHosts(store: StateStore, hosts: LocalHosts): LocalHosts {
  if (Object.isExtensible(store)) Object.defineProperty(store, LOCAL_HOSTS, { value: hosts });
  return hosts;
}

/** Whether two objects give access to the same open store. Of two views of a frozen store it is not known: `false`. */
export function isSameStore(one: StateStore, other: StateStore): boolean {
  return one === other || localHostsOf(one) === localHostsOf(other);
}

/**
 * Whether all hosts of a store are local: no other process has it open, and they can be attached to it. A frozen store
 * object cannot have hosts attached. It changes when another process opens the store: `sharingChanged` tells of it.
 */
export function areHostsLocal(store: StateStore): boolean {
  return store.isExclusive === true && Object.isExtensible(store);
}

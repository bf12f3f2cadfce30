import type { StateStore } from '../state/store.ts';

/** What represents a host in its process. */
export interface LocalOwner {
  /** What it offers to the other hosts there. */
  readonly offered: object | undefined;
}

/** A host of this process. */
export interface LocalHost {
  readonly id: string;
  readonly appId: string;
  readonly owner: LocalOwner;
  /** Another host of the same store has come or gone. */
  readonly onOthers: () => void;
}

/** The hosts of this process that use one store. */
export class LocalHosts {
  readonly #hosts = new Map<string, LocalHost>();
  /** Grows with every change. */
  revision = 0;
  /** What identifies the store in this process, also when it is closed and opened again. */
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

  /** A host has another ID from now on. */
  replace(former: string, id: string): void {
    const host = this.#hosts.get(former);
    if (host === undefined) return;
    this.#hosts.delete(former);
    this.#hosts.set(id, { ...host, id });
    this.revision++;
  }

  /** What a host offers to the others of this process. */
  offeredBy(id: string): object | undefined {
    return this.#hosts.get(id)?.owner.offered;
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

const LOCAL_HOSTS = Symbol('the hosts of this process');

/**
 * The hosts of this process that use a store. The store itself keeps them, in a property that only this file knows:
 * hosts that were made apart from each other find out there that they share it.
 */
export function localHostsOf(store: StateStore): LocalHosts {
  return (store as { [LOCAL_HOSTS]?: LocalHosts })[LOCAL_HOSTS] ?? keepLocalHosts(store, new LocalHosts());
}

/** Has a store keep them: one that stands for another has those of the other. */
export function keepLocalHosts(store: StateStore, hosts: LocalHosts): LocalHosts {
  if (Object.isExtensible(store)) Object.defineProperty(store, LOCAL_HOSTS, { value: hosts });
  return hosts;
}

/**
 * Whether all hosts of a store are among its local ones: only one process can have it open, and they find each other
 * there. On a frozen object they cannot.
 */
export function areHostsLocal(store: StateStore): boolean {
  return store.isExclusive === true && Object.isExtensible(store);
}

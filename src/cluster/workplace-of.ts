import { randomUUID } from 'node:crypto';
import type { StateStore } from '../state/store.ts';
import type { Workplace } from '../util/workplaces.ts';
import { localHostsOf } from './local-hosts.ts';
import type { Shards } from './shards.ts';

/** A sidecar's state and shards. */
export interface WorkAccess {
  readonly state: StateStore;
  /** Undefined if only this sidecar uses the state. */
  readonly shards?: Shards;
}

/** The workplace of a sidecar's functions; `of` names its subject within the store. */
export function workplaceOf({ state, shards }: WorkAccess, ...of: readonly string[]): Workplace {
  const hosts = localHostsOf(state);
  hosts.storeName ??= randomUUID();
  return { name: JSON.stringify([hosts.storeName, ...of]), host: shards ?? state };
}

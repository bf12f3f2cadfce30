import { randomUUID } from 'node:crypto';
import type { StateStore } from '../state/store.ts';
import type { Workplace } from '../util/workplaces.ts';
import { localHostsOf } from './local-hosts.ts';
import type { Shards } from './shards.ts';

/** A sidecar's state and shards. */
export interface WorkAccess {
  readonly state: StateStore;
  /** Undefined if the sidecar has the state for itself. */
  readonly shards?: Shards;
}

/** Where a sidecar's functions work on something; `of` is its name within the store. */
export function workplaceOf({ state, shards }: WorkAccess, ...of: readonly string[]): Workplace {
  const hosts = localHostsOf(state);
  hosts.storeName ??= randomUUID();
  return { name: JSON.stringify([hosts.storeName, ...of]), host: shards ?? state };
}

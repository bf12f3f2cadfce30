import { randomUUID } from 'node:crypto';
import type { StateStore } from '../state/store.ts';
import type { Workplace } from '../util/workplaces.ts';
import { localHostsOf } from './local-hosts.ts';
import type { Shards } from './shards.ts';

/** A sidecar's access to its work. */
export interface WorkAccess {
  readonly state: StateStore;
  /** Without them the state belongs to nobody else. */
  readonly shards?: Shards;
}

/** Where a sidecar's functions work on something: `of` names what, within the store. */
export function workplaceOf({ state, shards }: WorkAccess, ...of: readonly string[]): Workplace {
  const hosts = localHostsOf(state);
  hosts.storeName ??= randomUUID();
  return { name: JSON.stringify([hosts.storeName, ...of]), host: shards ?? state };
}

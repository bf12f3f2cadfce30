import type { StateStore } from '../state/store.ts';
import type { Workplace } from '../util/workplaces.ts';
import { originalOf } from './local-hosts.ts';
import type { Shards } from './shards.ts';

/** A sidecar's access to its work. */
export interface WorkAccess {
  readonly state: StateStore;
  /** Without them the state belongs to nobody else. */
  readonly shards?: Shards;
}

/** What identifies a store in this process, also when it is closed and opened again. */
const names = new WeakMap<StateStore, string>();
let unnamed = 0;

/** Notes what identifies a store, if nothing does yet. */
export function nameStore(store: StateStore, name: string): void {
  const original = originalOf(store);
  if (!names.has(original)) names.set(original, name);
}

/** A name that no other store has. */
export function newStoreName(): string {
  return `#${++unnamed}`;
}

function nameOf(store: StateStore): string {
  const original = originalOf(store);
  const name = names.get(original) ?? newStoreName();
  names.set(original, name);
  return name;
}

/** Where a sidecar's functions work on something: `of` names what, within the store. */
export function workplaceOf({ state, shards }: WorkAccess, ...of: readonly string[]): Workplace {
  return { name: JSON.stringify([nameOf(state), ...of]), host: shards ?? state };
}

import { keyAfter, nameOfPart, partsOf, rangeOf } from '../../state/keys.ts';
import type { StateStore } from '../../state/store.ts';

/** The names that a store has data of. */
export interface StoredNames {
  readonly appIds: readonly string[];
  /** The durable pub/sub components. */
  readonly components: readonly string[];
}

/** Reads the names from the keys, which begin with the block and the app ID, or with `pubsub` and the component. */
export async function namesIn(store: StateStore): Promise<StoredNames> {
  const components = await partsAfter(store, ['pubsub']);
  const appIds = new Set<string>();
  for (const block of ['jobs', 'workflows', 'actors'])
    for (const appId of await partsAfter(store, [block])) appIds.add(appId);
  // The group of an application is its app ID, followed by a slash and a name if it has one.
  for (const component of components)
    for (const topic of await partsAfter(store, ['pubsub', component, 'group']))
      for (const group of await partsAfter(store, ['pubsub', component, 'group', topic]))
        appIds.add(group.replace(/\/.*$/s, ''));
  return { appIds: namesOf([...appIds]).sort(), components: namesOf(components) };
}

/** Names of more than 150 bytes are stored as digests, which are left out. */
function namesOf(parts: readonly string[]): string[] {
  return parts.filter((part) => part.startsWith('=')).map(nameOfPart);
}

/** The different parts of keys that come after some parts. One read each. */
async function partsAfter(store: StateStore, parts: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  const { from: start, to = '' } = rangeOf(...parts);
  for (let from = start; ; ) {
    const [entry] = await store.scan({ from, to, limit: 1 });
    if (entry === undefined) return found;
    const part = partsOf(entry.key)[parts.length];
    if (part !== undefined) found.push(part);
    from = part === undefined ? keyAfter(entry.key) : (rangeOf(...parts, part).to ?? to);
  }
}

import { isFinished } from '../model/instance.ts';
import type { InstanceStore, Stored } from './instance-store.ts';

/** A child, or a child of one. */
export interface Descendant {
  readonly instanceId: string;
  readonly parentId: string;
}

/** Above this number no further generation is read: what ends a child ends its children in turn. */
const MANY = 1_000;

/** The unfinished descendants of an instance, generation by generation. */
export async function descendantsOf(store: InstanceStore, instanceId: string): Promise<readonly Descendant[]> {
  const found = new Map<string, Descendant>();
  let parents: readonly string[] = [instanceId];
  while (parents.length > 0 && found.size <= MANY) {
    const generation = (await Promise.all(parents.map((parent) => childrenOf(store, parent)))).flat();
    // IDs are used again: one may be its own ancestor.
    const unseen = generation.filter(({ record }) => record.instanceId !== instanceId && !found.has(record.instanceId));
    for (const { record } of unseen)
      found.set(record.instanceId, { instanceId: record.instanceId, parentId: record.parent?.instanceId ?? '' });
    parents = unseen.flatMap(({ record }) => (record.hasChildren ? [record.instanceId] : []));
  }
  return [...found.values()];
}

/** The unfinished children of an instance. */
export async function childrenOf(store: InstanceStore, parentId: string): Promise<readonly Stored[]> {
  const stored = await Promise.all((await store.children(parentId)).map((child) => store.readRecord(child)));
  return stored
    .filter((child) => child !== undefined)
    .filter(({ record }) => {
      // Its ID may be that of another instance by now.
      return record.parent?.instanceId === parentId && !isFinished(record.status);
    });
}

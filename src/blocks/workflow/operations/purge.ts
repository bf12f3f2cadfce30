import { SidecarError } from '../../../errors.ts';
import type { Engine } from '../engine/engine.ts';
import { isFinished } from '../model/instance.ts';
import type { InstanceStore, Stored } from '../storage/instance-store.ts';

/** Max tries when an instance of the tree changes at the same time. */
const MAX_TRIES = 100;

/**
 * Removes a finished instance and all its descendants, deepest first, so that an interrupted purge can be repeated.
 * Returns false if the instance does not exist.
 *
 * @throws SidecarError `ERR_PURGE_WORKFLOW` if one of them has not finished; nothing is removed then.
 */
export async function purge({ store, pool }: Pick<Engine, 'store' | 'pool'>, id: string): Promise<boolean> {
  const live = pool.get(id);
  if (live !== undefined && isFinished(live.record.status)) pool.remove(live, new Error('it was purged'));
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const root = await store.read(id);
    if (root === undefined) return false;
    const family = await familyOf(store, root);
    let isWhole = true;
    for (const member of family.reverse()) isWhole &&= await store.remove(member, true);
    if (isWhole) return true;
  }
  throw new SidecarError('ERR_PURGE_WORKFLOW', `workflow ${JSON.stringify(id)} is changed all the time`);
}

/** The instance and all its descendants, parents before children. */
async function familyOf(store: InstanceStore, root: Stored): Promise<Stored[]> {
  const family = [checkFinished(root)];
  for (const { record } of family) {
    if (!record.hasChildren) continue;
    for (const id of await store.children(record.instanceId)) {
      const child = await store.read(id);
      // The ID was reused: it is no longer a child.
      if (child?.record.parent?.instanceId === record.instanceId) family.push(checkFinished(child));
    }
  }
  return family;
}

function checkFinished(stored: Stored): Stored {
  const { instanceId, status } = stored.record;
  if (isFinished(status)) return stored;
  throw new SidecarError(
    'ERR_PURGE_WORKFLOW',
    `workflow ${JSON.stringify(instanceId)} is ${status}: expected a finished one`,
  );
}

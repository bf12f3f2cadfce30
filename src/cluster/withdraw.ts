import { isConflict } from '../state/errors.ts';
import type { StateStore } from '../state/store.ts';
import type { Logger } from '../util/logger.ts';
import type { HostRegistration } from './host-registration.ts';
import { readHosts } from './hosts.ts';
import type { ShardTable } from './shard-table.ts';

/** How often something is tried again because others change it at the same time. */
export const MAX_TRIES = 100;

/** What a host leaves with. */
export interface WithdrawDeps {
  readonly store: StateStore;
  readonly own: HostRegistration;
  readonly table: ShardTable;
  readonly logger: Logger;
}

/** Removes the record of a host that leaves, and gives up its shards, if the store takes that. */
export async function withdraw(deps: WithdrawDeps): Promise<void> {
  try {
    await remove(deps);
  } catch (error) {
    // It is taken for dead then.
    deps.logger.warn({ error }, 'the record of this host could not be removed');
  }
}

async function remove({ store, own, table: shards }: WithdrawDeps): Promise<void> {
  for (let tries = 1; ; tries++) {
    const withdrawal = own.withdrawal(await readHosts(store));
    if (withdrawal === undefined) return;
    const fences = shards.held.map((shard) => shards.fence(shard));
    try {
      await store.commit({
        require: [...withdrawal.require, ...fences],
        put: withdrawal.put,
        delete: [...withdrawal.delete, ...fences.map(({ key }) => key)],
      });
      return shards.drop(shards.held);
    } catch (error) {
      if (!isConflict(error) || tries >= MAX_TRIES) throw error;
      // Shards that were taken away need no release.
      shards.drop(shards.held);
    }
  }
}

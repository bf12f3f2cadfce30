import { retryOnConflict } from '../state/retry-on-conflict.ts';
import type { StateStore } from '../state/store.ts';
import type { Logger } from '../util/logger.ts';
import type { HostRegistration } from './host-registration.ts';
import { readHosts } from './hosts.ts';
import type { ShardTable } from './shard-table.ts';

/** Max tries of a change while concurrent changes conflict with it. */
export const MAX_TRIES = 100;

/** The dependencies of {@link withdraw}. */
export interface WithdrawDeps {
  readonly store: StateStore;
  readonly own: HostRegistration;
  readonly table: ShardTable;
  readonly logger: Logger;
  /** Registers work that tests wait for. Call the returned function at its end. */
  readonly track: (what: string) => () => void;
}

/** Removes the record of a leaving host and gives up its shards; only logs failures. */
export async function withdraw(deps: WithdrawDeps): Promise<void> {
  const { table, logger, track } = deps;
  const done = track('leaving the hosts of the store');
  // The blocks have stopped before: no work is in flight.
  void table.drain(table.held);
  // Shards that were taken away need no release.
  const onConflict = (): void => table.drop(table.held);
  try {
    await retryOnConflict(MAX_TRIES, () => remove(deps), onConflict);
  } catch (error) {
    // Other hosts then consider this host dead after its lease.
    logger.warn({ error }, 'the record of this host could not be removed');
  } finally {
    done();
  }
}

async function remove({ store, own, table: shards }: WithdrawDeps): Promise<void> {
  const withdrawal = own.withdrawal(await readHosts(store));
  if (withdrawal === undefined) return;
  const fences = shards.held.map((shard) => shards.fence(shard));
  await store.commit({
    require: [...withdrawal.require, ...fences],
    put: withdrawal.put,
    delete: [...withdrawal.delete, ...fences.map(({ key }) => key)],
  });
  shards.drop(shards.held);
}

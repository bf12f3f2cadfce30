import type { OwnedChange, OwnedShard, OwnedShards } from '../../../kernel/owned-shards.ts';
import type { InstancePool } from './instance-pool.ts';
import type { LiveInstance } from './live-instance.ts';

/** Created once: with its stack trace, an error costs as much as the rest of a release. */
export const TAKEN_OVER: Error = new Error('another host has taken the instance over');

/** The dependencies of {@link ShardMoves}. */
export interface ShardMovesDeps {
  readonly owned: OwnedShards;
  readonly pool: InstancePool;
  /** Whether an instance stays here, whichever host owns its shard. */
  readonly isStandIn: (id: string) => boolean;
  /** An instance has left memory, or stays after all. */
  readonly onReleased: (id: string) => void;
}

/** Releases the instances in memory whose shards this host loses. */
export class ShardMoves {
  readonly #deps: ShardMovesDeps;

  constructor(deps: ShardMovesDeps) {
    this.#deps = deps;
  }

  /** Releases the instances of lost shards, except those already being released. */
  handOver(lost: ReadonlySet<OwnedShard>): void {
    const { owned, pool, isStandIn } = this.#deps;
    for (const instance of pool.all()) {
      const shard = owned.of(instance.id);
      if (isStandIn(instance.id)) continue;
      if (lost.has(shard) && !instance.restraint.isResigning) void this.#resign(instance, shard);
    }
  }

  async #resign(instance: LiveInstance, shard: OwnedShard): Promise<void> {
    const { pool, onReleased } = this.#deps;
    shard.begin();
    if (await instance.resign()) pool.remove(instance, TAKEN_OVER);
    shard.end();
    onReleased(instance.id);
  }

  /**
   * An instance that is still being released stays, unless another host may have gone on with it: then it leaves memory
   * now.
   */
  takeBack({ gained, kept }: OwnedChange): void {
    const { owned, pool } = this.#deps;
    for (const instance of pool.all()) {
      const shard = owned.of(instance.id);
      if (!instance.restraint.isResigning || !gained.has(shard)) continue;
      if (kept.has(shard)) instance.stay();
      else pool.remove(instance, TAKEN_OVER);
    }
  }
}

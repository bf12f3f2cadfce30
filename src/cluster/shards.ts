import type { Precondition } from '../state/store.ts';

/** The number of shards of one app ID. */
export const SHARD_COUNT = 64;

/** Shards that this host gained or lost. @public */
export interface ShardChange {
  /** This host may work on them now; read their work from the store. */
  readonly gained: readonly number[];
  /** Gained shards that no other host has owned in between: work in flight may go on. */
  readonly kept: readonly number[];
  /** Begin no new work for them. */
  readonly lost: readonly number[];
}

/** The live hosts of the app ID, as of this host's last look at the store. @public */
export interface ShardHosts {
  /** The ID of this host. It gets a new one if other hosts considered it dead. */
  readonly id: string;
  /** Whether a host is alive. For this host: whether no other host may consider it dead. */
  isLive(id: string): boolean;
  /** The precondition that a host has left, or that others removed its record because they considered it dead. */
  whenGone(id: string): Precondition;
  /** Calls back when hosts came or went. */
  onChange(listener: () => void): Disposable;
}

/**
 * The work of one app ID in one store, divided among the hosts that run it. A host works only in its own shards and
 * puts the shard's fence into each commit. Once another host has taken a shard over, late commits of the former owner
 * fail. A host that is alone owns every shard.
 *
 * Keys in the store do not contain shards: a reader skips entries in shards that its host does not own.
 *
 * @public
 */
export interface Shards {
  /** The number of shards: 64. */
  readonly count: number;
  /** Whether other hosts may work for the same app ID, so that data in memory may be out of date. */
  readonly isShared: boolean;
  /** Whether other hosts of the app ID are alive, as far as this host knows. It notices a new one within seconds. */
  readonly hasPeers: boolean;
  /** The hosts among which the shards are divided. */
  readonly hosts: ShardHosts;
  /** The shard of an ID; the same in every release. */
  shardOf(id: string): number;
  /** Whether this host may begin work in a shard now. */
  owns(shard: number): boolean;
  /**
   * The precondition for commits of a shard. It still holds for work begun before the shard was lost, until the shard
   * is handed over.
   *
   * @throws ConflictError when this host does not own the shard.
   */
  fence(shard: number): Precondition;
  /** Whether an error means that a fence failed or was missing. If so, ownership is checked again. */
  isFenced(error: unknown): boolean;
  /**
   * Calls back when shards are gained or lost. A lost shard is handed over when the listeners' promises have settled,
   * or after 15 s: listeners wait for work in flight.
   */
  onChange(listener: (change: ShardChange) => void | Promise<void>): Disposable;
  /**
   * Calls back when other hosts may have changed entries below a prefix: with their keys as soon as the store notifies
   * of them, and without keys where other processes may make changes, every second, or every minute if the store
   * notifies of those. Own changes are left out, except by a store that cannot tell whose they are.
   */
  watch(prefix: string, onChange: (keys: readonly string[]) => void): Disposable;
}

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** A well-mixed 32-bit hash of a text: FNV-1a over its code units, then the finaliser of MurmurHash3. */
function hashOf(text: string): number {
  let hash = FNV_OFFSET;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** The shard of an ID. */
export function shardOf(id: string): number {
  return hashOf(id) % SHARD_COUNT;
}

/**
 * The host for each shard. All hosts that see the same hosts compute the same result. Among the hosts with room, the
 * one with the highest hash of shard and host gets it: all have about the same number, and few shards move when a host
 * comes or goes.
 */
export function assignment(hosts: readonly string[]): readonly (string | undefined)[] {
  const ids = [...hosts].sort();
  const room = new Map(ids.map((id) => [id, Math.ceil(SHARD_COUNT / ids.length)]));
  return Array.from({ length: SHARD_COUNT }, (_, shard) => {
    let best: string | undefined;
    let highest = -1;
    for (const id of ids) {
      const score = hashOf(`${id}/${shard}`);
      if (score <= highest || room.get(id) === 0) continue;
      highest = score;
      best = id;
    }
    if (best !== undefined) room.set(best, (room.get(best) ?? 0) - 1);
    return best;
  });
}

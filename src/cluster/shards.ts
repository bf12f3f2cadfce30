import type { Precondition } from '../state/store.ts';

/** Into how many shards the work of one app ID is divided. */
export const SHARD_COUNT = 64;

/** Shards that this host may work on from now on, or no longer. @public */
export interface ShardChange {
  /** May be worked on now: what lies in the store for them is to be read. */
  readonly gained: readonly number[];
  /** Nothing new is to be begun for them. */
  readonly lost: readonly number[];
}

/**
 * The work of one app ID in one store, divided among the hosts that run it. A host works on what falls into its own
 * shards only, and puts the shard's fence into each commit for it: once another host has taken a shard over, nothing
 * that this one still writes for it comes through. One host alone owns every shard.
 *
 * Keys in the store do not tell shards: who looks for work leaves out what is in shards that it does not own.
 *
 * @public
 */
export interface Shards {
  /** How many there are: 64. */
  readonly count: number;
  /** Other hosts may work for the same app ID, so that what is in memory may be out of date. */
  readonly isShared: boolean;
  /** Other hosts of the app ID are alive, as far as this host knows; it hears of a new one within seconds. */
  readonly hasPeers: boolean;
  /** The shard of an ID; the same in every release. */
  shardOf(id: string): number;
  /** Whether this host may begin something for a shard now. */
  owns(shard: number): boolean;
  /**
   * What a commit for a shard has to require. Holds also for work that was begun before the shard was lost, until it is
   * handed over.
   *
   * @throws ConflictError when the shard is not this host's.
   */
  fence(shard: number): Precondition;
  /** Whether an error says that a commit was refused by a fence, or that there was none; ownership is then looked at. */
  isFenced(error: unknown): boolean;
  /**
   * Tells of shards that were gained or lost. A shard is handed over when the promises of the listeners have settled,
   * or 15 s later: they wait for work that is under way.
   */
  onChange(listener: (change: ShardChange) => void | Promise<void>): Disposable;
  /**
   * Calls back when other hosts may have changed entries below a prefix: with their keys as soon as the store tells,
   * and without keys where changes of other processes are possible: every second, or every 15 s where hints of these
   * come. Own changes are left out, except by a
   * store that does not tell whose they are.
   */
  watch(prefix: string, onChange: (keys: readonly string[]) => void): Disposable;
}

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** A 32-bit hash of a text, well mixed: FNV-1a over its code units, then the finaliser of MurmurHash3. */
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
 * Which host each shard is for, the same for everybody who sees the same hosts: the one with the highest hash of both
 * among those that have room, so that all have the same number and few move when a host comes or goes.
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

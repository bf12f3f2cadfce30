import type { Batch, KeyedEntry, Precondition } from '../state/store.ts';
import type { OwnChange } from './host-registration.ts';
import { type HostRecord, type HostTable, hostKey, type ShardLayout, type StoredHost } from './hosts.ts';
import { assignment, SHARD_COUNT, shardOf } from './shards.ts';

/** A host's view of the hosts and the shards. */
export interface ShardView {
  readonly table: HostTable;
  /** The entries of the app ID's shards. */
  readonly owners: readonly KeyedEntry[];
  readonly layout: ShardLayout;
  /** This host. */
  readonly own: HostRecord;
  readonly isLive: (host: StoredHost) => boolean;
}

/** The changes that a view requires. */
export interface ShardPlan {
  /** Dead hosts, whose records are removed. */
  readonly dead: readonly StoredHost[];
  /** Shards assigned to this host that no live host owns. */
  readonly take: readonly number[];
  /** The preconditions for taking them. */
  readonly require: readonly Precondition[];
  /** Shards that this host owns, with the versions of their entries. */
  readonly mine: ReadonlyMap<number, number>;
  /** Shards among `mine` that are assigned to other hosts. */
  readonly release: readonly number[];
  /** The IDs of the other live hosts of the app ID. */
  readonly peers: readonly string[];
  /** The live owner of each shard, if it has one. */
  readonly owners: readonly (HostRecord | undefined)[];
}

/** Plans the changes of a host's shards. Pure: only the store holds the owners. */
export function planShards({ table, owners, layout, own, isLive }: ShardView): ShardPlan {
  const { id, appId, isLeaving = false } = own;
  const byId = new Map(table.hosts.map((host) => [host.id, host]));
  const dead = table.hosts.filter((host) => host.id !== id && !isLive(host));
  const isDead = new Set(dead);
  const peers = table.hosts.filter((host) => host.appId === appId && host.id !== id && !isDead.has(host));
  const takers = peers.filter((host) => host.isLeaving !== true).map((host) => host.id);
  // Without another host that takes them, one that leaves keeps its shards until the end.
  const targets = assignment(isLeaving && takers.length > 0 ? takers : [id, ...takers]);
  const entries = new Map(owners.map((entry) => [layout.ownerOf(entry).shard, entry]));
  const take: number[] = [];
  const release: number[] = [];
  const mine = new Map<number, number>();
  const require: Precondition[] = [];
  const vanished = new Set<string>();
  const living: (HostRecord | undefined)[] = [];
  for (let shard = 0; shard < SHARD_COUNT; shard++) {
    const entry = entries.get(shard);
    const owner = entry && layout.ownerOf(entry).owner;
    const host = owner === undefined ? undefined : byId.get(owner);
    living.push(host !== undefined && isDead.has(host) ? undefined : host);
    if (entry !== undefined && owner === id) {
      mine.set(shard, entry.version);
      if (targets[shard] !== id) release.push(shard);
      continue;
    }
    if (targets[shard] !== id || isLeaving) continue;
    if (host !== undefined && !isDead.has(host)) continue;
    // A host that joined after the hosts were read must not be mistaken for a dead one.
    if (owner !== undefined && host === undefined) vanished.add(owner);
    take.push(shard);
    require.push({ key: layout.key(shard), version: entry?.version ?? 'absent' });
  }
  for (const { key, version } of dead) require.push({ key, version });
  for (const owner of vanished) require.push({ key: hostKey(owner), version: 'absent' });
  return { dead, take, require, mine, release, owners: living, peers: peers.map((host) => host.id) };
}

/** The writes of a plan and of the host's own change. */
export function batchOf(
  plan: ShardPlan,
  own: OwnChange,
  { layout, id }: { readonly layout: ShardLayout; readonly id: string },
): Batch {
  return {
    require: [...own.require, ...plan.require],
    put: [...own.put, ...plan.take.map((shard) => layout.put(shard, id))],
    delete: plan.dead.map(({ key }) => key),
  };
}

/** The owner of each shard at the last check. It may have changed since; only the owner itself is certain. */
export class ShardOwners {
  #owners: ShardPlan['owners'] = [];

  note(owners: ShardPlan['owners']): void {
    this.#owners = owners;
  }

  /** The owner of the shard of an ID; `undefined` if unknown. */
  of(id: string): HostRecord | undefined {
    return this.#owners[shardOf(id)];
  }
}

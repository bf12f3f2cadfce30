import type { KeyedEntry, Precondition } from '../state/store.ts';
import { type HostTable, hostKey, type ShardLayout, type StoredHost } from './hosts.ts';
import { assignment, SHARD_COUNT } from './shards.ts';

/** What a host sees when it looks at who owns what. */
export interface View {
  readonly table: HostTable;
  /** The entries of the app ID's shards. */
  readonly owners: readonly KeyedEntry[];
  readonly layout: ShardLayout;
  /** This host. */
  readonly id: string;
  readonly appId: string;
  readonly isLive: (host: StoredHost) => boolean;
}

/** What follows from it. */
export interface ShardPlan {
  /** Hosts that are gone: their records are removed. */
  readonly dead: readonly StoredHost[];
  /** Shards that this host is to own and nobody alive does. */
  readonly take: readonly number[];
  /** What must hold for those. */
  readonly require: readonly Precondition[];
  /** Shards that are this host's, with the versions of their entries. */
  readonly mine: ReadonlyMap<number, number>;
  /** Those among them that another host is to own. */
  readonly release: readonly number[];
  /** Other hosts of the app ID are alive. */
  readonly hasPeers: boolean;
}

/** Decides what a host does about shards. Pure: who owns what is in the store, and nowhere else. */
export function planShards({ table, owners, layout, id, appId, isLive }: View): ShardPlan {
  const byId = new Map(table.hosts.map((host) => [host.id, host]));
  const dead = table.hosts.filter((host) => host.id !== id && !isLive(host));
  const isDead = new Set(dead);
  const peers = table.hosts.filter((host) => host.appId === appId && host.id !== id && !isDead.has(host));
  const targets = assignment([id, ...peers.map((host) => host.id)]);
  const entries = new Map(owners.map((entry) => [layout.ownerOf(entry).shard, entry]));
  const take: number[] = [];
  const release: number[] = [];
  const mine = new Map<number, number>();
  const require: Precondition[] = [];
  const vanished = new Set<string>();
  for (let shard = 0; shard < SHARD_COUNT; shard++) {
    const entry = entries.get(shard);
    const owner = entry && layout.ownerOf(entry).owner;
    if (entry !== undefined && owner === id) {
      mine.set(shard, entry.version);
      if (targets[shard] !== id) release.push(shard);
      continue;
    }
    if (targets[shard] !== id) continue;
    const host = owner === undefined ? undefined : byId.get(owner);
    if (host !== undefined && !isDead.has(host)) continue;
    // One that has joined since the hosts were read must not be taken for one that is gone.
    if (owner !== undefined && host === undefined) vanished.add(owner);
    take.push(shard);
    require.push({ key: layout.key(shard), version: entry?.version ?? 'absent' });
  }
  for (const { key, version } of dead) require.push({ key, version });
  for (const owner of vanished) require.push({ key: hostKey(owner), version: 'absent' });
  return { dead, take, require, mine, release, hasPeers: peers.length > 0 };
}

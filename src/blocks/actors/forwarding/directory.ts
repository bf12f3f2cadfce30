import { type HostRecord, type HostTable, ShardLayout } from '../../../cluster/hosts.ts';
import type { Membership } from '../../../cluster/membership.ts';
import { shardOf } from '../../../cluster/shards.ts';
import type { OwnedShards } from '../../../kernel/owned-shards.ts';
import type { Clock } from '../../../util/clock.ts';
import { type ActorAddress, actorPart } from '../model/address.ts';

/** Where an actor is. */
export type ActorPlace =
  | { readonly kind: 'here' }
  | { readonly kind: 'host'; readonly host: HostRecord }
  /** Its type is hosted, and the host of the actor changes just now, or cannot be told. */
  | { readonly kind: 'unsettled' }
  /** No live host has its type. */
  | { readonly kind: 'unknown' };

/** How long what was read of other hosts is used. */
const FRESH_MS = 500;

interface Read<T> {
  readonly at: number;
  readonly value: Promise<T>;
}

/** The dependencies of a {@link Directory}. */
export interface DirectoryDeps {
  readonly appId: string;
  readonly namespace: string;
  readonly clock: Clock;
  readonly membership: Membership;
  readonly owned: OwnedShards;
  readonly isHosted: (actorType: string) => boolean;
}

/** Finds the host of an actor: by its type the application, and by its shard the host of it. */
export class Directory {
  readonly #deps: DirectoryDeps;
  #hosts: Read<HostTable> | undefined;
  /** The hosts of the shards of other applications, by app ID. */
  readonly #shards = new Map<string, Read<ReadonlyMap<number, string>>>();

  constructor(deps: DirectoryDeps) {
    this.#deps = deps;
  }

  /** Whether the actor is at this host. */
  isHere(address: ActorAddress): boolean {
    const { owned, isHosted } = this.#deps;
    return isHosted(address.actorType) && owned.owns(actorPart(address));
  }

  async find(address: ActorAddress): Promise<ActorPlace> {
    if (this.isHere(address)) return { kind: 'here' };
    const { appId, isHosted, owned, membership } = this.#deps;
    const part = actorPart(address);
    // Own types need no look at the other hosts.
    const host = isHosted(address.actorType) ? undefined : await this.#hostOfType(address.actorType);
    if (isHosted(address.actorType) || host?.appId === appId) {
      const owner = membership.owners.of(part);
      const isElsewhere = owner !== undefined && owner.id !== membership.id && !owned.owns(part);
      return isElsewhere ? { kind: 'host', host: owner } : { kind: 'unsettled' };
    }
    if (host === undefined) return { kind: 'unknown' };
    const owner = (await this.#shardsOf(host.appId)).get(shardOf(part));
    const { hosts } = await this.#table();
    const found = hosts.find(({ id }) => id === owner);
    return found === undefined ? { kind: 'unsettled' } : { kind: 'host', host: found };
  }

  /** What was read may be out of date. */
  forget(): void {
    this.#hosts = undefined;
    this.#shards.clear();
  }

  /** Whether a host is alive, as of now. */
  async isLive(hostId: string): Promise<boolean> {
    const { hosts } = await this.#table();
    return hosts.some(({ id }) => id === hostId);
  }

  /** A host that has the type; one of this application first. */
  async #hostOfType(actorType: string): Promise<HostRecord | undefined> {
    const { appId, namespace } = this.#deps;
    const { hosts } = await this.#table();
    const having = hosts.filter((host) => host.namespace === namespace && host.actorTypes.includes(actorType));
    return having.find((host) => host.appId === appId) ?? having[0];
  }

  #table(): Promise<HostTable> {
    this.#hosts = this.#fresh(this.#hosts, () => this.#deps.membership.hosts());
    return this.#hosts.value;
  }

  #shardsOf(appId: string): Promise<ReadonlyMap<number, string>> {
    const read = this.#fresh(this.#shards.get(appId), async () => {
      const layout = new ShardLayout(appId);
      const entries = await this.#deps.membership.store.scan(layout.range);
      return new Map(entries.map((entry) => layout.ownerOf(entry)).map(({ shard, owner }) => [shard, owner]));
    });
    this.#shards.set(appId, read);
    return read.value;
  }

  #fresh<T>(present: Read<T> | undefined, read: () => Promise<T>): Read<T> {
    const now = this.#deps.clock.monotonic?.() ?? this.#deps.clock.now();
    if (present !== undefined && Math.abs(now - present.at) < FRESH_MS) return present;
    return { at: now, value: read() };
  }
}

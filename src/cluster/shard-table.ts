import { ConflictError, isConflictError } from '../state/errors.ts';
import type { Precondition } from '../state/store.ts';
import { type Clock, type DualInstant, msSince } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import type { ShardLayout } from './hosts.ts';
import { LiveHosts } from './live-hosts.ts';
import type { RemoteWatch } from './remote-watch.ts';
import { SHARD_COUNT, type ShardChange, type Shards, shardOf } from './shards.ts';

type Listener = (change: ShardChange) => void | Promise<void>;

/** The dependencies of a {@link ShardTable}. */
export interface ShardTableDeps {
  readonly layout: ShardLayout;
  readonly remoteWatch: RemoteWatch;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long other hosts consider this host alive after a renewal. */
  readonly silenceMs: number;
  /** The ID of this host. */
  readonly ownId: () => string;
  /** Called when ownership may have changed. */
  readonly onDoubt: () => void;
}

interface Noted {
  readonly isShared?: boolean;
  readonly renewedAt?: DualInstant | undefined;
}

/** Which shards do not stay with this host. */
interface Leaving {
  /** Shards to hand over. */
  readonly release: readonly number[];
  /** Shards whose hand-over has begun. */
  readonly handover: { has(shard: number): boolean };
}

/** The shards of one host as it knows them. */
export class ShardTable implements Shards {
  readonly count: number = SHARD_COUNT;
  readonly hosts: LiveHosts;
  readonly #deps: ShardTableDeps;
  /** The fences of the shards that this host owns, including those being handed over. */
  readonly #fences: (Precondition | undefined)[] = new Array<undefined>(SHARD_COUNT).fill(undefined);
  /** The versions of the entries that made this host the owner of shards that it has dropped. */
  readonly #former: (Precondition['version'] | undefined)[] = new Array<undefined>(SHARD_COUNT).fill(undefined);
  readonly #isOpen: boolean[] = new Array<boolean>(SHARD_COUNT).fill(false);
  readonly #listeners = new Set<Listener>();
  #isShared = false;
  #hasPeers = true;
  #renewedAt: DualInstant | undefined;

  constructor(deps: ShardTableDeps) {
    this.#deps = deps;
    this.hosts = new LiveHosts({ ...deps, isOverdue: () => this.isOverdue });
  }

  get isShared(): boolean {
    return this.#isShared;
  }

  get hasPeers(): boolean {
    return this.#isShared && this.#hasPeers;
  }

  set hasPeers(hasPeers: boolean) {
    this.#hasPeers = hasPeers;
  }

  shardOf(id: string): number {
    return shardOf(id);
  }

  owns(shard: number): boolean {
    return this.#isOpen[shard] === true && !this.isOverdue;
  }

  /** Other hosts may consider this host dead. */
  get isOverdue(): boolean {
    if (!this.#isShared) return false;
    return this.#renewedAt === undefined || msSince(this.#renewedAt, this.#deps.clock) >= this.#deps.silenceMs;
  }

  /** Updates whether there are other hosts, and when this host last renewed its record. */
  note({ isShared = this.#isShared, renewedAt = this.#renewedAt }: Noted): void {
    const wasOverdue = this.isOverdue;
    this.#isShared = isShared;
    this.#renewedAt = renewedAt;
    if (!wasOverdue || this.isOverdue) return;
    // Changes during the overdue time were ignored.
    const open = this.held.filter((shard) => this.#isOpen[shard]);
    if (open.length > 0) void this.#tell({ gained: open, kept: open, lost: [] });
    this.hosts.changed();
  }

  fence(shard: number): Precondition {
    const fence = this.#fences[shard];
    if (fence === undefined) throw new ConflictError(this.#deps.layout.key(shard));
    return fence;
  }

  isFenced(error: unknown): boolean {
    if (!isConflictError(error) || !error.key.startsWith(this.#deps.layout.prefix)) return false;
    this.#deps.onDoubt();
    return true;
  }

  onChange(listener: Listener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  watch(prefix: string, onChange: (keys: readonly string[]) => void): Disposable {
    return this.#deps.remoteWatch.watch(prefix, onChange);
  }

  /** The version of the entry that makes this host the shard's owner. */
  versionOf(shard: number): Precondition['version'] | undefined {
    return this.#fences[shard]?.version;
  }

  /** All shards that this host owns. */
  get held(): readonly number[] {
    return this.#fences.flatMap((fence, shard) => (fence === undefined ? [] : [shard]));
  }

  /**
   * Takes ownership of shards, given the versions of their entries. Shards that are handed over, or are to be, are not
   * reopened, whatever has become of their entries: the hand-over waits only for work that has begun before it.
   */
  adopt(shards: ReadonlyMap<number, number>, { release, handover }: Leaving): void {
    const gained: number[] = [];
    const kept: number[] = [];
    for (const [shard, version] of shards) {
      const isHandedOver = handover.has(shard);
      const isLeaving = isHandedOver || release.includes(shard);
      if (this.versionOf(shard) === version && (this.#isOpen[shard] || isLeaving)) continue;
      // A host that takes a shard writes its entry.
      const isKept = (this.versionOf(shard) ?? this.#former[shard]) === version;
      this.#fences[shard] = { key: this.#deps.layout.key(shard), version };
      // It may have been given away after its entry was read.
      if (isLeaving) continue;
      this.#isOpen[shard] = true;
      gained.push(shard);
      if (isKept) kept.push(shard);
    }
    if (gained.length > 0) void this.#tell({ gained, kept, lost: [] });
  }

  /** Stops new work in the shards; resolves when work in flight has ended. */
  async drain(shards: readonly number[]): Promise<void> {
    const open = shards.filter((shard) => this.#isOpen[shard]);
    for (const shard of open) this.#isOpen[shard] = false;
    if (open.length > 0) await this.#tell({ gained: [], kept: [], lost: open });
  }

  /** Gives up shards that another host owns, or may own. */
  drop(shards: readonly number[]): void {
    for (const shard of shards) {
      this.#former[shard] = this.versionOf(shard) ?? this.#former[shard];
      this.#fences[shard] = undefined;
    }
    void this.drain(shards);
  }

  async #tell(change: ShardChange): Promise<void> {
    // A copy: a listener may add or remove listeners.
    await Promise.all([...this.#listeners].map((listener) => this.#call(listener, change)));
  }

  async #call(listener: Listener, change: ShardChange): Promise<void> {
    try {
      await listener(change);
    } catch (error) {
      this.#deps.logger.error({ error }, 'a listener to changes of shards threw');
    }
  }
}

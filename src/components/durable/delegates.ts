import type { ShardHosts } from '../../cluster/shards.ts';
import type { CommitBatcher } from '../../kernel/commit-batcher.ts';
import type { OwnedShard, OwnedShards } from '../../kernel/owned-shards.ts';
import { isConflictError } from '../../state/errors.ts';
import type { Clock, Timer } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import type { ConsumerGroups, GroupEntries } from './consumer-groups.ts';
import type { GroupMember } from './group-hosts.ts';
import { GroupLease } from './group-lease.ts';
import { Layout, type QueueLayout } from './layout.ts';
import { OBJECT, readRecord } from './records.ts';
import { STORE_RETRY_MS } from './settlements.ts';
import { readSpread, type StoredSpread } from './spread.ts';

/** How often changes that other hosts prevent are tried at once; after that, a second later. */
const MAX_CONFLICTS = 3;

/** The stored entry of a delegate, and of a host that needs all partitions. */
interface StoredDelegate {
  readonly hostId?: string;
  readonly spread?: StoredSpread;
}

const NO_MEMBERS: ReadonlyMap<string, GroupMember> = new Map();

/** The dependencies of {@link Delegates}. */
export interface DelegatesDeps {
  readonly groups: ConsumerGroups;
  readonly commits: CommitBatcher;
  readonly owned: OwnedShards;
  /** `undefined` if this host has the store for itself. */
  readonly hosts: ShardHosts | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly track: (what: string) => () => void;
}

/** The leases of a component's groups: reads their delegates and lets them act, one review at a time. */
export class Delegates {
  readonly #deps: DelegatesDeps;
  /** By the key of the group's delegate. */
  readonly #leases = new Map<string, { readonly lease: GroupLease; readonly layout: QueueLayout }>();
  #toReview = false;
  #toRead = false;
  #reviewing: Promise<void> | undefined;
  #hasFailed = false;
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #isClosing = false;

  constructor(deps: DelegatesDeps) {
    this.#deps = deps;
  }

  /** Follows the hosts that come and go. */
  follow(): void {
    this.#deps.hosts?.onChange(() => this.review(true));
  }

  /** Other hosts have changed groups or delegates, or may have if it is not `isCertain`. */
  onChange(isCertain: boolean): void {
    if (isCertain || this.#deps.owned.hasPeers) this.review(true);
  }

  /** The lease of a group. */
  leaseOf(layout: QueueLayout, shard: OwnedShard): GroupLease {
    const review = (toRead: boolean): void => this.review(toRead);
    const lease = new GroupLease({ ...this.#deps, shard, layout, review, reread: () => this.reread() });
    this.#leases.set(layout.delegate, { lease, layout });
    if (this.#deps.hosts !== undefined) this.review(true);
    return lease;
  }

  /** The group is gone. */
  forget(layout: QueueLayout): void {
    this.#leases.delete(layout.delegate);
  }

  /** Reads the delegates and reviews the leases, also while this host stops; resolves at the end. */
  async reread(): Promise<void> {
    this.#toRead = true;
    this.review(false);
    await this.#reviewing;
  }

  /** Reviews the leases, after reading the delegates if `toRead`. */
  review(toRead: boolean): void {
    if (toRead && this.#isClosing) return;
    this.#toReview = true;
    this.#toRead ||= toRead;
    if (this.#reviewing !== undefined) return;
    const done = this.#deps.track('reviewing the delegates of groups');
    this.#reviewing = this.#reviewAll().finally(done);
  }

  /** Resolves when groups that this host had in place of others, and for which it has no consumers, are given back. */
  async settled(): Promise<void> {
    for (;;) {
      await this.#reviewing;
      const leaving = [...this.#leases.values()].filter(({ lease }) => lease.isLeaving);
      if (leaving.length === 0 || this.#hasFailed) return;
      await Promise.all(leaving.map(({ lease }) => lease.drained));
      this.review(false);
    }
  }

  async #reviewAll(): Promise<void> {
    // Callers finish their own changes first.
    await undefined;
    for (let conflicts = 0; this.#toReview; ) {
      this.#toReview = false;
      try {
        if (this.#toRead) await this.read();
        await this.#step();
        this.#hasFailed = false;
      } catch (error) {
        this.#toRead = true;
        this.#deps.owned.isFenced(error);
        if (isConflictError(error) && ++conflicts < MAX_CONFLICTS) this.#toReview = true;
        else this.#onFailure(error);
      }
    }
    // At once: a review that is asked for from now on would go unnoticed.
    this.#reviewing = undefined;
    this.#expectNext();
  }

  /** Reads the delegates of all groups. */
  async read(): Promise<void> {
    this.#toRead = false;
    const entries = await this.#deps.groups.reload();
    const members = membersOf(entries);
    for (const { lease, layout: keys } of this.#leases.values()) {
      const entry = entries.get(keys.delegate);
      const content = entry && readRecord<StoredDelegate>(entry.key, entry.value, OBJECT);
      const spread = content?.spread && readSpread(content.spread);
      const collector = entries.get(keys.collector);
      lease.onRead(entry && { hostId: content?.hostId, spread, version: entry.version }, {
        isRecalled: entries.has(keys.recall),
        isPaused: entries.has(keys.paused),
        members: members.get(keys.consumersRange.from) ?? NO_MEMBERS,
        collector: collector && readRecord<StoredDelegate>(collector.key, collector.value, OBJECT).hostId,
      });
    }
  }

  /** Lets every lease act; then throws the first error, if any. */
  async #step(): Promise<void> {
    const steps = await Promise.allSettled([...this.#leases.values()].map(({ lease }) => lease.step()));
    const failed = steps.filter((step) => step.status === 'rejected').map(({ reason }) => reason as unknown);
    const worst = failed.find((reason) => !isConflictError(reason)) ?? failed[0];
    if (worst !== undefined) throw worst;
  }

  #onFailure(error: unknown): void {
    const { logger, clock } = this.#deps;
    if (!(this.#hasFailed || isConflictError(error)))
      logger.error({ error }, 'the delegates of groups cannot be read: will be tried again');
    this.#hasFailed = true;
    this.#reviewAt(clock.now() + STORE_RETRY_MS);
  }

  #expectNext(): void {
    for (const { lease } of this.#leases.values()) {
      const { reviewAt } = lease;
      if (reviewAt !== undefined) this.#reviewAt(reviewAt);
    }
  }

  /** Sets the one timer, for the earliest instant. */
  #reviewAt(at: number): void {
    if (at >= this.#timerAt || this.#isClosing) return;
    const { clock } = this.#deps;
    this.#timer?.cancel();
    this.#timerAt = at;
    this.#timer = clock.setTimeout(() => {
      this.#timerAt = Number.POSITIVE_INFINITY;
      this.review(false);
    }, at - clock.now());
  }

  /** From now on only gives groups back. */
  close(): void {
    this.#isClosing = true;
    this.#timer?.cancel();
  }
}

/** The hosts with consumers, by the prefix of the entries of their group. */
function membersOf(entries: GroupEntries): ReadonlyMap<string, ReadonlyMap<string, GroupMember>> {
  const groups = new Map<string, Map<string, GroupMember>>();
  for (const { key, value } of entries.values()) {
    const found = Layout.consumersOf(key);
    if (found === undefined) continue;
    const { isTogether = false } = readRecord<Partial<GroupMember>>(key, value, OBJECT);
    const members = groups.get(found.prefix) ?? new Map<string, GroupMember>();
    groups.set(found.prefix, members.set(found.hostId, { isTogether, key }));
  }
  return groups;
}

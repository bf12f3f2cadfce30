import type { ShardHosts } from '../../cluster/shards.ts';
import type { CommitBatcher } from '../../kernel/commit-batcher.ts';
import { type Clock, sleep } from '../../util/clock.ts';
import { GroupHosts, type GroupMember } from './group-hosts.ts';
import type { QueueLayout } from './layout.ts';
import { PartitionRelease, type ReleasingQueue } from './partition-release.ts';
import { partitionOf } from './partitions.ts';
import { record } from './records.ts';
import {
  ALL_PARTITIONS,
  isSameSpread,
  leavingOf,
  NO_PARTITIONS,
  nextSpread,
  type Spread,
  type SpreadView,
  targetsOf,
} from './spread.ts';
import type { StoredMessage } from './stored-message.ts';

/** How long a change by an operator waits for the partitions of other hosts. */
const GATHER_MS = 10_000;

/** A message of the group, as far as its partition depends on it. */
export type Placed = Pick<StoredMessage, 'number' | 'message'>;

/** The dependencies of a {@link GroupSpread}. */
export interface GroupSpreadDeps {
  readonly layout: QueueLayout;
  readonly commits: CommitBatcher;
  readonly clock: Clock;
  /** `undefined` if this host has the store for itself. */
  readonly hosts: ShardHosts | undefined;
  /** Has the leases of all groups reviewed, after reading their entries if `toRead`. */
  readonly review: (toRead: boolean) => void;
}

/** What follows from a spread and the hosts that are there. */
export type SpreadStep =
  /** This is to be written, if the dead hosts among its former ones are gone. */
  | { readonly spread: Spread; readonly dead: readonly string[] }
  /** This host has all partitions, and no other host should have some. */
  | 'whole'
  | undefined;

/**
 * The part of a group that this host hands out while its partitions are divided among hosts, and what the hosts say of
 * their consumers. The lease of the group writes which host has what.
 */
export class GroupSpread {
  readonly #deps: GroupSpreadDeps;
  readonly #wishes: GroupHosts;
  readonly #release: PartitionRelease;
  #spread: Spread | undefined;
  /** How many callers need all partitions, and those that wait for them. */
  #gathering = 0;
  readonly #onWhole: (() => void)[] = [];

  constructor(deps: GroupSpreadDeps) {
    this.#deps = deps;
    this.#wishes = new GroupHosts(deps.hosts);
    this.#release = new PartitionRelease(() => deps.review(false));
  }

  /** What the hosts say was read. */
  note(members: ReadonlyMap<string, GroupMember>, collector: string | undefined): void {
    this.#wishes.note(members, collector);
  }

  /** The group is spread like this, or not at all. Returns whether this host has other partitions than before. */
  set(spread: Spread | undefined): boolean {
    const before = this.part;
    this.#spread = spread;
    const { part } = this;
    this.#release.forget(part);
    return before.size !== part.size || [...before].some((partition) => !part.has(partition));
  }

  /** Whether the partitions of the group are divided among hosts. */
  get isOn(): boolean {
    return this.#spread !== undefined;
  }

  get #id(): string {
    return this.#deps.hosts?.id ?? '';
  }

  get #isLive(): boolean {
    return this.#deps.hosts?.isLive(this.#id) === true;
  }

  /** The partitions of this host; all of them if the group is not spread. */
  get part(): ReadonlySet<number> {
    return this.#spread === undefined ? ALL_PARTITIONS : (this.#spread.get(this.#id) ?? NO_PARTITIONS);
  }

  /** Whether this host may begin to hand messages of some partitions out. */
  get isHere(): boolean {
    return this.part.size > 0 && this.#isLive;
  }

  /** Whether this host has all partitions and keeps them. */
  get isWhole(): boolean {
    return this.part.size === ALL_PARTITIONS.size && !this.#release.isUnderWay;
  }

  /** Whether this host may begin to hand a message out, if it may hand out any. */
  handsOut(entry: Placed): boolean {
    if (this.#spread === undefined) return true;
    const partition = partitionOf(entry);
    return this.part.has(partition) && !this.#release.has(partition);
  }

  /** Whether messages are in partitions of this host: also in those that it releases. */
  holds(entry: Placed | undefined, batch: readonly Placed[] | undefined): boolean {
    const { part } = this;
    if (batch !== undefined) return batch.every((one) => part.has(partitionOf(one)));
    return entry !== undefined && part.has(partitionOf(entry));
  }

  /** Whether this host has partitions, or says that it has consumers. */
  get takesPart(): boolean {
    if (!this.#isLive) return false;
    return (this.isOn && this.part.size > 0) || this.#wishes.of(this.#id) !== undefined;
  }

  /** Resolves when what is released has no messages in flight; `undefined` if nothing is. */
  get released(): Promise<void> | undefined {
    return this.#release.done;
  }

  /** Whether other hosts have consumers as well, and nothing keeps the messages together. */
  get mayBegin(): boolean {
    return this.#wishes.hasOthers && !this.#wishes.areTogether;
  }

  /** Whether a delegate does not spread the group by itself: it is of an earlier release, or must not. */
  keepsToItself(delegateId: string): boolean {
    return this.#wishes.of(delegateId) === undefined || this.#wishes.areTogether;
  }

  /** Says that this host has consumers, if there are other hosts, or that it has none any more. */
  async announce(wants: boolean, { hasPeers, isTogether }: { hasPeers: boolean; isTogether: boolean }): Promise<void> {
    const { commits, layout } = this.#deps;
    if (!this.#isLive) return;
    const own = this.#wishes.of(this.#id);
    if (wants) {
      if (!hasPeers || own?.isTogether === isTogether) return;
      const key = layout.consumersAt(this.#id);
      await commits.commit({ put: [{ key, value: record(isTogether ? { isTogether } : {}) }] });
      this.#wishes.add(this.#id, { isTogether, key });
    } else if (own !== undefined) {
      await commits.commit({ delete: [own.key] });
      this.#wishes.delete(this.#id);
    }
  }

  /** Removes what hosts have left that are gone, and the request of this host for all partitions. */
  async tidy(): Promise<void> {
    const { hosts, commits, layout } = this.#deps;
    if (hosts === undefined) return;
    if (this.#gathering === 0 && this.#wishes.collector === hosts.id) {
      await commits.commit({ delete: [layout.collector] });
      this.#wishes.collected();
    }
    // Hosts of other app IDs see the members as dead.
    if (this.#wishes.of(hosts.id) === undefined) return;
    for (const id of this.#wishes.gone) {
      const key = layout.consumersAt(id);
      await commits.commit({ require: [hosts.whenGone(id)], delete: [key] });
      this.#wishes.delete(id);
    }
    const { goneCollector } = this.#wishes;
    if (goneCollector === undefined) return;
    await commits.commit({ require: [hosts.whenGone(goneCollector)], delete: [layout.collector] });
    this.#wishes.collected();
  }

  /** What is to be done next. Begins to release partitions that should not stay here. */
  next(queue: ReleasingQueue, isRecalled: boolean): SpreadStep {
    const view = this.#view(isRecalled);
    if (view === undefined) return undefined;
    const { spread, id, members, collector, isLive } = view;
    // Hosts of other app IDs see these hosts as dead.
    if (!(spread.has(id) || members.includes(id) || collector === id)) return undefined;
    const targets = targetsOf(view);
    this.#release.update(leavingOf(view, targets), queue, collector === undefined);
    const next = nextSpread(view, targets, this.#release.released);
    if (!isSameSpread(next, spread))
      return { spread: next, dead: [...spread.keys()].filter((hostId) => !isLive(hostId)) };
    const isAlone = view.isTogether || members.every((member) => member === id);
    return this.isWhole && isAlone && collector === undefined ? 'whole' : undefined;
  }

  #view(isRecalled: boolean): SpreadView | undefined {
    const { hosts } = this.#deps;
    if (hosts === undefined || this.#spread === undefined) return undefined;
    const { live, areTogether, collector } = this.#wishes;
    return {
      spread: this.#spread,
      id: hosts.id,
      isLive: (id) => hosts.isLive(id),
      // An earlier release wants the group: nobody takes partitions any more.
      members: isRecalled ? [] : live,
      isTogether: areTogether,
      collector: isRecalled ? undefined : collector,
    };
  }

  /**
   * Has all partitions here while `work` runs, if the group is spread: operators change messages that nobody hands out.
   * After ten seconds `work` begins without.
   */
  async gathered<T>(work: () => Promise<T>): Promise<T> {
    const { commits, layout, clock, review } = this.#deps;
    if (!this.isOn) return work();
    this.#gathering++;
    try {
      await commits.commit({ put: [{ key: layout.collector, value: record({ hostId: this.#id }) }] });
      const whole = new Promise<void>((resolve) => this.#onWhole.push(resolve));
      review(true);
      const over = new AbortController();
      await Promise.race([whole, sleep(clock, GATHER_MS, over.signal).catch(() => undefined)]);
      over.abort();
      return await work();
    } finally {
      this.#gathering--;
      review(true);
    }
  }

  /** This host has the whole group: those who wait for that go on. */
  onWhole(): void {
    for (const resolve of this.#onWhole.splice(0)) resolve();
  }
}

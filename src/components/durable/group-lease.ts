import type { ShardHosts } from '../../cluster/shards.ts';
import type { CommitBatcher } from '../../kernel/commit-batcher.ts';
import type { OwnedShard, OwnedShards } from '../../kernel/owned-shards.ts';
import { ConflictError, isConflictError } from '../../state/errors.ts';
import type { Precondition } from '../../state/store.ts';
import { type Clock, type DualInstant, dualNow, msSince } from '../../util/clock.ts';
import type { GroupMember } from './group-hosts.ts';
import { GroupSpread, type Placed } from './group-spread.ts';
import type { QueueLayout } from './layout.ts';
import type { DurableQueue } from './queue.ts';
import { record } from './records.ts';
import { ALL_PARTITIONS, type Spread, storedSpread } from './spread.ts';

/** How long a host keeps a group for which it has no consumers. */
const UNSERVED_MS = 1_000;

/** The stored delegate of a group. */
export interface Delegate {
  /**
   * The host that hands the messages out; `undefined` if any host with consumers may become it. If several do, one of
   * them, for earlier releases: those leave the group to it, and ask it for the group.
   */
  readonly hostId: string | undefined;
  /** Which hosts hand out the messages, if several do. */
  readonly spread?: Spread | undefined;
  readonly version: number;
}

/** Whether this host may change the messages of a group otherwise than by settling them. */
export type QueueControl =
  /** It hands them out, or no host does. The changes require this. */
  | { readonly fence: Precondition | undefined }
  /** Another host hands them out, if it is known. */
  | { readonly elsewhere: string | undefined };

/** The entries of a group, besides its delegate. */
export interface FoundGroup {
  readonly isRecalled: boolean;
  readonly isPaused: boolean;
  /** The hosts that have consumers. */
  readonly members: ReadonlyMap<string, GroupMember>;
  /** The host that needs all partitions for a while. */
  readonly collector: string | undefined;
}

/** The dependencies of a {@link GroupLease}. */
export interface GroupLeaseDeps {
  readonly owned: OwnedShards;
  /** The shard of the group. */
  readonly shard: OwnedShard;
  readonly layout: QueueLayout;
  readonly commits: CommitBatcher;
  readonly clock: Clock;
  /** `undefined` if this host has the store for itself. */
  readonly hosts: ShardHosts | undefined;
  /** Has the leases of all groups reviewed, after reading their entries if `toRead`. */
  readonly review: (toRead: boolean) => void;
  /** Has them reviewed as well, also while this host stops; resolves at the end of the review. */
  readonly reread: () => Promise<void>;
}

/**
 * Whether this host hands out the messages of a group, and which. As a rule, the owner of the group's shard does. If it has had no
 * consumers for a second while other hosts are there, it offers the group; a host with consumers takes it, and is the
 * group's delegate until it has none, the owner has some again, or it is dead. So messages do not wait at a host that
 * cannot deliver them.
 *
 * The owner offers a group, and a delegate gives it back, when nothing of it is in flight any more. The commits of a
 * delegate require its entry, so that nothing it does counts once it has lost the group.
 *
 * If several hosts have consumers, the one that has the group spreads it: the entry then says which of them has which
 * partitions, and each of them moves it on. A host gives partitions away when nothing of them is in flight any more; those
 * of a dead one are divided among the others. All commits of settlements require the entry, and are tried again after
 * each change of it that has left the host the partitions. Earlier releases see a delegate: if one of them owns the shard
 * and has consumers, it recalls the group, or ends the delegate when that is dead; then the commits of all others fail.
 */
export class GroupLease {
  readonly #deps: GroupLeaseDeps;
  #queue: DurableQueue | undefined;
  #delegate: Delegate | undefined;
  #fence: Precondition | undefined;
  #isRecalled = false;
  /** Whether the entries were read since this host got the shard. */
  #isKnown: boolean;
  /** The hand-over of the group, from its begin until it is written. */
  #drain: { isDone: boolean; readonly done: Promise<void> } | undefined;
  #unservedSince: DualInstant;
  readonly #spread: GroupSpread;

  constructor(deps: GroupLeaseDeps) {
    this.#deps = deps;
    this.#spread = new GroupSpread(deps);
    this.#unservedSince = dualNow(deps.clock);
    this.#isKnown = deps.hosts === undefined;
  }

  /** Sets the queue; once. */
  set queue(queue: DurableQueue) {
    this.#queue = queue;
  }

  /** Whether this host may begin to hand messages out now: all of them, or those of some partitions. */
  get isHere(): boolean {
    if (this.#drain !== undefined || !this.#isKnown) return false;
    if (this.#delegate === undefined) return this.#deps.shard.isOwned;
    return this.isSpread ? this.#spread.isHere : this.isDelegate;
  }

  /** Whether this host is the only delegate. */
  get isDelegate(): boolean {
    const { hosts } = this.#deps;
    const hostId = this.isSpread ? undefined : this.#delegate?.hostId;
    return hostId !== undefined && hosts?.id === hostId && hosts.isLive(hostId);
  }

  /** Whether the partitions of the group are divided among hosts. */
  get isSpread(): boolean {
    return this.#spread.isOn;
  }

  /** Whether this host may begin to hand a message out, if it may hand out any. */
  handsOut(entry: Placed): boolean {
    return this.#spread.handsOut(entry);
  }

  /** Whether a message in a partition may be one that this host hands out. */
  mayHandOut(partition: number): boolean {
    return this.#spread.part.has(partition);
  }

  /**
   * The precondition of the settlement of a message, or of a batch of them; `undefined` when there are no other hosts.
   *
   * @throws ConflictError when other hosts hand out these messages.
   */
  fence(entry?: Placed, batch?: readonly Placed[]): Precondition | undefined {
    const { layout, shard } = this.#deps;
    if (this.#drain?.isDone === true || !this.#holds(entry, batch)) throw new ConflictError(layout.delegate);
    return this.#delegate === undefined ? shard.fence() : this.#fence;
  }

  /** Whether the entry, as it was last read, leaves messages to this host. */
  #holds(entry: Placed | undefined, batch: readonly Placed[] | undefined): boolean {
    if (this.#delegate === undefined) return true;
    return this.isSpread ? this.#spread.holds(entry, batch) : this.#delegate.hostId === this.#deps.hosts?.id;
  }

  /**
   * Whether an error says that the entry has changed, while messages are this host's as far as it knows: partitions have
   * moved, or the group was spread until now.
   */
  isOutdatedBy(error: unknown, entry: Placed, batch?: readonly Placed[]): boolean {
    if (!isConflictError(error) || error.key !== this.#deps.layout.delegate) return false;
    return this.#drain?.isDone !== true && this.#holds(entry, batch);
  }

  /** Reads the entries of the group. */
  read(): Promise<void> {
    return this.#deps.reread();
  }

  /** Whether this host has all messages of the group, so that it may change them otherwise than by settling them. */
  get #hasAll(): boolean {
    return this.isHere && this.#spread.isWhole;
  }

  /** See {@link QueueControl}. No host hands the messages out while the group is offered: claiming it changes its entry. */
  get control(): QueueControl {
    const { hosts } = this.#deps;
    if (this.#drain === undefined && this.#delegate !== undefined && this.#delegate.hostId === undefined)
      return { fence: this.#fence };
    if (this.#hasAll) return { fence: this.isSpread ? this.#fence : this.fence() };
    const isLeaving = this.#drain !== undefined || !this.#isKnown;
    return { elsewhere: isLeaving ? hosts?.id : this.#delegate?.hostId };
  }

  /** The host that hands the messages out; `undefined` if it is not known, or no host does. */
  get hostId(): string | undefined {
    return this.#hasAll ? this.#deps.hosts?.id : this.#delegate?.hostId;
  }

  /** Whether an error says that another host hands the messages out. */
  isFenced(error: unknown): boolean {
    const { owned, layout, review } = this.#deps;
    if (!isConflictError(error) || error.key !== layout.delegate) return owned.isFenced(error);
    review(true);
    return true;
  }

  /** The host got the shard: the entries of the group may have changed since they were read. */
  onGained(): void {
    if (!(this.isDelegate || this.isSpread)) this.#isKnown = false;
  }

  /** The entries of the group were read from the store. */
  onRead(delegate: Delegate | undefined, { isRecalled, isPaused, members, collector }: FoundGroup): void {
    this.#isKnown = true;
    this.#spread.note(members, collector);
    this.#isRecalled = isRecalled;
    if (this.#queue !== undefined) this.#queue.isPaused = isPaused;
    if (delegate?.version !== this.#delegate?.version) this.#set(delegate);
  }

  #set(delegate: Delegate | undefined): void {
    const wasHere = this.isHere;
    this.#delegate = delegate;
    this.#fence = delegate && { key: this.#deps.layout.delegate, version: delegate.version };
    if (this.#spread.set(delegate?.spread) && wasHere && this.isHere) this.#queue?.repartition();
  }

  /** The queue began or ceased to have consumers that take messages. */
  onServedChange(isServed: boolean): void {
    const { clock, hosts, review } = this.#deps;
    if (!isServed) this.#unservedSince = dualNow(clock);
    if (hosts !== undefined) review(false);
  }

  /** The limits of its consumers have changed. */
  onLimitsChange(): void {
    if (this.#deps.hosts !== undefined) this.#deps.review(false);
  }

  /** For how long this host has had no consumers for it, if it has none. */
  get unservedMs(): number {
    return msSince(this.#unservedSince, this.#deps.clock);
  }

  /** Whether no other host is known to hand the messages out. */
  get isIdle(): boolean {
    return this.#delegate?.hostId === undefined;
  }

  /** When it has to be reviewed because it has no consumers; `undefined` if it need not be. */
  get reviewAt(): number | undefined {
    const { shard, owned, clock } = this.#deps;
    const isOwner = this.#delegate === undefined && shard.isOwned;
    const isCandidate = !this.#isServed && (this.isDelegate || isOwner || this.#spread.takesPart);
    const delayMs = UNSERVED_MS - this.unservedMs;
    return isCandidate && owned.hasPeers && delayMs > 0 ? clock.now() + delayMs : undefined;
  }

  /** Whether this host hands messages out in place of the owner, and has no consumers any more. */
  get isLeaving(): boolean {
    return (this.isDelegate || this.#spread.takesPart) && this.#queue?.hasConsumers !== true;
  }

  /** Resolves when the group, or its partitions, have no messages in flight; `undefined` if this host gives none away. */
  get drained(): Promise<void> | undefined {
    return this.#drain?.done ?? this.#spread.released;
  }

  get #isServed(): boolean {
    return this.#queue?.isServed === true;
  }

  get #isUnserved(): boolean {
    return !this.#isServed && this.unservedMs >= UNSERVED_MS;
  }

  /**
   * Does what the entries and the consumers call for.
   *
   * @throws ConflictError when the entries have changed meanwhile.
   */
  async step(): Promise<void> {
    if (!this.#isKnown) return;
    await this.#announce();
    await this.#spread.tidy();
    if (this.isSpread) await this.#move();
    else if (this.#givesUp) {
      if (this.#drain?.isDone !== true) return this.#beginDrain();
      await (this.isDelegate ? this.#end([]) : this.#offer());
      this.#drain = undefined;
    } else {
      this.#drain = undefined;
      await this.#claim();
      if (this.#maySpread) await this.#writeSpread(new Map([[this.#deps.hosts?.id ?? '', ALL_PARTITIONS]]), []);
    }
    if (this.isHere) this.#queue?.resume();
    else this.#queue?.rest();
    if (this.#hasAll) this.#spread.onWhole();
  }

  /** See {@link GroupSpread.gathered}. */
  gathered<T>(work: () => Promise<T>): Promise<T> {
    return this.#spread.gathered(work);
  }

  #announce(): Promise<void> {
    const isTogether = this.#queue?.isTogether === true;
    return this.#spread.announce(this.#wants, { hasPeers: this.#deps.owned.hasPeers, isTogether });
  }

  /** Whether this host has consumers that take messages, or had some a moment ago. */
  get #wants(): boolean {
    return this.#isServed || (this.#queue?.hasConsumers === true && this.unservedMs < UNSERVED_MS);
  }

  /** Whether this host has the whole group, and others have consumers as well. */
  get #maySpread(): boolean {
    return !this.#isRecalled && this.#isServed && this.isHere && this.#spread.mayBegin;
  }

  /** Moves partitions of the spread to the hosts that should have them. */
  async #move(): Promise<void> {
    const step = this.#queue && this.#spread.next(this.#queue, this.#isRecalled);
    if (step === 'whole') await this.#gather();
    else if (step !== undefined) await this.#writeSpread(step.spread, step.dead);
  }

  /** This host has the whole group again, as the owner of the shard or as the delegate. */
  async #gather(): Promise<void> {
    const { shard, hosts } = this.#deps;
    if (shard.isOwned) await this.#end([]);
    else if (hosts !== undefined) await this.#becomeDelegate(hosts.id);
  }

  /** Writes a spread; one without hosts ends it. */
  async #writeSpread(spread: Spread, dead: readonly string[]): Promise<void> {
    const { commits, hosts, layout, shard } = this.#deps;
    const gone = hosts === undefined ? [] : dead.map((id) => hosts.whenGone(id));
    if (spread.size === 0 && (this.#isRecalled || shard.isOwned)) return this.#end(gone);
    const before = this.#delegate?.hostId;
    const [first] = spread.keys();
    const hostId = before !== undefined && spread.has(before) ? before : first;
    const content = hostId === undefined ? {} : { hostId, spread: storedSpread(spread) };
    const fence = this.#delegate === undefined ? shard.fence() : undefined;
    const put = [{ key: layout.delegate, value: record(content) }];
    const version = await commits.commit({ require: [this.#asRead, ...gone], put, fence });
    this.#set({ hostId, version, ...(hostId === undefined ? {} : { spread }) });
    this.#deps.review(false);
  }

  /** Whether this host has to give the group away. */
  get #givesUp(): boolean {
    if (this.isDelegate) return this.#isRecalled || this.#isUnserved || this.isLeaving;
    const { shard, owned } = this.#deps;
    return this.#delegate === undefined && shard.isOwned && owned.hasPeers && this.#isUnserved;
  }

  async #claim(): Promise<void> {
    const { shard, hosts } = this.#deps;
    if (this.#delegate === undefined || hosts === undefined || this.isDelegate) return;
    const { hostId } = this.#delegate;
    if (!shard.isOwned) {
      if (hostId === undefined && this.#isServed) await this.#becomeDelegate(hosts.id);
    } else if (hostId === undefined) {
      if (this.#isServed) await this.#end([]);
    } else if (!hosts.isLive(hostId)) await this.#end([hosts.whenGone(hostId)]);
    else if (this.#isServed && !this.#isRecalled && this.#spread.keepsToItself(hostId)) await this.#recall();
  }

  #beginDrain(): void {
    if (this.#drain !== undefined || this.#queue === undefined) return;
    const drain = { isDone: false, done: this.#queue.drain() };
    this.#drain = drain;
    void drain.done.then(() => {
      drain.isDone = true;
      this.#deps.review(false);
    });
  }

  async #offer(): Promise<void> {
    const { commits, shard, layout } = this.#deps;
    const [require, put] = [[this.#asRead], [{ key: layout.delegate, value: record({}) }]];
    this.#set({ hostId: undefined, version: await commits.commit({ require, put, fence: shard.fence() }) });
  }

  async #becomeDelegate(hostId: string): Promise<void> {
    const { commits, layout } = this.#deps;
    const put = [{ key: layout.delegate, value: record({ hostId }) }];
    this.#set({ hostId, version: await commits.commit({ require: [this.#asRead], put }) });
  }

  async #recall(): Promise<void> {
    const { commits, shard, layout } = this.#deps;
    const put = [{ key: layout.recall, value: record({}) }];
    await commits.commit({ require: [this.#asRead], put, fence: shard.fence() });
    this.#isRecalled = true;
  }

  /** The owner of the shard hands the messages out again. */
  async #end(conditions: readonly Precondition[]): Promise<void> {
    const { commits, shard, layout } = this.#deps;
    const require = [this.#asRead, ...conditions];
    const fence = shard.isOwned && !this.isDelegate ? shard.fence() : undefined;
    await commits.commit({ require, delete: [layout.delegate, layout.recall], fence });
    this.#set(undefined);
    this.#isRecalled = false;
  }

  /** The precondition that the entry has not changed. */
  get #asRead(): Precondition {
    return { key: this.#deps.layout.delegate, version: this.#delegate?.version ?? 'absent' };
  }
}

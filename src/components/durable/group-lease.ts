import type { ShardHosts } from '../../cluster/shards.ts';
import type { CommitBatcher } from '../../kernel/commit-batcher.ts';
import type { OwnedShard, OwnedShards } from '../../kernel/owned-shards.ts';
import { ConflictError, isConflictError } from '../../state/errors.ts';
import type { Precondition } from '../../state/store.ts';
import { type Clock, type DualInstant, dualNow, msSince } from '../../util/clock.ts';
import type { QueueLayout } from './layout.ts';
import type { DurableQueue } from './queue.ts';
import { record } from './records.ts';

/** How long a host keeps a group for which it has no consumers. */
const UNSERVED_MS = 1_000;

/** The stored delegate of a group. */
export interface Delegate {
  /** The host that hands the messages out; `undefined` if any host with consumers may become it. */
  readonly hostId: string | undefined;
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
}

/**
 * Whether this host hands out the messages of a group. As a rule, the owner of the group's shard does. If it has had no
 * consumers for a second while other hosts are there, it offers the group; a host with consumers takes it, and is the
 * group's delegate until it has none, the owner has some again, or it is dead. So messages do not wait at a host that
 * cannot deliver them.
 *
 * The owner offers a group, and a delegate gives it back, when nothing of it is in flight any more. The commits of a
 * delegate require its entry, so that nothing it does counts once it has lost the group.
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

  constructor(deps: GroupLeaseDeps) {
    this.#deps = deps;
    this.#unservedSince = dualNow(deps.clock);
    this.#isKnown = deps.hosts === undefined;
  }

  /** Sets the queue; once. */
  set queue(queue: DurableQueue) {
    this.#queue = queue;
  }

  /** Whether this host may begin to hand messages out now. */
  get isHere(): boolean {
    if (this.#drain !== undefined || !this.#isKnown) return false;
    return this.#delegate === undefined ? this.#deps.shard.isOwned : this.isDelegate;
  }

  /** Whether this host is the delegate. */
  get isDelegate(): boolean {
    const { hosts } = this.#deps;
    return this.#delegate?.hostId !== undefined && hosts?.id === this.#delegate.hostId && hosts.isLive(hosts.id);
  }

  /**
   * The precondition of settlements; `undefined` when there are no other hosts.
   *
   * @throws ConflictError when another host hands the messages out.
   */
  fence(): Precondition | undefined {
    const { hosts, layout, shard } = this.#deps;
    if (this.#drain?.isDone === true) throw new ConflictError(layout.delegate);
    if (this.#delegate === undefined) return shard.fence();
    if (this.#delegate.hostId !== hosts?.id) throw new ConflictError(layout.delegate);
    return this.#fence;
  }

  /** See {@link QueueControl}. No host hands the messages out while the group is offered: claiming it changes its entry. */
  get control(): QueueControl {
    const { hosts } = this.#deps;
    if (this.#drain === undefined && this.#delegate !== undefined && this.#delegate.hostId === undefined)
      return { fence: this.#fence };
    if (this.isHere) return { fence: this.fence() };
    const isLeaving = this.#drain !== undefined || !this.#isKnown;
    return { elsewhere: isLeaving ? hosts?.id : this.#delegate?.hostId };
  }

  /** The host that hands the messages out; `undefined` if it is not known, or no host does. */
  get hostId(): string | undefined {
    return this.isHere ? this.#deps.hosts?.id : this.#delegate?.hostId;
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
    if (!this.isDelegate) this.#isKnown = false;
  }

  /** The entries of the group were read from the store. */
  onRead(delegate: Delegate | undefined, { isRecalled, isPaused }: FoundGroup): void {
    this.#isKnown = true;
    this.#isRecalled = isRecalled;
    if (this.#queue !== undefined) this.#queue.isPaused = isPaused;
    if (delegate?.version !== this.#delegate?.version) this.#set(delegate);
  }

  #set(delegate: Delegate | undefined): void {
    this.#delegate = delegate;
    this.#fence = delegate && { key: this.#deps.layout.delegate, version: delegate.version };
  }

  /** The queue began or ceased to have consumers that take messages. */
  onServedChange(isServed: boolean): void {
    const { clock, hosts, review } = this.#deps;
    if (!isServed) this.#unservedSince = dualNow(clock);
    if (hosts !== undefined) review(false);
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
    const isCandidate = !this.#isServed && (this.isDelegate || (this.#delegate === undefined && shard.isOwned));
    const delayMs = UNSERVED_MS - this.unservedMs;
    return isCandidate && owned.hasPeers && delayMs > 0 ? clock.now() + delayMs : undefined;
  }

  /** Whether this host is the delegate and has no consumers any more. */
  get isLeaving(): boolean {
    return this.isDelegate && this.#queue?.hasConsumers !== true;
  }

  /** Resolves when the group has no messages in flight; `undefined` if this host does not give it away. */
  get drained(): Promise<void> | undefined {
    return this.#drain?.done;
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
    if (this.#givesUp) {
      if (this.#drain?.isDone !== true) return this.#beginDrain();
      await (this.isDelegate ? this.#end([]) : this.#offer());
      this.#drain = undefined;
    } else {
      this.#drain = undefined;
      await this.#claim();
    }
    if (this.isHere) this.#queue?.resume();
    else this.#queue?.rest();
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
    else if (this.#isServed && !this.#isRecalled) await this.#recall();
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
    const fence = this.isDelegate ? undefined : shard.fence();
    await commits.commit({ require, delete: [layout.delegate, layout.recall], fence });
    this.#set(undefined);
    this.#isRecalled = false;
  }

  /** The precondition that the entry has not changed. */
  get #asRead(): Precondition {
    return { key: this.#deps.layout.delegate, version: this.#delegate?.version ?? 'absent' };
  }
}

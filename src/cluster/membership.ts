import { retryOnConflict } from '../state/retry-on-conflict.ts';
import type { StateStore } from '../state/store.ts';
import { type DualInstant, dualNow } from '../util/clock.ts';
import { Handover } from './hand-over.ts';
import { Heartbeat } from './heartbeat.ts';
import { HostRegistration } from './host-registration.ts';
import { HostStore } from './host-store.ts';
import { HOSTS_PREFIX, type HostTable, hostIdOf, isOnly, readHosts, ShardLayout, type StoredHost } from './hosts.ts';
import { Liveness } from './liveness.ts';
import { areHostsLocal, type LocalHosts, type LocalOwner, localHostsOf } from './local-hosts.ts';
import { HEARTBEAT_MS, LEASE_MS, type MembershipOptions } from './membership-options.ts';
import { OwnerEntries } from './owner-entries.ts';
import { AT_START, Patience } from './patience.ts';
import { RemoteWatch } from './remote-watch.ts';
import { batchOf, planShards, ShardOwners, type ShardPlan } from './shard-plan.ts';
import { ShardTable } from './shard-table.ts';
import { SHARD_COUNT, type Shards } from './shards.ts';
import { MAX_TRIES, withdraw } from './withdraw.ts';

/**
 * This host among the hosts of a store: it keeps a record there, renews it, checks the records of the others, and owns
 * its share of the app ID's shards. A host that is alone writes only at its start and its end.
 */
export class Membership implements LocalOwner {
  /** The hosts of this process that use the store. */
  readonly local: LocalHosts;
  /** The store. Its watches report the changes of other hosts only. */
  readonly store: StateStore;
  /** How long this host waits for the store at its start and its stop. */
  readonly patience: Patience;
  offered: object | undefined;
  readonly owners: ShardOwners = new ShardOwners();
  readonly #options: MembershipOptions;
  readonly #layout: ShardLayout;
  readonly #remoteWatch: RemoteWatch;
  readonly #table: ShardTable;
  readonly #liveness: Liveness;
  readonly #ownerEntries: OwnerEntries;
  readonly #handover: Handover;
  readonly #own: HostRegistration;
  readonly #leaving = new AbortController();
  #toLook = false;
  /** Whether the next check must read the records of other hosts. */
  #toRead = true;
  #looking: Promise<void> | undefined;
  readonly #heartbeat: Heartbeat;
  #hasFailed = false;
  /** Whether the last read of the store showed no other host. */
  #isAlone = false;
  #left: Promise<void> | undefined;

  private constructor(options: MembershipOptions) {
    const { appId, clock, logger, heartbeatMs = HEARTBEAT_MS, leaseMs = LEASE_MS } = options;
    this.#options = options;
    this.local = localHostsOf(options.store);
    this.patience = new Patience({ ...options, leaving: this.#leaving.signal });
    this.store = new HostStore(options.store, this.local, { logger, patience: this.patience });
    this.#layout = new ShardLayout(appId);
    this.#ownerEntries = new OwnerEntries(this.store, this.#layout.range);
    const remoteWatch = new RemoteWatch(this.store, clock);
    this.#remoteWatch = remoteWatch;
    // Others see a renewal up to one heartbeat later; the sum must stay within the lease.
    const silenceMs = leaseMs - heartbeatMs;
    this.#liveness = new Liveness({ local: this.local, appId, silenceMs, areHostsLocal: () => this.#areHostsLocal });
    const [isSole, onBeat, onLook] = [() => this.#isSole, () => this.#renew(), () => this.#look()];
    const [{ store }, liveness] = [this, this.#liveness];
    this.#heartbeat = new Heartbeat({ clock, heartbeatMs, store, liveness, isSole, onBeat, onLook });
    const onDoubt = (): void => this.#lookAtAll();
    const ownId = (): string => this.id;
    this.#table = new ShardTable({ layout: this.#layout, remoteWatch, clock, logger, silenceMs, ownId, onDoubt });
    const [table, leaving] = [this.#table, this.#leaving.signal];
    const onEnd = (hasFailed: boolean): void => this.#released(hasFailed);
    this.#handover = new Handover({ ...options, store: this.store, table, gracePeriodMs: leaseMs, leaving, onEnd });
    const { namespace, address, actorTypes = [], newId } = options;
    this.#own = new HostRegistration({ id: newId(), appId, namespace, address, actorTypes, updatedAt: this.#now });
  }

  /** Joins the hosts of the store, and owns the shards that no other owns: later if the store does not respond. */
  static async join(options: MembershipOptions): Promise<Membership> {
    const membership = new Membership(options);
    await membership.#join();
    return membership;
  }

  /** The shards of the app ID. */
  get shards(): Shards {
    return this.#table;
  }

  /** The ID of this host; it gets a new one if others considered it dead. */
  get id(): string {
    return this.#own.record.id;
  }

  /** The live hosts of all app IDs. */
  async hosts(): Promise<HostTable> {
    const table = await readHosts(this.store);
    const now = dualNow(this.#options.clock);
    if (this.#liveness.observe(table, now)) this.#lookAtAll({ hasPeers: true });
    return { ...table, hosts: table.hosts.filter((host) => host.id === this.id || this.#liveness.isLive(host, now)) };
  }

  /** Publishes the actor types of this host. */
  async setActorTypes(types: readonly string[]): Promise<void> {
    const actorTypes = [...new Set(types)].sort();
    if (actorTypes.join('\n') === this.#own.record.actorTypes.join('\n')) return;
    this.#own.setActorTypes(actorTypes, this.#now);
    this.#look();
    await this.#looking;
  }

  /** Gives shards to other hosts, each as soon as its work in flight has ended: this host begins to stop. */
  retire(): void {
    if (!this.#table.hasPeers) return;
    this.#own.retire();
    this.#look();
  }

  /** Hands all shards over and removes the record. */
  leave(): Promise<void> {
    this.#left ??= this.#leave();
    return this.#left;
  }

  /** Whether no other process has the store open. */
  get #areHostsLocal(): boolean {
    return areHostsLocal(this.#options.store);
  }

  get #now(): number {
    return Math.floor(this.#options.clock.now());
  }

  async #join(): Promise<void> {
    this.local.add({ id: this.id, appId: this.#options.appId, owner: this, onOthers: () => this.#meetOthers() });
    this.#meetOthers();
    await this.patience.waitFor(this.#looking, AT_START);
    this.local.revision++;
    this.#remoteWatch.watch(HOSTS_PREFIX, (keys) => {
      if (keys.length === 0 && (this.#isSole || this.#hasFailed)) return this.#look();
      const others = keys.map(hostIdOf).filter((id) => id !== this.id);
      if (others.length > 0) this.#heartbeat.renewed();
      if (others.every((id) => this.#liveness.knows(id))) return;
      this.#lookAtAll({ hasPeers: true });
    });
    this.#remoteWatch.watch(this.#layout.prefix, (keys) => {
      // Hints may have been lost: the next check reads them.
      if (keys.length === 0) this.#ownerEntries.changed();
      else this.#lookAtAll();
    });
  }

  /**
   * Called when other hosts have come or gone, or other processes may have hosts now. A host that is alone on a store of
   * one process needs no watch, renewal or check.
   */
  #meetOthers(): void {
    const isShared = !this.#areHostsLocal || this.local.countOf(this.#options.appId) > 1;
    // No other host could have considered this host dead before.
    if (isShared && !this.#table.isShared) this.#table.note({ renewedAt: dualNow(this.#options.clock) });
    this.#table.note({ isShared });
    this.#remoteWatch.isOn = !this.#leaving.signal.aborted && (!this.#areHostsLocal || this.local.count > 1);
    this.#look();
  }

  /** Renews the record periodically if other hosts check it; checks again after a failure. */
  #beat(): void {
    const isNeeded = (this.#table.isShared || this.#hasFailed) && !this.#leaving.signal.aborted;
    if (isNeeded) this.#heartbeat.next(this.id);
    else this.#heartbeat.stop();
  }

  #renew(): void {
    // While this process slept, another host may have taken over: its memory may be out of date.
    if (this.#table.isOverdue) this.#table.drop(this.#table.held);
    this.#own.renew();
    this.#lookSoon();
  }

  /** Schedules a check of hosts and shards that reads the store. */
  #look(): void {
    this.#toRead = true;
    this.#lookSoon();
  }

  /** Schedules a full check even if this host was alone: another host has written something. */
  #lookAtAll({ hasPeers = false } = {}): void {
    if (hasPeers) this.#table.hasPeers = true;
    this.#doubtAll();
    this.#lookSoon();
  }

  /** The next check reads everything, and takes no short cut. */
  #doubtAll(): void {
    this.#isAlone = false;
    this.#ownerEntries.changed();
    this.#toRead = true;
  }

  /** Schedules a check; runs one at a time. */
  #lookSoon(): void {
    this.#toLook = true;
    if (this.#looking !== undefined || this.#leaving.signal.aborted) return;
    const done = this.#options.track('looking at the shards');
    this.#looking = this.#lookOn().finally(done);
  }

  async #lookOn(): Promise<void> {
    const { logger } = this.#options;
    const onConflict = (): void => {
      this.#toRead = true;
      this.#ownerEntries.changed();
    };
    while (this.#toLook && !this.#leaving.signal.aborted) {
      this.#toLook = false;
      try {
        await retryOnConflict(MAX_TRIES, () => this.#step(), onConflict);
        this.#hasFailed = false;
      } catch (error) {
        const isTold = this.#hasFailed || this.#leaving.signal.aborted;
        if (!isTold) logger.error({ error }, 'the hosts of the store cannot be read: will be tried again');
        this.#hasFailed = true;
        this.#toRead = true;
      }
    }
    // At once: a check that is asked for from now on would not be noticed any more.
    this.#looking = undefined;
    this.#beat();
  }

  /** Alone, and hints would announce other hosts: renewals need no reads. */
  get #isSole(): boolean {
    return this.#isAlone && this.store.hints === 'all' && this.#table.held.length === SHARD_COUNT;
  }

  /** Renews the record; reads other hosts only if requested. Returns false when a full check is necessary. */
  async #hasRenewed(startedAt: DualInstant): Promise<boolean> {
    if (this.#toRead) {
      this.#toRead = false;
      const table = await readHosts(this.store);
      this.#liveness.observe(table, dualNow(this.#options.clock));
      if (this.#own.isGone(table) || !isOnly(table, this.id)) return false;
    }
    const renewal = this.#own.renewal();
    if (renewal === undefined) return !this.#own.isDue;
    const { require, put, written } = renewal;
    written(await this.store.commit({ require, put }));
    this.#table.note({ renewedAt: startedAt });
    return true;
  }

  async #step(): Promise<void> {
    const { clock } = this.#options;
    const startedAt = dualNow(clock);
    const isInformed = !this.#toRead && this.#heartbeat.isLookDue;
    if ((this.#isSole || isInformed) && (await this.#hasRenewed(startedAt))) return;
    this.#toRead = false;
    const [table, owners] = await Promise.all([readHosts(this.store), this.#ownerEntries.read()]);
    // After the read, as everywhere: of two that overlap, the one that began first may end last.
    this.#liveness.observe(table, dualNow(clock));
    if (this.#own.isGone(table)) this.#beginAnew();
    const isLive = (host: StoredHost): boolean => this.#liveness.isLive(host, startedAt);
    const plan = planShards({ table, owners, layout: this.#layout, own: this.#own.record, isLive });
    this.#isAlone = isOnly(table, this.id);
    // A host of this process may be about to write its record.
    this.#table.hasPeers = plan.peers.length > 0 || this.#areHostsLocal;
    await this.#write(table, plan, startedAt);
    this.owners.note(plan.owners);
    this.#table.hosts.note(plan.peers);
    this.#handover.release(plan.release);
  }

  /** Other hosts considered this host dead and own its shards. */
  #beginAnew(): void {
    const { logger, newId } = this.#options;
    logger.warn({ hostId: this.id }, 'other hosts considered this host dead: it joins again');
    this.#table.drop(this.#table.held);
    const former = this.id;
    this.#own.replace(newId(), this.#now);
    this.local.replace(former, this.id);
  }

  async #write(table: HostTable, plan: ShardPlan, startedAt: DualInstant): Promise<void> {
    this.#table.drop(this.#table.held.filter((shard) => !plan.mine.has(shard)));
    const mine = new Map(plan.mine);
    if (this.#own.isDue || plan.take.length > 0 || plan.dead.length > 0) {
      const { isDue } = this.#own;
      const own = this.#own.change(table, plan.dead);
      const version = await this.store.commit(batchOf(plan, own, { layout: this.#layout, id: this.id }));
      own.written(version);
      if (plan.take.length > 0) this.#ownerEntries.changed();
      if (isDue) this.#table.note({ renewedAt: startedAt });
      for (const shard of plan.take) mine.set(shard, version);
    }
    this.#table.adopt(mine, { release: plan.release, handover: this.#handover });
  }

  /** Shards were handed over: checks at once. After a failure, the next heartbeat reopens those that stay here. */
  #released(hasFailed: boolean): void {
    if (!hasFailed) return this.#lookAtAll();
    this.#doubtAll();
    this.#hasFailed = true;
    this.#beat();
  }

  async #leave(): Promise<void> {
    this.#leaving.abort(new Error('the host leaves'));
    this.#beat();
    this.#remoteWatch.isOn = false;
    await this.#looking;
    await this.#handover.ended();
    await withdraw({ ...this.#options, store: this.store, own: this.#own, table: this.#table });
    this.patience.end();
    this.local.remove(this.id);
  }
}

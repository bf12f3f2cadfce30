import type { ShardHosts } from '../../cluster/shards.ts';
import type { CommitBatcher } from '../../kernel/commit-batcher.ts';
import type { OwnedShard, OwnedShards } from '../../kernel/owned-shards.ts';
import { isConflict } from '../../state/errors.ts';
import type { Clock, Timer } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import type { ConsumerGroups } from './consumer-groups.ts';
import { GroupHolder } from './group-holder.ts';
import type { QueueLayout } from './layout.ts';
import { OBJECT, readRecord } from './records.ts';
import { STORE_RETRY_MS } from './settlements.ts';

/** How often changes that other hosts prevent are tried at once; after that, a second later. */
const MAX_CONFLICTS = 3;

/** The dependencies of {@link StandIns}. */
export interface StandInsDeps {
  readonly groups: ConsumerGroups;
  readonly commits: CommitBatcher;
  readonly owned: OwnedShards;
  /** `undefined` if this host has the store for itself. */
  readonly hosts: ShardHosts | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly track: (what: string) => () => void;
}

/** The stand-ins of a component's groups, see {@link GroupHolder}: reads them and lets the holders act, one look at a time. */
export class StandIns {
  readonly #deps: StandInsDeps;
  /** By the key of the group's stand-in. */
  readonly #holders = new Map<string, { readonly holder: GroupHolder; readonly layout: QueueLayout }>();
  #toLook = false;
  #toRead = false;
  #looking: Promise<void> | undefined;
  #hasFailed = false;
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #isClosing = false;

  constructor(deps: StandInsDeps) {
    this.#deps = deps;
  }

  /** Follows the hosts that come and go. */
  follow(): void {
    this.#deps.hosts?.onChange(() => this.look(true));
  }

  /** Other hosts have changed groups or stand-ins, or may have if it is not `isCertain`. */
  changed(isCertain: boolean): void {
    if (isCertain || this.#deps.owned.hasPeers) this.look(true);
  }

  /** The holder of a group. */
  holderOf(layout: QueueLayout, shard: OwnedShard): GroupHolder {
    const look = (toRead: boolean): void => this.look(toRead);
    const holder = new GroupHolder({ ...this.#deps, shard, layout, look });
    this.#holders.set(layout.standIn, { holder, layout });
    if (this.#deps.hosts !== undefined) this.look(true);
    return holder;
  }

  /** The group is gone. */
  forget(layout: QueueLayout): void {
    this.#holders.delete(layout.standIn);
  }

  /** Looks at the groups, after reading the stand-ins if `toRead`. */
  look(toRead: boolean): void {
    if (toRead && this.#isClosing) return;
    this.#toLook = true;
    this.#toRead ||= toRead;
    if (this.#looking !== undefined) return;
    const done = this.#deps.track('looking at the stand-ins of groups');
    this.#looking = this.#lookOn().finally(done);
  }

  /** Resolves when groups that this host had in place of others, and for which it has no consumers, are given back. */
  async settled(): Promise<void> {
    for (;;) {
      await this.#looking;
      const leaving = [...this.#holders.values()].filter(({ holder }) => holder.isLeaving);
      if (leaving.length === 0 || this.#hasFailed) return;
      await Promise.all(leaving.map(({ holder }) => holder.drained));
      this.look(false);
    }
  }

  async #lookOn(): Promise<void> {
    // Callers finish their own changes first.
    await undefined;
    for (let conflicts = 0; this.#toLook; ) {
      this.#toLook = false;
      try {
        if (this.#toRead) await this.read();
        await this.#step();
        this.#hasFailed = false;
      } catch (error) {
        this.#toRead = true;
        this.#deps.owned.isFenced(error);
        if (isConflict(error) && ++conflicts < MAX_CONFLICTS) this.#toLook = true;
        else this.#failed(error);
      }
    }
    // At once: a look that is asked for from now on would not be noticed any more.
    this.#looking = undefined;
    this.#expectNext();
  }

  /** Reads the stand-ins of all groups. */
  async read(): Promise<void> {
    this.#toRead = false;
    const entries = await this.#deps.groups.readAnew();
    for (const { holder, layout: keys } of this.#holders.values()) {
      const entry = entries.get(keys.standIn);
      const content = entry && readRecord<{ readonly hostId?: string }>(entry.key, entry.value, OBJECT);
      const rest = { isRecalled: entries.has(keys.recall), isPaused: entries.has(keys.paused) };
      holder.found(entry && { hostId: content?.hostId, version: entry.version }, rest);
    }
  }

  /** Lets every holder act; then throws the first error, if any. */
  async #step(): Promise<void> {
    const steps = await Promise.allSettled([...this.#holders.values()].map(({ holder }) => holder.step()));
    const failed = steps.filter((step) => step.status === 'rejected').map(({ reason }) => reason as unknown);
    const worst = failed.find((reason) => !isConflict(reason)) ?? failed[0];
    if (worst !== undefined) throw worst;
  }

  #failed(error: unknown): void {
    const { logger, clock } = this.#deps;
    if (!(this.#hasFailed || isConflict(error)))
      logger.error({ error }, 'the stand-ins of groups cannot be read: will be tried again');
    this.#hasFailed = true;
    this.#lookAt(clock.now() + STORE_RETRY_MS);
  }

  #expectNext(): void {
    for (const { holder } of this.#holders.values()) {
      const { looksAt } = holder;
      if (looksAt !== undefined) this.#lookAt(looksAt);
    }
  }

  /** Sets the one timer, for the earliest instant. */
  #lookAt(at: number): void {
    if (at >= this.#timerAt || this.#isClosing) return;
    const { clock } = this.#deps;
    this.#timer?.cancel();
    this.#timerAt = at;
    this.#timer = clock.setTimeout(() => {
      this.#timerAt = Number.POSITIVE_INFINITY;
      this.look(false);
    }, at - clock.now());
  }

  /** From now on only gives groups back. */
  close(): void {
    this.#isClosing = true;
    this.#timer?.cancel();
  }
}

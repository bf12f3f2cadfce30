import type { Shards } from '../../../cluster/shards.ts';
import type { Change } from '../../../kernel/commit-batcher.ts';
import type { OwnedShards } from '../../../kernel/owned-shards.ts';
import { type StandIn, StandIns } from '../../../kernel/stand-ins.ts';
import { Damages } from '../../../state/damages.ts';
import type { StateStore } from '../../../state/store.ts';
import type { Timer } from '../../../util/clock.ts';
import type { Registry } from '../authoring/registry.ts';
import type { WorkflowFailure } from '../model/failure.ts';
import type { WorkflowMissingCode } from '../model/instance.ts';
import type { WorkflowLayout } from '../storage/layout.ts';
import type { InstancePool } from './instance-pool.ts';
import { MissingNames } from './missing-names.ts';
import type { WorkflowsDeps } from './workflows-deps.ts';

/** The dependencies of {@link WaitingForCode}. */
export interface WaitingForCodeDeps extends Pick<WorkflowsDeps, 'clock' | 'work' | 'logger' | 'missingCodeTimeoutMs'> {
  readonly state: StateStore;
  readonly shards: Shards;
  readonly owned: OwnedShards;
  readonly layout: WorkflowLayout;
  readonly registry: Registry;
  readonly pool: () => InstancePool;
  readonly write: (change: Change) => Promise<number>;
  /** Another host may run an instance now, or this one again. */
  readonly onMoved: (id: string) => void;
  /** The time that instances wait for some code is over. */
  readonly onOverdue: () => void;
  readonly onFailure: (error: unknown) => void;
}

/** How long an instance waits for its code here before it is offered to other hosts. */
const OFFERED_AFTER_MS = 1_000;
/** How many instances are looked at together. */
const TOGETHER = 64;
const READING = 'reading what workflows other hosts offer';

/**
 * Instances that wait for code that is not registered here. Offers them to the other hosts, and takes those of others
 * whose code is.
 */
export class WaitingForCode {
  readonly standIns: StandIns<WorkflowMissingCode>;
  readonly #deps: WaitingForCodeDeps;
  readonly #watches: Disposable[] = [];
  readonly #workflows: MissingNames;
  readonly #patches: MissingNames;
  /** The code that instances of this host wait for. */
  readonly #needs = new Map<string, WorkflowMissingCode>();
  /** The instances in `#needs` that have not been offered. */
  readonly #waiting = new Set<string>();
  /** Instances that are to be looked at. */
  readonly #toLookAt = new Set<string>();
  /** Offered instances whose histories do not fit the code of this host, with the versions of their offers. */
  readonly #unfit = new Map<string, number>();
  #timer: Timer | undefined;
  #isLooking = false;
  #isStopped = false;

  constructor(deps: WaitingForCodeDeps) {
    const { state, shards, owned, layout, write, logger, registry } = deps;
    this.#deps = deps;
    const isThere = (name: string): boolean => registry.program(name) !== undefined;
    this.#workflows = new MissingNames({ ...deps, kind: 'workflow', isThere });
    // Whether it is in new code shows only when that runs.
    this.#patches = new MissingNames({ ...deps, kind: 'patch', isThere: () => true });
    this.standIns = new StandIns({
      ...{ owned, hosts: shards.hosts, store: state, write, range: layout.standInRange },
      keyOf: (id) => layout.standIn(id),
      idOf: (key) => layout.instanceIdOf(key),
      damages: new Damages(logger, 'what host runs a workflow cannot be read: the owner of its shard does'),
      onChange: (id) => this.#changed(id),
    });
  }

  /** Follows what other hosts offer. */
  start(): void {
    const { shards, owned, layout, registry } = this.#deps;
    const changed = (keys: readonly string[]): Promise<void> => this.standIns.changed(keys);
    owned.watch(layout.standInRange.from, (keys) => {
      // Without workflows, a host that may have missed something has nothing to take.
      if (keys.length > 0 || registry.hasWorkflows) void this.#inWork(READING, () => changed(keys));
    });
    this.#watches.push(shards.hosts.onChange(() => this.hostsChanged()));
  }

  /** Reads which instances other hosts run, before this host goes on with those of shards that it has got. */
  async read(): Promise<void> {
    if (!this.#deps.shards.isShared) return;
    await this.standIns.changed();
    this.hostsChanged();
  }

  /** An instance has ended, or does not exist. */
  ended(id: string): void {
    this.found(id);
    if (this.standIns.of(id) === undefined || !this.standIns.owns(id)) return;
    void this.#inWork('ending the offer of a workflow', () => this.standIns.end(id));
  }

  /** An instance of this host needs code. Answers whether it is to wait for it. */
  waitsFor(id: string, need: WorkflowMissingCode, reason?: string): boolean {
    const names = need.kind === 'patch' ? this.#patches : this.#workflows;
    if (!names.waitsFor(need.name, id, reason)) return false;
    this.#needs.set(id, need);
    const standIn = this.standIns.of(id);
    if (standIn === undefined || standIn.isKept) this.#waiting.add(id);
    this.#setTimer();
    return true;
  }

  /** An instance in memory needs an activity that is not registered: it goes on with everything else. */
  lacksActivity(id: string): void {
    this.#waiting.add(id);
    this.#setTimer();
  }

  /** The failure of an instance that has waited too long for its workflow. */
  failureOf(name: string): WorkflowFailure {
    return this.#workflows.failureOf(name);
  }

  /** The code of an instance is there. */
  found(id: string): void {
    this.#needs.delete(id);
    this.#waiting.delete(id);
  }

  /** The code that an instance waits for, here or at another host. */
  needsOf(id: string): readonly WorkflowMissingCode[] {
    const standIn = this.standIns.of(id);
    if (standIn !== undefined) return standIn.hostId === undefined ? standIn.needs : [];
    const need = this.standIns.owns(id) ? this.#needs.get(id) : undefined;
    return need === undefined ? [] : [need];
  }

  #setTimer(): void {
    const { owned, clock } = this.#deps;
    if (this.#timer !== undefined || this.#waiting.size === 0 || !owned.hasPeers || this.#isStopped) return;
    this.#timer = clock.setTimeout(() => {
      this.#timer = undefined;
      if (owned.hasPeers) void this.#inWork('offering workflows to other hosts', () => this.#offerAll());
    }, OFFERED_AFTER_MS);
  }

  async #offerAll(): Promise<void> {
    const ids = [...this.#waiting];
    this.#waiting.clear();
    const pool = this.#deps.pool();
    await Promise.all(ids.map((id) => (pool.has(id) ? this.#tell(id) : this.#offer(id))));
  }

  async #offer(id: string): Promise<void> {
    const need = this.#needs.get(id);
    if (need !== undefined && this.standIns.owns(id)) await this.standIns.offer(id, [need]);
    // From now on the offer shows it, or the other host that owns it.
    this.#needs.delete(id);
  }

  /** Tells the other hosts which activities an instance in memory waits for, unless they know. */
  async #tell(id: string): Promise<void> {
    const { owned, pool } = this.#deps;
    const standIn = this.standIns.of(id);
    if (!owned.owns(id) || (standIn !== undefined && !standIn.isKept)) return;
    const needs = pool().missingActivitiesOf(id);
    if (needs?.length === 0) return this.standIns.end(id);
    if (needs !== undefined && JSON.stringify(needs) !== JSON.stringify(standIn?.needs))
      await this.standIns.offer(id, needs, true);
  }

  /** Hosts have come or gone, or this host owns other shards. */
  hostsChanged(): void {
    this.#setTimer();
    this.#lookAtAll();
  }

  /** Code was registered. Answers whether instances may have waited for it. */
  codeChanged(): boolean {
    this.#unfit.clear();
    this.#lookAtAll();
    const isFound = this.#workflows.codeChanged();
    return this.#patches.codeChanged() || isFound;
  }

  #lookAtAll(): void {
    for (const [id] of this.standIns.all()) this.#toLookAt.add(id);
    this.#lookAtThem();
  }

  /** An instance was offered, taken or given back. */
  #changed(id: string): void {
    if (this.standIns.of(id) === undefined) this.#unfit.delete(id);
    if (this.standIns.of(id)?.isKept !== true) this.#deps.onMoved(id);
    this.#toLookAt.add(id);
    this.#lookAtThem();
  }

  #lookAtThem(): void {
    if (this.#isLooking || this.#isStopped || this.#toLookAt.size === 0) return;
    this.#isLooking = true;
    void this.#inWork('looking at workflows that other hosts offer', async () => {
      while (this.#toLookAt.size > 0 && !this.#isStopped) {
        const ids = [...this.#toLookAt].slice(0, TOGETHER);
        for (const id of ids) this.#toLookAt.delete(id);
        await Promise.all(ids.map((id) => this.#lookAt(id)));
      }
    }).finally(() => {
      this.#isLooking = false;
    });
  }

  async #lookAt(id: string): Promise<void> {
    const { standIns } = this;
    const standIn = standIns.of(id);
    if (standIn === undefined || standIns.isHere(id)) return;
    if (standIn.isKept) return this.#tell(id);
    if (standIn.hostId === undefined) {
      if (await this.#hasCodeFor(id, standIn)) await standIns.take(id);
      return;
    }
    // It may have been this host, which was considered dead.
    this.#deps.onMoved(id);
    await standIns.renew(id);
  }

  async #hasCodeFor(id: string, { needs, version }: StandIn<WorkflowMissingCode>): Promise<boolean> {
    const pool = this.#deps.pool();
    if (this.#unfit.get(id) === version) return false;
    const areThere = needs.every(({ kind, name }) => kind !== 'workflow' || pool.hasCode(name));
    // Only the history tells whether the code here is the newer one.
    const isThere = areThere && (needs.every(({ kind }) => kind === 'workflow') || (await pool.fits(id)));
    if (!isThere) this.#unfit.set(id, version);
    return isThere;
  }

  async #inWork(what: string, task: () => Promise<void>): Promise<void> {
    const { work, onFailure } = this.#deps;
    const done = work.begin(what);
    try {
      await task();
    } catch (error) {
      onFailure(error);
    } finally {
      done();
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#workflows.stop();
    this.#patches.stop();
    for (const watch of this.#watches.splice(0)) watch[Symbol.dispose]();
  }
}

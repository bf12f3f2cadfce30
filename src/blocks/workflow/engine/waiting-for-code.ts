import type { Shards } from '../../../cluster/shards.ts';
import type { Change } from '../../../kernel/commit-batcher.ts';
import { Offers } from '../../../kernel/offers.ts';
import type { OwnedShards } from '../../../kernel/owned-shards.ts';
import type { StandIn, StandIns } from '../../../kernel/stand-ins.ts';
import { Damages } from '../../../state/damages.ts';
import type { StateStore } from '../../../state/store.ts';
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
  /** Instances may have waited for some code for long enough, or may be to be offered again. */
  readonly onOverdue: () => void;
  readonly onFailure: (error: unknown) => void;
}

/** Instances that wait for code that is not registered here: other hosts that have it run them. */
export class WaitingForCode {
  readonly #deps: WaitingForCodeDeps;
  readonly #offers: Offers<WorkflowMissingCode>;
  readonly #workflows: MissingNames;
  readonly #patches: MissingNames;
  /** The code that instances of this host wait for. */
  readonly #needs = new Map<string, WorkflowMissingCode>();
  #watch: Disposable | undefined;

  constructor(deps: WaitingForCodeDeps) {
    const { state, shards, layout, logger, registry } = deps;
    this.#deps = deps;
    const isThere = (name: string): boolean => registry.program(name) !== undefined;
    const mayBeElsewhere = (): boolean => deps.owned.hasPeers;
    this.#workflows = new MissingNames({ ...deps, kind: 'workflow', isThere, mayBeElsewhere });
    // Whether it is in new code shows only when that runs.
    this.#patches = new MissingNames({ ...deps, kind: 'patch', isThere: () => true });
    this.#offers = new Offers<WorkflowMissingCode>({
      ...deps,
      ...{ hosts: shards.hosts, store: state, range: layout.standInRange, what: 'workflows' },
      keyOf: (id) => layout.standIn(id),
      idOf: (key) => layout.instanceIdOf(key),
      damages: new Damages(logger, 'what host runs a workflow cannot be read: the owner of its shard does'),
      offer: (id) => this.#offer(id),
      // Without workflows there is nothing to take.
      mayMiss: () => registry.hasWorkflows,
      fits: (id, standIn) => this.#hasCodeFor(id, standIn),
      onMoved: (id) => this.#moved(id),
    });
  }

  get standIns(): StandIns<WorkflowMissingCode> {
    return this.#offers.standIns;
  }

  /** Follows what other hosts offer. */
  start(): void {
    const { owned, shards } = this.#deps;
    this.#offers.start((prefix, onChange) => owned.watch(prefix, onChange));
    this.#watch = shards.hosts.onChange(() => this.#hostsChanged());
  }

  /** Reads which instances other hosts run, before this host goes on with those of shards that it has got. */
  read(): Promise<void> {
    return this.#offers.read();
  }

  /** An instance has ended, or does not exist. */
  ended(id: string): void {
    this.found(id);
    if (this.standIns.of(id) === undefined || !this.standIns.owns(id)) return;
    const { work, onFailure } = this.#deps;
    const done = work.begin('ending the offer of a workflow');
    this.standIns.end(id).catch(onFailure).finally(done);
  }

  /** An instance of this host needs code. Answers whether it is to wait for it. */
  waitsFor(id: string, need: WorkflowMissingCode, reason?: string): boolean {
    const names = need.kind === 'patch' ? this.#patches : this.#workflows;
    if (!names.waitsFor(need.name, id, reason)) return false;
    this.#needs.set(id, need);
    if (this.standIns.of(id) === undefined) this.#offers.lacks(id);
    return true;
  }

  /** The failure of an instance that has waited too long for its workflow. */
  failureOf(name: string): WorkflowFailure {
    return this.#workflows.failureOf(name);
  }

  /** The code of an instance is there. */
  found(id: string): void {
    this.#needs.delete(id);
    this.#offers.found(id);
  }

  /** The code that an instance waits for, here or at another host. */
  needsOf(id: string): readonly WorkflowMissingCode[] {
    const standIn = this.standIns.of(id);
    if (standIn !== undefined) return standIn.hostId === undefined ? standIn.needs : [];
    const need = this.standIns.owns(id) ? this.#needs.get(id) : undefined;
    return need === undefined ? [] : [need];
  }

  async #offer(id: string): Promise<void> {
    const need = this.#needs.get(id);
    if (need !== undefined && this.standIns.owns(id)) await this.standIns.offer(id, [need]);
    // From now on the offer shows it, or the other host that owns it.
    this.#needs.delete(id);
  }

  #moved(id: string): void {
    const standIn = this.standIns.of(id);
    if (standIn?.hostId !== undefined)
      for (const { kind, name } of standIn.needs) if (kind === 'workflow') this.#workflows.isElsewhere(name);
    this.#deps.onMoved(id);
  }

  /** A host may have gone with code that only it had: what waits for that is offered, and missed, as at first. */
  #hostsChanged(): void {
    const taken = this.standIns.needsOfTaken().filter(({ kind }) => kind === 'workflow');
    if (this.#workflows.hostsChanged(taken.map(({ name }) => name))) this.#deps.onOverdue();
  }

  /** Code was registered. Answers whether instances may have waited for it. */
  codeChanged(): boolean {
    this.#offers.codeChanged();
    const isFound = this.#workflows.codeChanged();
    return this.#patches.codeChanged() || isFound;
  }

  async #hasCodeFor(id: string, { needs }: StandIn<WorkflowMissingCode>): Promise<boolean> {
    const pool = this.#deps.pool();
    if (!needs.every(({ kind, name }) => kind !== 'workflow' || pool.hasCode(name))) return false;
    // Only the history tells whether the code here is the newer one.
    return needs.every(({ kind }) => kind === 'workflow') || pool.fits(id);
  }

  stop(): void {
    this.#offers.stop();
    this.#watch?.[Symbol.dispose]();
    this.#workflows.stop();
    this.#patches.stop();
  }
}

import type { ShardHosts } from '../../cluster/shards.ts';
import type { Change } from '../../kernel/commit-batcher.ts';
import { Offers } from '../../kernel/offers.ts';
import type { OwnedChange, OwnedShards } from '../../kernel/owned-shards.ts';
import type { StandIns } from '../../kernel/stand-ins.ts';
import { Damages } from '../../state/damages.ts';
import type { StateStore } from '../../state/store.ts';
import type { Clock, Timer } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import type { Work } from '../../util/work.ts';
import type { JobLayout } from './layout.ts';
import type { Due } from './stored-jobs.ts';
import type { Targets } from './target.ts';

/** The dependencies of {@link JobOffers}. */
export interface JobOffersDeps {
  readonly store: StateStore;
  readonly layout: JobLayout;
  readonly owned: OwnedShards;
  readonly hosts: ShardHosts;
  readonly targets: Targets;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly work: Work;
  /** What a job lacks here. */
  readonly lackOf: (name: string) => MissingTarget;
  /** Whether this host has what a job lacks elsewhere. */
  readonly fits: (lack: MissingTarget) => boolean;
  /** Whether a job is stored. */
  readonly exists: (name: string) => Promise<boolean>;
  /** Writes a change in one commit with others; returns the version. */
  readonly write: (change: Change) => Promise<number>;
  /** Another host may run a job now, or this one again. */
  readonly onMoved: (name: string) => void;
  readonly onFailure: (error: unknown) => void;
}

/** What the owner of a job's shard lacks. */
export interface MissingTarget {
  readonly kind: 'job';
  readonly name: string;
  /** Whether an application would not do: that of the owner has no route for the job. */
  readonly needsFunction?: boolean;
}

/** How long the owner of a job has to run or offer it. */
const OVERDUE_MS = 3_000;
/** How long other hosts have to take a job before it counts as one that no host can run. */
const TOLD_AFTER_MS = 5_000;

/** Jobs that are due where nothing runs them: hosts that have a function for them, or the application, run them. */
export class JobOffers {
  readonly #deps: JobOffersDeps;
  readonly #offers: Offers<MissingTarget>;
  /** The jobs that this host could not run, until others have had time to take them. */
  readonly #lacking = new Map<string, Due>();
  /** Jobs whose offers are being written. */
  readonly #offering = new Set<string>();
  /** When this host took jobs of others: another one may have begun to run them before. */
  readonly #takenAt = new Map<string, number>();
  #timer: Timer | undefined;
  /** Whether this host has got shards since it read which jobs other hosts run. */
  #isBehind = true;
  #isNoticing = false;
  #isStopped = false;

  constructor(deps: JobOffersDeps) {
    const { layout, logger } = deps;
    this.#deps = deps;
    this.#offers = new Offers<MissingTarget>({
      ...deps,
      ...{ range: layout.standInRange, what: 'jobs' },
      keyOf: (name) => layout.standIn(name),
      idOf: (key) => layout.nameOf(key),
      damages: new Damages(logger, 'what host runs a job cannot be read: the owner of its shard does'),
      offer: (name) => this.#offer(name),
      // A job that is overdue tells of it.
      mayMiss: () => false,
      fits: (_name, { needs }) => needs.every(deps.fits),
      onMoved: (name) => this.#moved(name),
    });
  }

  get standIns(): StandIns<MissingTarget> {
    return this.#offers.standIns;
  }

  /** Follows what other hosts offer. */
  start(): void {
    this.#offers.start((prefix, onChange) => this.#deps.owned.watch(prefix, onChange));
  }

  /** Shards came or went. */
  onChange({ gained }: OwnedChange): void {
    if (gained.size > 0) this.#isBehind = true;
  }

  /** Reads which jobs other hosts run, before this host runs those of shards that it has got. */
  async prepare(): Promise<void> {
    if (!this.#isBehind || !this.#deps.owned.isShared) return;
    this.#isBehind = false;
    try {
      await this.#offers.read();
    } catch (error) {
      this.#isBehind = true;
      throw error;
    }
  }

  /** A job of another host was read. If it should have run long ago, it may be offered, and this host has missed that. */
  notice({ at, job: { name } }: Due): void {
    const { clock, targets, onFailure } = this.#deps;
    if (this.#isNoticing || clock.now() - at < OVERDUE_MS || this.standIns.of(name) !== undefined) return;
    if (targets.targetOf(name) === undefined) return;
    this.#isNoticing = true;
    this.#offers
      .read()
      .catch(onFailure)
      .finally(() => {
        this.#isNoticing = false;
      });
  }

  /** A job of this host is due, and has no target. */
  lacks(due: Due): void {
    const { owned, targets, clock } = this.#deps;
    const { name } = due.job;
    if (!owned.hasPeers) return targets.onNoTarget(due);
    this.#lacking.set(name, due);
    if (!this.standIns.isOffered(name)) this.#offers.lacks(name);
    this.#timer ??= clock.setTimeout(() => void this.#tell(), TOLD_AFTER_MS);
  }

  /** Tells of the jobs that no host has taken. One may have been removed while it was offered. */
  async #tell(): Promise<void> {
    const { targets, work, exists, onFailure } = this.#deps;
    this.#timer = undefined;
    const lacking = [...this.#lacking];
    this.#lacking.clear();
    const done = work.begin('looking at jobs that no host has taken');
    try {
      for (const [name, due] of lacking) {
        if (this.#isStopped) break;
        if (!this.standIns.owns(name) || targets.targetOf(name) !== undefined) continue;
        if (await exists(name)) targets.onNoTarget(due);
        else await this.missing(name);
      }
    } catch (error) {
      onFailure(error);
    } finally {
      done();
    }
  }

  async #offer(name: string): Promise<void> {
    const { targets, lackOf, onMoved } = this.#deps;
    const due = this.#lacking.get(name);
    if (due === undefined || targets.targetOf(name) !== undefined || !this.standIns.owns(name)) return;
    const require = [{ key: due.key, version: due.version }];
    this.#offering.add(name);
    try {
      await this.standIns.offer(name, [lackOf(name)], { require });
    } finally {
      this.#offering.delete(name);
    }
    // The job has been changed meanwhile.
    if (this.standIns.of(name) === undefined) onMoved(name);
  }

  /** Whether this host may run a job of its own: not while it offers it, since it is taken first. */
  mayRun(name: string): boolean {
    return !this.#offering.has(name) && !this.standIns.isOffered(name);
  }

  /** A function or the application became available. */
  targetsChanged(): void {
    this.#offers.codeChanged();
  }

  #moved(name: string): void {
    if (this.standIns.isHere(name)) this.#takenAt.set(name, this.#takenAt.get(name) ?? this.#deps.clock.now());
    else this.#takenAt.delete(name);
    if (this.standIns.of(name)?.hostId !== undefined) this.#lacking.delete(name);
    // It has just been offered here.
    if (!this.#lacking.has(name)) this.#deps.onMoved(name);
  }

  /** When this host took a job of another one's shard; `undefined` if it has not. */
  takenAt(name: string): number | undefined {
    return this.#takenAt.get(name);
  }

  /** A job does not exist. */
  async missing(name: string): Promise<void> {
    if (this.standIns.owns(name)) await this.standIns.end(name);
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#offers.stop();
  }
}

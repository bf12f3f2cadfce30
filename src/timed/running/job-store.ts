import { type Change, CommitBatcher } from '../../kernel/commit-batcher.ts';
import type { OwnedShards } from '../../kernel/owned-shards.ts';
import type { StandIns } from '../../kernel/stand-ins.ts';
import { isDamage } from '../../state/damages.ts';
import { isConflictError } from '../../state/errors.ts';
import { retryOnConflict } from '../../state/retry-on-conflict.ts';
import type { Batch, Precondition, Put, StateStore } from '../../state/store.ts';
import { LruCache } from '../../util/lru.ts';
import { MAX_INLINE_DATA_BYTES, type StoredJob } from '../job.ts';
import type { PlannedJob, PresentJob } from '../planning/if-exists.ts';
import type { Next } from '../planning/transition.ts';
import type { JobOwners } from './attempt.ts';
import { encodeData, encodeJob, encodePointer } from './codec.ts';
import type { JobLayout } from './layout.ts';
import { removeLost } from './lost-job.ts';
import { type Due, type FoundEntry, type Located, StoredJobs, type StoredJobsDeps } from './stored-jobs.ts';

const NO_PUTS: readonly Put[] = [];

/** Max tries of a change while concurrent changes conflict with it. */
const MAX_TRIES = 1_000;
/** The most jobs that are remembered as they were written. */
const MAX_LATEST = 1_000;

/** The writes of a job: its pointer, its entry, and its data if stored separately. */
type Puts = readonly [pointer: Put, due: Put, ...data: Put[]];

/** Returns the replacement of an existing job; `undefined` keeps the existing one. */
export type Replace = (present: PresentJob) => PlannedJob | undefined;

/** The result of a write of a job. */
export interface Scheduled {
  readonly due: Due;
  /** The key of the entry that it replaced. */
  readonly replaced: string | undefined;
}

/** A change that its caller commits, perhaps with others. */
export interface Prepared<T> extends Batch {
  /** What was written, by the version of the commit. */
  readonly written: (version: number) => T;
}

/** A job that was removed: the key of its entry, and the job if it can be read. */
export interface Removed {
  readonly key: string;
  readonly job?: StoredJob | undefined;
}

/** The dependencies of a {@link JobStore}. */
export interface JobStoreDeps extends StoredJobsDeps {
  readonly newId: () => string;
  /** The shards of this host; absent when no other host can run these jobs. */
  readonly owned?: OwnedShards;
  /** The hosts that run single jobs of other hosts' shards. Default: none does. */
  readonly standIns?: StandIns<unknown> | undefined;
  /**
   * Whether a job that this host owns is also written and removed with the fence of its shard: a host that others
   * consider dead cannot change it then. Default: false.
   */
  readonly fencesChanges?: boolean;
}

/** Jobs in a state store. Each change is one commit, guarded by the version of what it changes. */
export class JobStore {
  /** The jobs that it holds. */
  readonly stored: StoredJobs;
  readonly #store: StateStore;
  readonly #commits: CommitBatcher;
  readonly #layout: JobLayout;
  readonly #newId: () => string;
  readonly #owners: JobOwners | undefined;
  readonly #standIns: StandIns<unknown> | undefined;
  readonly #fencesChanges: boolean;
  /**
   * Jobs as they were written last, by name, unless their data are stored apart. A job that is set again and again, as a time-out is, is replaced without a
   * refused commit and a read before that: a third of the CPU time. Their versions say whether they are still there.
   */
  readonly #latest = new LruCache<FoundEntry>(MAX_LATEST);

  constructor(deps: JobStoreDeps) {
    const { store, layout, newId, owned, standIns, fencesChanges = false } = deps;
    this.stored = new StoredJobs(deps);
    this.#store = store;
    this.#commits = new CommitBatcher(store);
    this.#layout = layout;
    this.#newId = newId;
    this.#owners = standIns ?? owned;
    this.#standIns = standIns;
    this.#fencesChanges = fencesChanges;
  }

  /**
   * Writes a new job, or the replacement of an existing one by `replace`; returns `undefined` when the existing one was
   * kept. The first try does not read, since most names are new or were written lately.
   */
  async schedule(planned: PlannedJob, replace: Replace): Promise<Scheduled | undefined> {
    const { name } = planned.job;
    let present = this.#latest.get(name);
    let next = present && (await this.#replacement(present, replace));
    // Whether a job is kept, only the store can say.
    if (next === undefined) [next, present] = [planned, undefined];
    for (let tries = 1; next !== undefined; tries++) {
      try {
        return await this.#put(next, present);
      } catch (error) {
        if (!isConflictError(error) || this.#owners?.isFenced(error) === true || tries >= MAX_TRIES) throw error;
      }
      present = await this.stored.find(name);
      next = present === undefined ? planned : await this.#replacement(present, replace);
    }
    return undefined;
  }

  async #replacement({ due: { job, at, version } }: FoundEntry, replace: Replace): Promise<PlannedJob | undefined> {
    return replace({ job, at, version, data: await this.stored.dataOf(job) });
  }

  /** Writes a job, provided that the present one is unchanged, or is still absent. */
  async #put(planned: PlannedJob, present: FoundEntry | undefined): Promise<Scheduled> {
    const { name } = planned.job;
    const prepared = this.#prepared(planned, present);
    const written = prepared.written(await this.#commits.commit({ ...prepared, fence: this.#fenceOfChange(name) }));
    this.#remember(written.due);
    return written;
  }

  #remember(due: Due): void {
    const { name, dataId } = due.job;
    if (dataId === undefined)
      this.#latest.set(name, { pointer: { at: due.at, dataId }, pointerVersion: due.version, due });
    else this.#latest.delete(name);
  }

  /** Prepares the write of a job, in place of the present one if `replaces` says so; answers `undefined` if not. */
  async prepare(planned: PlannedJob, replaces: (present: Due) => boolean): Promise<Prepared<Scheduled> | undefined> {
    const present = await this.stored.find(planned.job.name);
    return present === undefined || replaces(present.due) ? this.#prepared(planned, present) : undefined;
  }

  #prepared(planned: PlannedJob, present: FoundEntry | undefined): Prepared<Scheduled> {
    const { at } = planned;
    const { job, dataPuts } = this.#withDataApart(planned.job);
    const put: Puts = [...this.#putsOf(job, at), ...dataPuts];
    const [{ key: pointer }, { key }] = put;
    const require: Precondition = { key: pointer, version: present?.pointerVersion ?? 'absent' };
    const old = present === undefined ? [] : this.#keysOf(present).filter((one) => one !== key && one !== pointer);
    const replaced = present?.due.key;
    return {
      ...{ require: [require], put, delete: old },
      written: (version) => ({ due: { key, version, at, job }, replaced }),
    };
  }

  /** Stores large data separately: written once, not with every run. */
  #withDataApart(planned: StoredJob): { readonly job: StoredJob; readonly dataPuts: readonly Put[] } {
    const { data } = planned;
    if (data === undefined || isShort(data)) return { job: planned, dataPuts: NO_PUTS };
    const dataId = this.#newId();
    const job = { ...planned, data: undefined, dataId };
    return { job, dataPuts: [{ key: this.#layout.data(dataId), value: encodeData(data) }] };
  }

  /**
   * Changes a job, as `change` says of its present entry; returns `undefined` if there is no such job, or nothing is to
   * be changed. The data stay as they are.
   */
  async change(name: string, change: (present: Due) => PlannedJob | undefined): Promise<Scheduled | undefined> {
    return this.#untilWritten(async () => {
      const found = await this.stored.find(name);
      const planned = found && change(found.due);
      if (found === undefined || planned === undefined) return undefined;
      const { job, at } = planned;
      const put = this.#putsOf(job, at);
      const [{ key: pointer }, { key }] = put;
      const require = [{ key: pointer, version: found.pointerVersion }];
      const old = found.due.key === key ? [] : [found.due.key];
      const fence = this.#fenceOfChange(name);
      const version = await this.#commits.commit({ require, fence, put, delete: old });
      return { due: { key, version, at, job }, replaced: found.due.key };
    });
  }

  /** Removes a job, also one that cannot be read; answers `undefined` if there is none. */
  async remove(name: string): Promise<Removed | undefined> {
    return this.#untilWritten(async () => {
      const located = await this.stored.locate(name).catch(ifDamaged);
      if (located === 'damaged') {
        const removed = await removeLost(name, { store: this.#store, commits: this.#commits, layout: this.#layout });
        await this.#standIns?.end(name);
        return removed;
      }
      if (located === undefined) return undefined;
      const prepared = this.#removalOf(name, located);
      const version = await this.#commits.commit({ ...prepared, fence: this.#fenceOfChange(name) });
      this.#standIns?.ended(name);
      return prepared.written(version);
    });
  }

  /** Prepares the removal of a job; answers `undefined` if there is none. */
  async prepareRemoval(name: string): Promise<Prepared<Removed> | undefined> {
    const located = await this.stored.locate(name);
    return located && this.#removalOf(name, located);
  }

  #removalOf(name: string, { pointer, pointerVersion, entry }: Located): Prepared<Removed> {
    this.#latest.delete(name);
    const pointerKey = this.#layout.job(name);
    const data = pointer.dataId === undefined ? [] : [this.#layout.data(pointer.dataId)];
    const standIn = this.#standIns?.keysOf(name) ?? [];
    return {
      require: [{ key: pointerKey, version: pointerVersion }],
      delete: [pointerKey, entry.key, ...data, ...standIn],
      written: () => ({ key: entry.key, job: this.stored.readable(entry)?.job }),
    };
  }

  /** Makes a change again while other changes conflict with it, but not if the shard is another host's. */
  #untilWritten<T>(change: () => Promise<T>): Promise<T> {
    return retryOnConflict(MAX_TRIES, change, (error) => {
      if (this.#owners?.isFenced(error) === true) throw error;
    });
  }

  /** Writes a change in one commit with those of other jobs; returns the version. */
  write(change: Change): Promise<number> {
    return this.#commits.commit(change);
  }

  /** Precondition of a change that is not the end of a run. */
  #fenceOfChange(name: string): Precondition | undefined {
    return this.#fencesChanges && this.#owners?.owns(name) === true ? this.#owners.fence(name) : undefined;
  }

  /**
   * Replaces a job's entry by its next one.
   *
   * @throws ConflictError when the entry is no longer current, or another host now owns the job.
   */
  async advance(due: Due, job: StoredJob, at: number): Promise<Due> {
    const prepared = this.#advanced(due, job, at);
    return prepared.written(await this.#commits.commit({ ...prepared, fence: this.#fence(due) }));
  }

  /**
   * Records what follows an attempt: the next entry of the job, or none after its last run.
   *
   * @throws ConflictError when the entry is no longer current, or another host now owns the job.
   */
  async end(due: Due, next: Next): Promise<Due | undefined> {
    const prepared = this.prepareEnd(due, next);
    return prepared.written(await this.#commits.commit({ ...prepared, fence: this.#fence(due) }));
  }

  /** Prepares the record of what follows an attempt. Its commit needs the fence of the job's shard. */
  prepareEnd(due: Due, next: Next): Prepared<Due | undefined> {
    return next.kind === 'gone' ? this.#finished(due) : this.#advanced(due, next.job, next.at);
  }

  #advanced(due: Due, job: StoredJob, at: number): Prepared<Due> {
    this.#latest.delete(job.name);
    const put = this.#putsOf(job, at);
    const [, { key }] = put;
    return {
      ...{ require: [due], put, delete: key === due.key ? [] : [due.key] },
      written: (version) => ({ key, version, at, job }),
    };
  }

  #finished(due: Due): Prepared<undefined> {
    this.#latest.delete(due.job.name);
    const keys = [due.key, this.#layout.job(due.job.name)];
    if (due.job.dataId !== undefined) keys.push(this.#layout.data(due.job.dataId));
    keys.push(...(this.#standIns?.keysOf(due.job.name) ?? []));
    const written = (): undefined => void this.#standIns?.ended(due.job.name);
    return { require: [due], delete: keys, written };
  }

  /** Precondition of a run's commit, next to the entry's version: this host still owns the job. */
  #fence({ job }: Due): Precondition | undefined {
    return this.#owners?.fence(job.name);
  }

  #putsOf(job: StoredJob, at: number): Puts {
    return [
      { key: this.#layout.job(job.name), value: encodePointer({ at, dataId: job.dataId }) },
      { key: this.#layout.due(at, job.name), value: encodeJob(job) },
    ];
  }

  #keysOf({ pointer, due }: FoundEntry): string[] {
    const keys = [this.#layout.job(due.job.name), due.key];
    if (pointer.dataId !== undefined) keys.push(this.#layout.data(pointer.dataId));
    return keys;
  }
}

/** Whether data is stored within the job's entry. */
function isShort(data: string): boolean {
  return data.length <= MAX_INLINE_DATA_BYTES && Buffer.byteLength(data) <= MAX_INLINE_DATA_BYTES;
}

function ifDamaged(error: unknown): 'damaged' {
  if (isDamage(error)) return 'damaged';
  throw error;
}

import { CommitBatcher } from '../../../kernel/commit-batcher.ts';
import type { DuePage } from '../../../kernel/due-index.ts';
import type { OwnedShards } from '../../../kernel/owned-shards.ts';
import { Damages, isDamage } from '../../../state/damages.ts';
import { isConflict, quote, StateError } from '../../../state/errors.ts';
import { keyAfter } from '../../../state/keys.ts';
import { isCutOff, type PageSize } from '../../../state/page.ts';
import { retryOnConflict } from '../../../state/retry-on-conflict.ts';
import type { KeyedEntry, Precondition, Put, StateStore } from '../../../state/store.ts';
import type { Logger } from '../../../util/logger.ts';
import { MAX_INLINE_DATA_BYTES, type StoredJob } from '../model/job.ts';
import type { StoredEntry } from '../planning/control.ts';
import type { PlannedJob, PresentJob } from '../planning/if-exists.ts';
import { decodeData, decodeJob, decodePointer, encodeData, encodeJob, encodePointer, type Pointer } from './codec.ts';
import type { JobLayout } from './layout.ts';
import { removeLost } from './lost-job.ts';

/** A stored job and its entry. */
export interface Due extends StoredEntry {
  readonly key: string;
}

const NO_PUTS: readonly Put[] = [];

/** Max tries of a change while concurrent changes conflict with it. */
const MAX_TRIES = 1_000;

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

/** A job found by name, and its pointer. */
interface Found {
  readonly pointer: Pointer;
  readonly pointerVersion: number;
  readonly due: Due;
}

/** The dependencies of a {@link JobStore}. */
export interface JobStoreDeps {
  readonly store: StateStore;
  readonly layout: JobLayout;
  readonly newId: () => string;
  readonly logger: Logger;
  /** The shards of this host; absent when no other host runs these jobs. */
  readonly owned?: OwnedShards;
}

/** A job found by name, as it is stored. */
interface Located {
  readonly pointer: Pointer;
  readonly pointerVersion: number;
  readonly entry: KeyedEntry;
}

/** Jobs in a state store. Each change is one commit, guarded by the version of what it changes. */
export class JobStore {
  readonly #store: StateStore;
  readonly #commits: CommitBatcher;
  readonly #layout: JobLayout;
  readonly #newId: () => string;
  readonly #owned: OwnedShards | undefined;
  readonly #damages: Damages;
  readonly #lost: Damages;

  constructor({ store, layout, newId, owned, logger }: JobStoreDeps) {
    this.#store = store;
    this.#commits = new CommitBatcher(store);
    this.#layout = layout;
    this.#newId = newId;
    this.#owned = owned;
    this.#damages = new Damages(logger, 'a stored job cannot be read: it stays in the store and does not run');
    this.#lost = new Damages(
      logger,
      'a stored job cannot be found by its name: lists leave it out until it is deleted',
    );
  }

  /**
   * Writes a new job, or the replacement of an existing one by `replace`; returns `undefined` when the existing one was
   * kept. The first try does not read, since most names are new.
   */
  async schedule(planned: PlannedJob, replace: Replace): Promise<Scheduled | undefined> {
    let next: PlannedJob | undefined = planned;
    let present: Found | undefined;
    for (let tries = 1; next !== undefined; tries++) {
      try {
        return await this.#put(next, present);
      } catch (error) {
        if (!isConflict(error) || tries >= MAX_TRIES) throw error;
      }
      present = await this.#find(planned.job.name);
      next = present === undefined ? planned : await this.#replacement(present, replace);
    }
    return undefined;
  }

  async #replacement({ due: { job, at, version } }: Found, replace: Replace): Promise<PlannedJob | undefined> {
    return replace({ job, at, version, data: await this.dataOf(job) });
  }

  /** Writes a job, provided that the present one is unchanged, or is still absent. */
  async #put(planned: PlannedJob, present: Found | undefined): Promise<Scheduled> {
    const { at } = planned;
    const { job, dataPuts } = this.#withDataApart(planned.job);
    const put: Puts = [...this.#putsOf(job, at), ...dataPuts];
    const [{ key: pointer }, { key }] = put;
    const require: Precondition = { key: pointer, version: present?.pointerVersion ?? 'absent' };
    const old = present === undefined ? [] : this.#keysOf(present).filter((one) => one !== key && one !== pointer);
    const version = await this.#commits.commit({ require: [require], put, delete: old });
    return { due: { key, version, at, job }, replaced: present?.due.key };
  }

  /** Stores large data separately: written once, not with every run. */
  #withDataApart(planned: StoredJob): { readonly job: StoredJob; readonly dataPuts: readonly Put[] } {
    const { data } = planned;
    if (data === undefined || isShort(data)) return { job: planned, dataPuts: NO_PUTS };
    const dataId = this.#newId();
    const job = { ...planned, data: undefined, dataId };
    return { job, dataPuts: [{ key: this.#layout.data(dataId), value: encodeData(data) }] };
  }

  /** Finds a job by name. */
  async find(name: string): Promise<Due | undefined> {
    return (await this.#find(name))?.due;
  }

  async #find(name: string): Promise<Found | undefined> {
    const located = await this.#locate(name);
    if (located === undefined) return undefined;
    const { pointer, pointerVersion, entry } = located;
    return { pointer, pointerVersion, due: this.#dueOf(entry, pointer.at) };
  }

  async #locate(name: string): Promise<Located | undefined> {
    const pointerKey = this.#layout.job(name);
    for (let before: number | undefined; ; ) {
      const entry = await this.#store.get(pointerKey);
      if (entry === undefined) return undefined;
      const pointer = decodePointer(pointerKey, entry.value);
      const key = this.#layout.due(pointer.at, name);
      const due = await this.#store.get(key);
      if (due !== undefined) return { pointer, pointerVersion: entry.version, entry: { key, ...due } };
      // The job moved to another entry between the two reads, unless the pointer is the same again.
      if (entry.version === before)
        throw new StateError('corrupt', `The job ${quote(name)} has no entry in the store.`);
      before = entry.version;
    }
  }

  /**
   * Changes a job, as `change` says of its present entry; returns `undefined` if there is no such job, or nothing is to
   * be changed. The data stay as they are.
   */
  async change(name: string, change: (present: Due) => PlannedJob | undefined): Promise<Scheduled | undefined> {
    return retryOnConflict(MAX_TRIES, async () => {
      const found = await this.#find(name);
      const planned = found && change(found.due);
      if (found === undefined || planned === undefined) return undefined;
      const { job, at } = planned;
      const put = this.#putsOf(job, at);
      const [{ key: pointer }, { key }] = put;
      const require = [{ key: pointer, version: found.pointerVersion }];
      const old = found.due.key === key ? [] : [found.due.key];
      const version = await this.#commits.commit({ require, put, delete: old });
      return { due: { key, version, at, job }, replaced: found.due.key };
    });
  }

  /** The jobs whose names begin with a prefix, in the order of their names, starting at one; and the next name. */
  async list(prefix: string, start: string | undefined, limit: number): Promise<{ jobs: Due[]; next?: string }> {
    const range = this.#layout.jobRange(prefix);
    const from = start === undefined ? range.from : this.#layout.job(start);
    const entries = await this.#store.scan({ ...range, from, limit: limit + 1 });
    const found = await Promise.all(entries.slice(0, limit).map((pointer) => this.#listed(pointer)));
    const next = entries[limit];
    const jobs = found.filter((due) => due !== undefined);
    return next === undefined ? { jobs } : { jobs, next: this.nameOf(next.key) };
  }

  /** A job for a list; one that cannot be read must not hide the others. */
  async #listed(pointer: KeyedEntry): Promise<Due | undefined> {
    const located = await this.#lost.readLater(pointer, () => this.#locate(this.nameOf(pointer.key)));
    return located && this.#damages.read(located.entry, () => this.#dueOf(located.entry, located.pointer.at));
  }

  /** Removes a job, also one that cannot be read; returns the key of its entry, and the job if it can be read. */
  async remove(name: string): Promise<{ readonly key: string; readonly job?: StoredJob | undefined } | undefined> {
    return retryOnConflict(MAX_TRIES, async () => {
      const located = await this.#locate(name).catch(ifDamaged);
      if (located === 'damaged')
        return removeLost(name, { store: this.#store, commits: this.#commits, layout: this.#layout });
      if (located === undefined) return undefined;
      const { pointer, pointerVersion, entry } = located;
      const pointerKey = this.#layout.job(name);
      const data = pointer.dataId === undefined ? [] : [this.#layout.data(pointer.dataId)];
      const require = [{ key: pointerKey, version: pointerVersion }];
      await this.#commits.commit({ require, delete: [pointerKey, entry.key, ...data] });
      return { key: entry.key, job: this.#damages.read(entry, () => this.#dueOf(entry))?.job };
    });
  }

  /**
   * Replaces a job's entry by its next one.
   *
   * @throws ConflictError when the entry is no longer current, or another host now owns the job.
   */
  async advance(due: Due, job: StoredJob, at: number): Promise<Due> {
    const put = this.#putsOf(job, at);
    const [, { key }] = put;
    const version = await this.#commits.commit({
      require: [due],
      fence: this.#fence(due),
      put,
      delete: key === due.key ? [] : [due.key],
    });
    return { key, version, at, job };
  }

  /**
   * Removes a job after its last run.
   *
   * @throws ConflictError when the entry is no longer current, or another host now owns the job.
   */
  async finish(due: Due): Promise<void> {
    const keys = [due.key, this.#layout.job(due.job.name)];
    if (due.job.dataId !== undefined) keys.push(this.#layout.data(due.job.dataId));
    await this.#commits.commit({ require: [due], fence: this.#fence(due), delete: keys });
  }

  /** Precondition of a run's commit, next to the entry's version: this host still owns the job. */
  #fence({ job }: Due): Precondition | undefined {
    return this.#owned?.fence(job.name);
  }

  /** Versions of the entries from a key on that are due at an instant, by key. */
  async versionsFrom(from: string, at: number, page: PageSize): Promise<ReadonlyMap<string, number>> {
    const entries = await this.#store.scan({ from, to: this.#layout.due(Math.floor(at) + 1, ''), ...page });
    return new Map(entries.map(({ key, version }) => [key, version]));
  }

  /** Reads the current entry of a key. */
  async entry(key: string): Promise<Due | undefined> {
    const entry = await this.#store.get(key);
    return entry && this.#dueOf({ key, ...entry });
  }

  /** The common prefix of all due entries. */
  get duePrefix(): string {
    return this.#layout.duePrefix;
  }

  /** The job name in the key of a pointer or a due entry. */
  nameOf(key: string): string {
    return this.#layout.nameOf(key);
  }

  /** The data of a job as JSON text; `undefined` if it has none. */
  async dataOf(job: StoredJob): Promise<string | undefined> {
    if (job.dataId === undefined) return job.data;
    const key = this.#layout.data(job.dataId);
    const entry = await this.#store.get(key);
    return entry && decodeData(key, entry.value);
  }

  /** The earliest entries after a key, in order; `isLast` when no entries follow them. */
  async readDue(after: string | undefined, page: PageSize): Promise<DuePage<Due>> {
    const { from: first, to } = this.#layout.dueRange;
    for (let from = after === undefined ? first : keyAfter(after); ; ) {
      const found = await this.#store.scan({ from, to, ...page });
      const isLast = !isCutOff(found, page);
      const entries = found.flatMap((entry) => this.#damages.read(entry, () => this.#dueOf(entry)) ?? []);
      const last = found.at(-1);
      if (entries.length > 0 || isLast || last === undefined) return { entries, isLast };
      from = keyAfter(last.key);
    }
  }

  #putsOf(job: StoredJob, at: number): Puts {
    return [
      { key: this.#layout.job(job.name), value: encodePointer({ at, dataId: job.dataId }) },
      { key: this.#layout.due(at, job.name), value: encodeJob(job) },
    ];
  }

  #keysOf({ pointer, due }: Found): string[] {
    const keys = [this.#layout.job(due.job.name), due.key];
    if (pointer.dataId !== undefined) keys.push(this.#layout.data(pointer.dataId));
    return keys;
  }

  #dueOf({ key, value, version }: KeyedEntry, at: number = this.#layout.instantOf(key)): Due {
    return { key, version, at, job: decodeJob(key, value) };
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

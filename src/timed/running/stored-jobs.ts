import type { DuePage } from '../../kernel/due-index.ts';
import { Damages } from '../../state/damages.ts';
import { quote, StateError } from '../../state/errors.ts';
import { keyAfter } from '../../state/keys.ts';
import { isCutOff, type PageSize } from '../../state/page.ts';
import type { KeyedEntry, StateStore } from '../../state/store.ts';
import type { Logger } from '../../util/logger.ts';
import type { StoredJob } from '../job.ts';
import type { StoredEntry } from '../planning/control.ts';
import { decodeData, decodeJob, decodePointer, type Pointer } from './codec.ts';
import type { JobLayout } from './layout.ts';

/** A stored job and its entry. */
export interface Due extends StoredEntry {
  readonly key: string;
  /** Whether it was met in a read of what is due: another process may have begun to run it. */
  readonly isFound?: boolean;
}

/** A job found by name, and its pointer. */
export interface FoundEntry {
  readonly pointer: Pointer;
  readonly pointerVersion: number;
  readonly due: Due;
}

/** A job found by name, as it is stored. */
export interface Located {
  readonly pointer: Pointer;
  readonly pointerVersion: number;
  readonly entry: KeyedEntry;
}

/** The dependencies of {@link StoredJobs}. */
export interface StoredJobsDeps {
  readonly store: StateStore;
  readonly layout: JobLayout;
  readonly logger: Logger;
}

/** Reads the jobs of a state store. */
export class StoredJobs {
  readonly #store: StateStore;
  readonly #layout: JobLayout;
  readonly #damages: Damages;
  readonly #lost: Damages;

  constructor({ store, layout, logger }: StoredJobsDeps) {
    this.#store = store;
    this.#layout = layout;
    this.#damages = new Damages(logger, 'a stored job cannot be read: it stays in the store and does not run');
    this.#lost = new Damages(
      logger,
      'a stored job cannot be found by its name: lists leave it out until it is deleted',
    );
  }

  /** Finds a job by name. */
  async find(name: string): Promise<FoundEntry | undefined> {
    const located = await this.locate(name);
    if (located === undefined) return undefined;
    const { pointer, pointerVersion, entry } = located;
    return { pointer, pointerVersion, due: this.#dueOf(entry, pointer.at) };
  }

  /** Finds a job by name, also one that cannot be read. */
  async locate(name: string): Promise<Located | undefined> {
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

  /** The jobs whose names begin with a prefix, in the order of their names, starting at one; and the next name. */
  async list(prefix: string, start: string | undefined, limit: number): Promise<{ jobs: Due[]; next?: string }> {
    const range = this.#layout.jobRange(prefix);
    const begin = start === undefined ? undefined : this.#layout.job(start);
    const from = begin !== undefined && begin > range.from ? begin : range.from;
    const entries = await this.#store.scan({ ...range, from, limit: limit + 1 });
    const found = await Promise.all(entries.slice(0, limit).map((pointer) => this.#listed(pointer)));
    const next = entries[limit];
    const jobs = found.filter((due) => due !== undefined);
    return next === undefined ? { jobs } : { jobs, next: this.nameOf(next.key) };
  }

  /** A job for a list; one that cannot be read must not hide the others. */
  async #listed(pointer: KeyedEntry): Promise<Due | undefined> {
    const located = await this.#lost.readLater(pointer, () => this.locate(this.nameOf(pointer.key)));
    return located && this.#damages.read(located.entry, () => this.#dueOf(located.entry, located.pointer.at));
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
      const entries = found.flatMap((entry) => this.readable(entry) ?? []);
      const last = found.at(-1);
      if (entries.length > 0 || isLast || last === undefined) return { entries, isLast };
      from = keyAfter(last.key);
    }
  }

  /** The job of an entry; `undefined`, with a log line, if it cannot be read. */
  readable(entry: KeyedEntry): Due | undefined {
    return this.#damages.read(entry, () => this.#dueOf(entry, undefined, true));
  }

  #dueOf({ key, value, version }: KeyedEntry, at: number = this.#layout.instantOf(key), isFound = false): Due {
    return { key, version, at, job: decodeJob(key, value), isFound };
  }
}

/** When a job runs next; of a paused one, when it would. */
export function nextRunOf({ job, at }: Due): number {
  return job.heldTickAt === undefined ? (job.resumeAt ?? at) : at;
}

import { instantOf, instantPart, keyOf, partsOf, rangeOf, rangeOfPrefix } from '../../state/keys.ts';
import type { KeyRange } from '../../state/store.ts';

/**
 * The keys of jobs, below a root such as `jobs / <app ID>`:
 *
 * - `job / <name>`: the job's due time, which locates the entry below
 * - `due / <instant> / <name>`: the job itself, ordered by time
 * - `data / <id>`: data that is too large to be written with every run
 * - `limit / <name or pattern> / <runs or rate>`: how a limit of runs is divided among hosts
 * - `stand-in / <name>`: the owner of the shard has nothing that runs the job: another host runs it, or may
 *
 * A job has exactly one entry under `due`. Every change replaces or removes that entry, so its version guards every
 * change. Where names may be longer than keys have room for, keys have a short form of them: the job itself has its name.
 */
export class JobLayout {
  readonly dueRange: Required<KeyRange>;
  readonly standInRange: Required<KeyRange>;
  readonly limitPrefix: string;
  readonly #root: readonly string[];
  readonly #job: string;
  readonly #due: string;
  readonly #data: string;
  readonly #partOf: (name: string) => string;

  /** @param partOf - the form of a name in keys; that of such a form is itself */
  constructor(root: readonly string[], partOf: (name: string) => string = (name) => name) {
    this.#root = root;
    this.#partOf = partOf;
    this.#job = keyOf(...root, 'job');
    this.#due = keyOf(...root, 'due');
    this.#data = keyOf(...root, 'data');
    this.dueRange = wholeRange(...root, 'due');
    this.standInRange = wholeRange(...root, 'stand-in');
    this.limitPrefix = keyOf(...root, 'limit');
  }

  job(name: string): string {
    return this.#job + keyOf(this.#partOf(name));
  }

  /** The pointers of the jobs whose names, in the form that keys have, begin with a prefix. */
  jobRange(prefix: string): KeyRange {
    return rangeOfPrefix([...this.#root, 'job'], prefix);
  }

  due(at: number, name: string): string {
    return this.#due + keyOf(instantPart(at), this.#partOf(name));
  }

  /** The instant of a due entry's key. */
  instantOf(key: string): number {
    return instantOf(key.slice(this.#due.length, key.indexOf('!', this.#due.length)));
  }

  /** The job name in the key of a pointer, a due entry or a stand-in, in the form that keys have. */
  nameOf(key: string): string {
    return partsOf(key).at(-1) ?? '';
  }

  /** The common prefix of all due entries. */
  get duePrefix(): string {
    return this.#due;
  }

  data(id: string): string {
    return this.#data + keyOf(id);
  }

  standIn(name: string): string {
    return this.standInRange.from + keyOf(this.#partOf(name));
  }
}

function wholeRange(...parts: readonly string[]): Required<KeyRange> {
  const { from, to = '' } = rangeOf(...parts);
  return { from, to };
}

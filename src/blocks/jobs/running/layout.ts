import { instantOf, instantPart, keyOf, namePart, partsOf, rangeOf } from '../../../state/keys.ts';
import type { KeyRange } from '../../../state/store.ts';

/**
 * Where an application's jobs are kept, below `jobs / <app ID>`:
 *
 * - `job / <name>`: when the job is due, which leads to the entry below
 * - `due / <instant> / <name>`: the job itself, in order of time
 * - `data / <id>`: data that is too large to be written with every run
 *
 * A job has exactly one entry under `due`. Whatever happens to it replaces or removes that entry, so its version
 * guards every change.
 */
export class JobLayout {
  readonly dueRange: Required<KeyRange>;
  readonly #job: string;
  readonly #due: string;
  readonly #data: string;

  constructor(appId: string) {
    const root = ['jobs', namePart(appId)];
    this.#job = keyOf(...root, 'job');
    this.#due = keyOf(...root, 'due');
    this.#data = keyOf(...root, 'data');
    const { from, to = '' } = rangeOf(...root, 'due');
    this.dueRange = { from, to };
  }

  job(name: string): string {
    return this.#job + keyOf(name);
  }

  due(at: number, name: string): string {
    return this.#due + keyOf(instantPart(at), name);
  }

  /** The instant of a due entry's key. */
  instantOf(key: string): number {
    return instantOf(key.slice(this.#due.length, key.indexOf('!', this.#due.length)));
  }

  /** The name of a due entry's key. */
  nameOf(key: string): string {
    return partsOf(key).at(-1) ?? '';
  }

  /** Below which all due entries are. */
  get duePrefix(): string {
    return this.#due;
  }

  data(id: string): string {
    return this.#data + keyOf(id);
  }
}

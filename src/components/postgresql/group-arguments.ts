import { changedKeys } from '../../state/changed-keys.ts';
import type { Batch, Precondition } from '../../state/store.ts';
import type { CommitGroup, Refusal } from '../remote/connection.ts';
import { byteaArray, int4Array, int8Array, keyArray } from './binary.ts';

/** Means "must be absent" to `commit_group_1`; no version is negative. */
const ABSENT = -1;

/** The columns of a group, each with one row per change. */
class Columns {
  readonly batches: number[] = [];
  readonly keys: Uint8Array[] = [];
  readonly values: (Uint8Array | undefined)[] = [];

  add(batch: number, key: string, value?: Uint8Array): void {
    this.batches.push(batch);
    this.keys.push(Buffer.from(key));
    this.values.push(value);
  }
}

/** Converts a group to the arguments of `commit_group_1`. */
export class GroupArguments {
  /** The batch and index of each precondition. */
  readonly #preconditions: Refusal[] = [];
  readonly #versions: number[] = [];
  readonly #required = new Columns();
  readonly #new = new Columns();
  readonly #puts = new Columns();
  readonly #deletes = new Columns();
  readonly #shared = new Set<string>();
  readonly #locked = new Set<string>();
  readonly #group: CommitGroup;

  constructor(group: CommitGroup) {
    this.#group = group;
    for (const [index, batch] of group.batches.entries()) this.#add(batch, index);
  }

  #add(batch: Batch, index: number): void {
    const absent = new Set<string>();
    const changed = new Set(changedKeys(batch));
    batch.require?.forEach((precondition, at) => {
      this.#require(precondition, { batch: index, precondition: at }, changed);
      if (precondition.version === 'absent') absent.add(precondition.key);
    });
    for (const { key, value } of batch.put ?? []) (absent.delete(key) ? this.#new : this.#puts).add(index, key, value);
    for (const key of batch.delete ?? []) {
      this.#deletes.add(index, key);
      this.#locked.add(key);
    }
    for (const key of absent) this.#new.add(index, key);
  }

  #require({ key, version }: Precondition, from: Refusal, changed: ReadonlySet<string>): void {
    this.#preconditions.push(from);
    this.#required.add(from.batch, key);
    this.#versions.push(version === 'absent' ? ABSENT : version);
    // A key that a batch also changes gets the stronger lock for the whole group.
    if (changed.has(key)) this.#locked.add(key);
    else this.#shared.add(key);
  }

  get values(): readonly unknown[] {
    const { session, number, firstVersion } = this.#group;
    for (const key of this.#locked) this.#shared.delete(key);
    return [
      String(session),
      String(number),
      String(firstVersion),
      keyArray([...this.#shared]),
      keyArray([...this.#locked]),
      int4Array(this.#required.batches),
      byteaArray(this.#required.keys),
      int8Array(this.#versions),
      ...valuesOf(this.#new),
      ...valuesOf(this.#puts),
      int4Array(this.#deletes.batches),
      byteaArray(this.#deletes.keys),
    ];
  }

  /** Converts the server's positions (from 1) to refusals. */
  refusals(positions: readonly number[]): readonly Refusal[] {
    return positions.flatMap((position) => this.#preconditions[position - 1] ?? []);
  }
}

function valuesOf({ batches, keys, values }: Columns): readonly Buffer[] {
  return [int4Array(batches), byteaArray(keys), byteaArray(values)];
}

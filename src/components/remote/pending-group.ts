import type { Batch, Precondition } from '../../state/store.ts';
import { type CommitGroup, type Refusal, RetryableError } from './connection.ts';

/**
 * A group on its way. The server writes nothing while a precondition does not hold: it names the keys of those, and the
 * group is sent again without the batches that they refuse.
 */
export class PendingGroup {
  readonly group: CommitGroup;
  /** By the index of its batch. */
  readonly #refused = new Map<number, Refusal>();

  constructor(group: CommitGroup) {
    this.group = group;
  }

  get refusals(): readonly Refusal[] {
    return [...this.#refused.values()];
  }

  /** A session's record of the refusals; {@link refusalsOf} converts it back. */
  get refusedNumbers(): readonly number[] {
    return this.refusals.flatMap(({ batch, precondition }) => [batch, precondition]);
  }

  /** Whether a batch is left. */
  get isLeft(): boolean {
    return this.#refused.size < this.group.batches.length;
  }

  /** The batches that are left and have a precondition on one of these keys. */
  refusedBy(keys: readonly string[]): readonly Refusal[] {
    const failed = new Set(keys);
    const refusals: Refusal[] = [];
    this.eachLeft(({ require = [] }, batch) => {
      const precondition = require.findIndex(({ key }) => failed.has(key));
      if (precondition >= 0) refusals.push({ batch, precondition });
    });
    return refusals;
  }

  /** Gives up the batches that have a precondition on one of these keys. */
  refuse(keys: readonly string[]): void {
    const refusals = this.refusedBy(keys);
    if (refusals.length === 0) throw new RetryableError('the server refused keys without a precondition');
    for (const refusal of refusals) this.#refused.set(refusal.batch, refusal);
  }

  eachLeft(visit: (batch: Batch, index: number) => void): void {
    this.group.batches.forEach((batch, index) => {
      if (!this.#refused.has(index)) visit(batch, index);
    });
  }

  /** Each key once: batches that require different versions of it are not in the same group. */
  get required(): ReadonlyMap<string, Precondition['version']> {
    const required = new Map<string, Precondition['version']>();
    this.eachLeft(({ require = [] }) => {
      for (const { key, version } of require) required.set(key, version);
    });
    return required;
  }
}

import { isStateError } from '../../state/errors.ts';
import type { Put, StateStore } from '../../state/store.ts';

/** The most changes in one commit, and about the most bytes. */
const MOST_CHANGES = 1_000;
const MOST_BYTES = 16 * 1024 * 1024;

interface Change {
  readonly put: readonly Put[];
  readonly remove: string | undefined;
  /** Called as soon as it is durable, in the order of the changes. */
  readonly onDurable: (() => void) | undefined;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Collects the changes of one turn of the event loop, publishes and settlements alike, into one commit: a promise and a
 * check for a group instead of for each. Each change is whole or not there; one that the store does not take does not
 * touch the others.
 */
export class GroupCommit {
  readonly #store: StateStore;
  #changes: Change[] = [];
  #bytes = 0;
  #scheduled = false;
  readonly #committing = new Set<Promise<void>>();

  constructor(store: StateStore) {
    this.#store = store;
  }

  /**
   * Writes and removes, together. Resolves once that is durable; `onDurable` is called before, for all changes in the
   * order in which they were asked for.
   */
  change(put: readonly Put[], remove?: string, onDurable?: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#changes.push({ put, remove, onDurable, resolve, reject });
      for (const { value } of put) this.#bytes += value.length;
      if (this.#changes.length >= MOST_CHANGES || this.#bytes >= MOST_BYTES) this.#flush();
      else this.#schedule();
    });
  }

  /** Resolves once everything that was asked for is durable, or has failed. */
  async flushed(): Promise<void> {
    this.#flush();
    await Promise.all(this.#committing);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#changes.length === 0) return;
    const changes = this.#changes;
    this.#changes = [];
    this.#bytes = 0;
    const commit = this.#commit(changes).finally(() => this.#committing.delete(commit));
    this.#committing.add(commit);
  }

  async #commit(changes: readonly Change[]): Promise<void> {
    try {
      await this.#store.commit(batchOf(changes));
      for (const { onDurable } of changes) onDurable?.();
      for (const { resolve } of changes) resolve();
    } catch (error) {
      // What one has too much, for a value or for what the disk has left, must not fail the others.
      if (changes.length > 1 && isStateError(error) && (error.kind === 'invalid' || error.kind === 'full')) {
        await Promise.all(changes.map((change) => this.#commit([change])));
      } else {
        for (const { reject } of changes) reject(error);
      }
    }
  }
}

/** A key that is changed twice has its last state: a batch names it once. */
function batchOf(changes: readonly Change[]): { put: Put[]; delete: string[] } {
  const states = new Map<string, Uint8Array | undefined>();
  for (const { put, remove } of changes) {
    for (const { key, value } of put) states.set(key, value);
    if (remove !== undefined) states.set(remove, undefined);
  }
  const batch = { put: [] as Put[], delete: [] as string[] };
  for (const [key, value] of states) {
    if (value === undefined) batch.delete.push(key);
    else batch.put.push({ key, value });
  }
  return batch;
}

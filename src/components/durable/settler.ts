import type { Put, StateStore } from '../../state/store.ts';

/** The most changes in one commit. */
const MAX_CHANGES = 1_000;

interface Change {
  readonly put: Put | undefined;
  readonly remove: string | undefined;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Collects the settlements of one turn of the event loop into one commit: all of them, or none and all fail. */
export class Settler {
  readonly #store: StateStore;
  #changes: Change[] = [];
  #scheduled = false;
  readonly #committing = new Set<Promise<void>>();

  constructor(store: StateStore) {
    this.#store = store;
  }

  /** Writes and removes, together. Resolves once that is durable. */
  change(put: Put | undefined, remove: string | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#changes.push({ put, remove, resolve, reject });
      if (this.#scheduled) return;
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        this.#flush();
      });
    });
  }

  /** Resolves once everything that was asked for is durable, or has failed. */
  async flushed(): Promise<void> {
    this.#flush();
    await Promise.all(this.#committing);
  }

  #flush(): void {
    while (this.#changes.length > 0) {
      const commit = this.#commit(this.#changes.splice(0, MAX_CHANGES)).finally(() => this.#committing.delete(commit));
      this.#committing.add(commit);
    }
  }

  async #commit(changes: readonly Change[]): Promise<void> {
    const put = changes.flatMap((change) => change.put ?? []);
    const remove = changes.flatMap((change) => change.remove ?? []);
    try {
      await this.#store.commit({ put, delete: remove });
      for (const { resolve } of changes) resolve();
    } catch (error) {
      for (const { reject } of changes) reject(error);
    }
  }
}

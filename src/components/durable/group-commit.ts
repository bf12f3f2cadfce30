import { ConflictError, isConflict, isStateError } from '../../state/errors.ts';
import type { Precondition, Put, StateStore } from '../../state/store.ts';

/** The most changes in one commit, and about the most bytes. */
const MOST_CHANGES = 1_000;
const MOST_BYTES = 16 * 1024 * 1024;

const NOTHING: readonly Put[] = [];

/** Something to be written whole or not at all. */
export interface Change {
  readonly put?: readonly Put[];
  readonly remove?: string | undefined;
  /** What must hold for it. Changes that follow each other may have the same one, which is checked once for all. */
  readonly guard?: Precondition | undefined;
  /** Called as soon as it is durable, in the order of the changes. */
  readonly onDurable?: () => void;
}

interface Asked {
  readonly change: Change;
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
  #asked: Asked[] = [];
  #bytes = 0;
  #scheduled = false;
  readonly #committing = new Set<Promise<void>>();

  constructor(store: StateStore) {
    this.#store = store;
  }

  /** Resolves once the change is durable. Rejects with a ConflictError when its guard does not hold. */
  change(change: Change): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ change, resolve, reject });
      for (const { value } of change.put ?? NOTHING) this.#bytes += value.length;
      if (this.#asked.length >= MOST_CHANGES || this.#bytes >= MOST_BYTES) this.#flush();
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
    if (this.#asked.length === 0) return;
    const asked = this.#asked;
    this.#asked = [];
    this.#bytes = 0;
    const commit = this.#commit(asked).finally(() => this.#committing.delete(commit));
    this.#committing.add(commit);
  }

  async #commit(asked: readonly Asked[]): Promise<void> {
    const { guards, current } = guarded(asked);
    if (current.length === 0) return;
    try {
      await this.#store.commit({ ...changesOf(current), require: guards });
    } catch (error) {
      return this.#refused(current, error);
    }
    for (const { change } of current) change.onDurable?.();
    for (const { resolve } of current) resolve();
  }

  /** What one has too much, or a guard that does not hold, must not fail the others. */
  async #refused(asked: readonly Asked[], error: unknown): Promise<void> {
    if (isConflict(error)) {
      const [refused, others] = [
        asked.filter((one) => isGuardedBy(one, error)),
        asked.filter((one) => !isGuardedBy(one, error)),
      ];
      for (const { reject } of refused.length > 0 ? refused : others) reject(error);
      if (refused.length > 0) await this.#commit(others);
    } else if (asked.length > 1 && isStateError(error) && (error.kind === 'invalid' || error.kind === 'full')) {
      await Promise.all(asked.map((one) => this.#commit([one])));
    } else {
      for (const { reject } of asked) reject(error);
    }
  }
}

function isGuardedBy({ change }: Asked, { key }: ConflictError): boolean {
  return change.guard?.key === key;
}

/**
 * The guards of a group, each once. Of two about one key the later one counts: what was asked for under the earlier one
 * is refused, as that is known not to hold any more.
 */
function guarded(asked: readonly Asked[]): { guards: readonly Precondition[]; current: readonly Asked[] } {
  const guards: Precondition[] = [];
  let isOutdated = false;
  for (const { change } of asked) {
    const { guard } = change;
    // Nearly always the same object as that of the change before.
    if (guard === undefined || guards.includes(guard)) continue;
    const at = guards.findIndex(({ key }) => key === guard.key);
    if (at < 0) guards.push(guard);
    else {
      isOutdated ||= guards[at]?.version !== guard.version;
      guards[at] = guard;
    }
  }
  if (!isOutdated) return { guards, current: asked };
  const current = asked.filter(({ change: { guard }, reject }) => {
    const holds =
      guard === undefined || guards.some(({ key, version }) => key === guard.key && version === guard.version);
    if (!holds) reject(new ConflictError(guard.key));
    return holds;
  });
  return { guards, current };
}

/** A key that is changed twice has its last state: a batch names it once. */
function changesOf(asked: readonly Asked[]): { put: Put[]; delete: string[] } {
  const states = new Map<string, Uint8Array | undefined>();
  for (const { change } of asked) {
    for (const { key, value } of change.put ?? NOTHING) states.set(key, value);
    if (change.remove !== undefined) states.set(change.remove, undefined);
  }
  const batch = { put: [] as Put[], delete: [] as string[] };
  for (const [key, value] of states) {
    if (value === undefined) batch.delete.push(key);
    else batch.put.push({ key, value });
  }
  return batch;
}

import { isConflict, isStateError } from '../state/errors.ts';
import type { Batch, Precondition, Put, StateStore } from '../state/store.ts';

/** The most changes in one commit, and the most bytes of values, unless one change alone has more. */
const MAX_CHANGES = 1_000;
const MAX_BYTES = 16 * 1024 * 1024;
/** So often the rest of a group is committed together again; after that, each change on its own. */
const MAX_GROUP_TRIES = 3;

// Taken when this is loaded: tests replace the global one by timers that stand still.
const { setImmediate } = globalThis;

/** Something to be written whole or not at all. */
export interface Change extends Batch {
  /** What must hold for this and for other changes: checked once for all of a group that have the same one. */
  readonly fence?: Precondition | undefined;
  /** Called as soon as the change is durable, in the order of the changes. */
  readonly onDurable?: (() => void) | undefined;
}

interface Pending {
  readonly change: Change;
  readonly resolve: (version: number) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Collects the changes of one turn of the event loop into one commit: what a commit costs apart from its entries, a
 * round trip above all, is paid once for all. Each change is written whole or not at all, and one that the store refuses
 * does not touch the others. Of changes in one turn that touch the same key, each is a commit later than the one before.
 */
export class CommitBatcher {
  readonly #store: StateStore;
  readonly #committing = new Set<Promise<void>>();
  #group = new Group();
  #isScheduled = false;

  constructor(store: StateStore) {
    this.#store = store;
  }

  /**
   * Resolves once the change is durable, with the version of the commit.
   *
   * @throws ConflictError when its fence or another precondition of its own does not hold.
   */
  commit(change: Change): Promise<number> {
    return new Promise((resolve, reject) => {
      if (!this.#group.takes(change)) this.#flush();
      this.#group.add({ change, resolve, reject });
      if (this.#isScheduled) return;
      this.#isScheduled = true;
      setImmediate(() => {
        this.#isScheduled = false;
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
    const { pending } = this.#group;
    if (pending.length === 0) return;
    this.#group = new Group();
    const commit = this.#commit(pending, 1).finally(() => this.#committing.delete(commit));
    this.#committing.add(commit);
  }

  async #commit(pending: readonly Pending[], tries: number): Promise<void> {
    let version: number;
    try {
      version = await this.#store.commit(batchOf(pending));
    } catch (error) {
      return this.#refused(pending, error, tries);
    }
    for (const { change } of pending) change.onDurable?.();
    for (const { resolve } of pending) resolve(version);
  }

  /** What is wrong with one change must not fail the others. */
  async #refused(pending: readonly Pending[], error: unknown, tries: number): Promise<void> {
    const rest = pending.length > 1 && mayBeOfOne(error) ? pending.filter((one) => !isCulprit(one, error)) : [];
    for (const one of pending) if (rest.length === 0 || isCulprit(one, error)) one.reject(error);
    if (rest.length === 0) return;
    if (rest.length < pending.length && tries < MAX_GROUP_TRIES) return this.#commit(rest, tries + 1);
    await Promise.all(rest.map((one) => this.#commit([one], tries)));
  }
}

/** Changes that go into one commit: no two touch the same key. */
class Group {
  readonly pending: Pending[] = [];
  readonly #keys = new Set<string>();
  readonly #fences = new Map<string, Precondition>();
  #lastFence: Precondition | undefined;
  #bytes = 0;

  takes(change: Change): boolean {
    if (this.pending.length === 0) return true;
    if (this.pending.length >= MAX_CHANGES || this.#bytes + bytesOf(change) > MAX_BYTES) return false;
    return !this.#meets(change);
  }

  add(one: Pending): void {
    const { require, put, delete: removed, fence } = one.change;
    this.pending.push(one);
    for (const { key } of require ?? NONE) this.#keys.add(key);
    for (const { key, value } of put ?? NONE) {
      this.#keys.add(key);
      this.#bytes += value.byteLength;
    }
    for (const key of removed ?? NONE) this.#keys.add(key);
    if (fence === undefined || fence === this.#lastFence) return;
    this.#fences.set(fence.key, fence);
    this.#lastFence = fence;
  }

  #meets({ require, put, delete: removed, fence }: Change): boolean {
    for (const { key } of require ?? NONE) if (this.#has(key)) return true;
    for (const { key } of put ?? NONE) if (this.#has(key)) return true;
    for (const key of removed ?? NONE) if (this.#has(key)) return true;
    // Nearly always the same object as that of the change before.
    if (fence === undefined || fence === this.#lastFence) return false;
    const other = this.#fences.get(fence.key);
    return this.#keys.has(fence.key) || (other !== undefined && other.version !== fence.version);
  }

  #has(key: string): boolean {
    return this.#keys.has(key) || this.#fences.has(key);
  }
}

const NONE: readonly never[] = [];

function bytesOf({ put }: Change): number {
  let bytes = 0;
  for (const { value } of put ?? NONE) bytes += value.byteLength;
  return bytes;
}

/** One of the changes may be to blame. */
function mayBeOfOne(error: unknown): boolean {
  return isConflict(error) || (isStateError(error) && (error.kind === 'invalid' || error.kind === 'full'));
}

/** Whether it requires what does not hold. */
function isCulprit({ change: { require, fence } }: Pending, error: unknown): boolean {
  if (!isConflict(error)) return false;
  return fence?.key === error.key || (require ?? NONE).some(({ key }: Precondition) => key === error.key);
}

/** What one commit has for several changes. */
function batchOf(pending: readonly Pending[]): Batch {
  const batch = { require: [] as Precondition[], put: [] as Put[], delete: [] as string[] };
  const fences = new Set<string>();
  let lastFence: Precondition | undefined;
  for (const { change } of pending) {
    const { require, put, delete: removed, fence } = change;
    for (const precondition of require ?? NONE) batch.require.push(precondition);
    for (const one of put ?? NONE) batch.put.push(one);
    for (const key of removed ?? NONE) batch.delete.push(key);
    if (fence === undefined || fence === lastFence || fences.has(fence.key)) continue;
    fences.add(fence.key);
    batch.require.push(fence);
    lastFence = fence;
  }
  return batch;
}

import { isConflictError, isStateError } from '../state/errors.ts';
import type { Batch, Precondition, Put, StateStore } from '../state/store.ts';
import { outside } from '../util/outside.ts';
import { setImmediate } from '../util/timers.ts';

/** The most changes and the most bytes of values in one commit, unless a single change has more. */
const MAX_CHANGES = 1_000;
const MAX_BYTES = 16 * 1024 * 1024;
/** How often the rest of a group is committed together again; after that, each change is committed alone. */
const MAX_GROUP_TRIES = 3;

/** A change that is written as a whole or not at all. */
export interface Change extends Batch {
  /** A precondition that other changes may share: a group checks the same object only once. */
  readonly fence?: Precondition | undefined;
  /** Called as soon as the change is durable, in the order of the changes. */
  readonly onDurable?: (() => void) | undefined;
}

interface PendingCommit {
  readonly change: Change;
  readonly resolve: (version: number) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Collects the changes of one turn of the event loop into one commit: they share its fixed cost, above all the round
 * trip. Each change is written as a whole or not at all, and a change that the store refuses does not affect the
 * others. Changes of one turn to the same key go into consecutive commits.
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
   * Resolves with the version of the commit once the change is durable.
   *
   * @throws ConflictError when its fence or another of its preconditions does not hold.
   */
  commit(change: Change): Promise<number> {
    return new Promise((resolve, reject) => {
      if (!this.#group.takes(change)) this.#flush();
      this.#group.add({ change, resolve, reject });
      if (this.#isScheduled) return;
      this.#isScheduled = true;
      outside(() =>
        setImmediate(() => {
          this.#isScheduled = false;
          this.#flush();
        }),
      );
    });
  }

  /** Resolves once all requested changes are durable or have failed. */
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

  async #commit(pending: readonly PendingCommit[], tries: number): Promise<void> {
    let version: number;
    try {
      version = await this.#store.commit(batchOf(pending));
    } catch (error) {
      return this.#refused(pending, error, tries);
    }
    for (const { change } of pending) change.onDurable?.();
    for (const { resolve } of pending) resolve(version);
  }

  /** Separates a refused change, so that it does not fail the others. */
  async #refused(pending: readonly PendingCommit[], error: unknown, tries: number): Promise<void> {
    const rest = pending.length > 1 && mayBeOfOne(error) ? pending.filter((one) => !isCulprit(one, error)) : [];
    for (const one of pending) if (rest.length === 0 || isCulprit(one, error)) one.reject(error);
    if (rest.length === 0) return;
    if (rest.length < pending.length && tries < MAX_GROUP_TRIES) return this.#commit(rest, tries + 1);
    await Promise.all(rest.map((one) => this.#commit([one], tries)));
  }
}

/** Changes for one commit: no two touch the same key. */
class Group {
  readonly pending: PendingCommit[] = [];
  readonly #keys = new Set<string>();
  readonly #fences = new Map<string, Precondition>();
  #lastFence: Precondition | undefined;
  #bytes = 0;

  takes(change: Change): boolean {
    if (this.pending.length === 0) return true;
    if (this.pending.length >= MAX_CHANGES || this.#bytes + bytesOf(change) > MAX_BYTES) return false;
    return !this.#meets(change);
  }

  add(one: PendingCommit): void {
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
    // Nearly always the same object as the previous change's.
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

/** Whether a single change may have caused the error. */
function mayBeOfOne(error: unknown): boolean {
  return isConflictError(error) || (isStateError(error) && (error.kind === 'invalid' || error.kind === 'full'));
}

/** Whether the change requires the precondition that failed. */
function isCulprit({ change: { require, fence } }: PendingCommit, error: unknown): boolean {
  if (!isConflictError(error)) return false;
  return fence?.key === error.key || (require ?? NONE).some(({ key }: Precondition) => key === error.key);
}

/** One batch for several changes. */
function batchOf(pending: readonly PendingCommit[]): Batch {
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

import { isConflict, isStateError } from '../../state/errors.ts';
import type { Batch, Precondition, Put, StateStore } from '../../state/store.ts';

// From the global: an import of node:process reads all that it has, which costs 2 to 4 MiB.
const { nextTick } = process;

/** The most turns in one commit, and about the most bytes of values. */
const MOST_TURNS = 1_000;
const MOST_BYTES = 8 * 1024 * 1024;

/** A turn to be written, whole or not at all. */
export interface TurnBatch extends Required<Batch> {
  /** What other turns may require as well: it is checked once for all. */
  readonly fence: Precondition | undefined;
}

/**
 * Collects the turns of many instances that end at the same moment into one commit: what a commit costs apart from its
 * entries is paid once for all. Turns that the store does not take together have to be written one by one.
 */
export class TurnGroup {
  readonly #store: StateStore;
  #group: Group | undefined;

  constructor(store: StateStore) {
    this.#store = store;
  }

  /** Answers the version of the commit; nothing when the turn was not written, but can be on its own. */
  write(turn: TurnBatch): Promise<number | undefined> {
    if (this.#group?.isFull === true) this.#flush();
    if (this.#group === undefined) {
      this.#group = new Group();
      // Not in this tick: whoever has waited for the same answer of the store goes on now.
      nextTick(() => this.#flush());
    }
    this.#group.add(turn);
    return this.#group.written;
  }

  #flush(): void {
    const group = this.#group;
    this.#group = undefined;
    if (group !== undefined) void group.commit(this.#store);
  }
}

class Group {
  readonly written: Promise<number | undefined>;
  readonly #turns: TurnBatch[] = [];
  #bytes = 0;
  #settle: { resolve: (version: number | undefined) => void; reject: (error: unknown) => void } | undefined;

  constructor() {
    this.written = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
  }

  get isFull(): boolean {
    return this.#turns.length >= MOST_TURNS || this.#bytes >= MOST_BYTES;
  }

  add(turn: TurnBatch): void {
    this.#turns.push(turn);
    for (const { value } of turn.put) this.#bytes += value.byteLength;
  }

  async commit(store: StateStore): Promise<void> {
    try {
      this.#settle?.resolve(await store.commit(asOne(this.#turns)));
    } catch (error) {
      if (this.#turns.length > 1 && mayBeOfOne(error)) this.#settle?.resolve(undefined);
      else this.#settle?.reject(error);
    }
  }
}

/** One of the turns may be to blame, and must not fail the others. */
function mayBeOfOne(error: unknown): boolean {
  return isConflict(error) || (isStateError(error) && (error.kind === 'invalid' || error.kind === 'full'));
}

/** What one commit has for several turns. */
function asOne(turns: readonly TurnBatch[]): Batch {
  const [first] = turns;
  if (turns.length === 1 && first !== undefined) return batchOf(first);
  const batch = { require: [] as Precondition[], put: [] as Put[], delete: [] as string[] };
  const fences = new Set<string>();
  for (const { require, put, delete: removed, fence } of turns) {
    for (const precondition of require) batch.require.push(precondition);
    for (const one of put) batch.put.push(one);
    for (const key of removed) batch.delete.push(key);
    if (fence === undefined || fences.has(fence.key)) continue;
    fences.add(fence.key);
    batch.require.push(fence);
  }
  return batch;
}

/** A turn on its own. */
export function batchOf({ require, put, delete: removed, fence }: TurnBatch): Batch {
  return { require: fence === undefined ? require : [...require, fence], put, delete: removed };
}

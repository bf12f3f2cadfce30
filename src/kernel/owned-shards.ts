import type { Shards } from '../cluster/shards.ts';
import type { Precondition } from '../state/store.ts';

/** Shards that this host gained or lost. */
export interface OwnedChange {
  readonly gained: ReadonlySet<OwnedShard>;
  /** Gained shards that no other host has owned in between. */
  readonly kept: ReadonlySet<OwnedShard>;
  readonly lost: ReadonlySet<OwnedShard>;
}

/** When commits carry a fence: `always`, or only while other hosts run the same app ID. */
export type FenceRule = 'always' | 'when-shared';

/** One shard: whether this host owns it, and how much of its work is in flight. */
export class OwnedShard {
  readonly #shards: Shards | undefined;
  readonly #number: number;
  readonly #rule: FenceRule;
  #underWay = 0;
  #waiting: (() => void)[] = [];

  constructor(shards: Shards | undefined, number: number, rule: FenceRule) {
    this.#shards = shards;
    this.#number = number;
    this.#rule = rule;
  }

  /** Whether this host may begin work in the shard now. */
  get isOwned(): boolean {
    return this.#shards === undefined || this.#shards.owns(this.#number);
  }

  /**
   * The precondition for its commits; `undefined` when no other host could have taken the shard.
   *
   * @throws ConflictError when this host does not own the shard.
   */
  fence(): Precondition | undefined {
    if (this.#shards === undefined || (this.#rule === 'when-shared' && !this.#shards.isShared)) return undefined;
    return this.#shards.fence(this.#number);
  }

  /**
   * The precondition that no other host has owned the shard since now, whether commits carry it or not. `undefined` if
   * this sidecar has the store for itself.
   *
   * @throws ConflictError when this host does not own the shard.
   */
  get tenure(): Precondition | undefined {
    return this.#shards?.fence(this.#number);
  }

  /** Begins work in the shard: a hand-over waits for its {@link OwnedShard.end}. */
  begin(): void {
    this.#underWay++;
  }

  /** Ends the work that was begun, here or because another host owns it now. */
  end(): void {
    if (--this.#underWay > 0 || this.#waiting.length === 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Resolves when no work of the shard is in flight; `undefined` if none is. */
  idle(): Promise<void> | undefined {
    if (this.#underWay === 0) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

/**
 * The shards of one block or component. Work begins in owned shards only, and commits carry their fences. A lost shard
 * is handed over once none of its work is in flight. Without other hosts, every shard is owned.
 */
export class OwnedShards {
  readonly #shards: Shards | undefined;
  readonly #all: readonly OwnedShard[];
  readonly #watches: Disposable[] = [];
  readonly #shardKeyOf: (id: string) => string;

  /**
   * @param shards - `undefined` if this sidecar has the store for itself.
   * @param shardKeyOf - the part of an ID that decides on its shard, where that is not the whole
   */
  constructor(
    shards: Shards | undefined,
    rule: FenceRule = 'when-shared',
    shardKeyOf: (id: string) => string = (id) => id,
  ) {
    this.#shards = shards;
    this.#shardKeyOf = shardKeyOf;
    this.#all = Array.from({ length: shards?.count ?? 1 }, (_, number) => new OwnedShard(shards, number, rule));
  }

  /** Whether other hosts may run the same app ID, so that data in memory may be out of date. */
  get isShared(): boolean {
    return this.#shards?.isShared === true;
  }

  /** Whether other hosts of the app ID are known to be alive, see {@link Shards.hasPeers}. */
  get hasPeers(): boolean {
    return this.#shards?.hasPeers === true;
  }

  /** The shard of an ID. */
  of(id: string): OwnedShard {
    return this.#at(this.#shards?.shardOf(this.#shardKeyOf(id)) ?? 0);
  }

  owns(id: string): boolean {
    return this.of(id).isOwned;
  }

  /** See {@link OwnedShard.fence}. */
  fence(id: string): Precondition | undefined {
    return this.of(id).fence();
  }

  /** Whether an error says that another host owns a shard now. */
  isFenced(error: unknown): boolean {
    return this.#shards?.isFenced(error) === true;
  }

  /** Calls back when shards are gained or lost. Lost shards are handed over once none of their work is in flight. */
  onChange(listener: (change: OwnedChange) => void): void {
    if (this.#shards === undefined) return;
    const watch = this.#shards.onChange(async ({ gained, kept, lost }) => {
      const change = { gained: this.#setOf(gained), kept: this.#setOf(kept), lost: this.#setOf(lost) };
      listener(change);
      await Promise.all([...change.lost].map((shard) => shard.idle()));
    });
    this.#watches.push(watch);
  }

  /**
   * Calls back when other hosts may have changed entries under a prefix: those of `keys`, or any if `keys` is empty.
   */
  watch(prefix: string, onChange: (keys: readonly string[]) => void): void {
    if (this.#shards !== undefined) this.#watches.push(this.#shards.watch(prefix, onChange));
  }

  /** Stops all callbacks. */
  stop(): void {
    for (const watch of this.#watches.splice(0)) watch[Symbol.dispose]();
  }

  #setOf(numbers: readonly number[]): ReadonlySet<OwnedShard> {
    return new Set(numbers.map((number) => this.#at(number)));
  }

  /** Safe: `count` shards exist, and every number is below it. */
  #at(number: number): OwnedShard {
    return this.#all[number] as OwnedShard;
  }
}

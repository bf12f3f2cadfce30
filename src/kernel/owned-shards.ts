import type { Shards } from '../cluster/shards.ts';
import type { Precondition } from '../state/store.ts';

/** Shards that this host may work on from now on, or no longer. */
export interface OwnedChange {
  readonly gained: ReadonlySet<OwnedShard>;
  readonly lost: ReadonlySet<OwnedShard>;
}

/** When commits carry a fence: `always`, or only while other hosts run the same app ID. */
export type FenceRule = 'always' | 'when-shared';

/** One shard: whether its work is this host's, and how much of it is in hand. */
export class OwnedShard {
  readonly #shards: Shards | undefined;
  readonly #number: number;
  readonly #rule: FenceRule;
  #inHand = 0;
  #waiting: (() => void)[] = [];

  constructor(shards: Shards | undefined, number: number, rule: FenceRule) {
    this.#shards = shards;
    this.#number = number;
    this.#rule = rule;
  }

  /** Whether this host may begin something for it now. */
  get isOwned(): boolean {
    return this.#shards === undefined || this.#shards.owns(this.#number);
  }

  /**
   * What a commit for it has to require; `undefined` when nobody else could have taken it.
   *
   * @throws ConflictError when it is not this host's.
   */
  fence(): Precondition | undefined {
    if (this.#shards === undefined || (this.#rule === 'when-shared' && !this.#shards.isShared)) return undefined;
    return this.#shards.fence(this.#number);
  }

  /** Something of it is in hand: a hand-over waits for its {@link OwnedShard.end}. */
  begin(): void {
    this.#inHand++;
  }

  /** What was begun is over, or is another host's. */
  end(): void {
    if (--this.#inHand > 0 || this.#waiting.length === 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Resolves when nothing of it is in hand. */
  idle(): Promise<void> | undefined {
    if (this.#inHand === 0) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

/**
 * The shards of one block or component. It begins work in owned shards only, and puts their fences into its commits.
 * A lost shard is handed over when nothing of it is in hand any more. Without other hosts, every shard is owned.
 */
export class OwnedShards {
  readonly #shards: Shards | undefined;
  readonly #all: readonly OwnedShard[];
  readonly #watches: Disposable[] = [];

  /** @param shards - without them the store belongs to nobody else. */
  constructor(shards: Shards | undefined, rule: FenceRule = 'when-shared') {
    this.#shards = shards;
    this.#all = Array.from({ length: shards?.count ?? 1 }, (_, number) => new OwnedShard(shards, number, rule));
  }

  /** Whether other hosts run the same app ID, so that what is in memory may be out of date. */
  get isShared(): boolean {
    return this.#shards?.isShared === true;
  }

  /** Whether other hosts of the app ID are alive, as far as is known here: see {@link Shards.hasPeers}. */
  get hasPeers(): boolean {
    return this.#shards?.hasPeers === true;
  }

  /** The shard of an ID. */
  of(id: string): OwnedShard {
    return this.#at(this.#shards?.shardOf(id) ?? 0);
  }

  owns(id: string): boolean {
    return this.of(id).isOwned;
  }

  /** See {@link OwnedShard.fence}. */
  fence(id: string): Precondition | undefined {
    return this.of(id).fence();
  }

  /** Whether an error says that a shard is another host's now. */
  isFenced(error: unknown): boolean {
    return this.#shards?.isFenced(error) === true;
  }

  /** Calls back when shards are gained or lost; those lost are handed over when nothing of them is in hand. */
  onChange(listener: (change: OwnedChange) => void): void {
    if (this.#shards === undefined) return;
    const watch = this.#shards.onChange(async ({ gained, lost }) => {
      const change = { gained: this.#setOf(gained), lost: this.#setOf(lost) };
      listener(change);
      await Promise.all([...change.lost].map((shard) => shard.idle()));
    });
    this.#watches.push(watch);
  }

  /** Calls back when other hosts may have changed entries below a prefix: these, or any when no keys are told. */
  watch(prefix: string, onChange: (keys: readonly string[]) => void): void {
    if (this.#shards !== undefined) this.#watches.push(this.#shards.watch(prefix, onChange));
  }

  /** Calls nobody back any more. */
  stop(): void {
    for (const watch of this.#watches.splice(0)) watch[Symbol.dispose]();
  }

  #setOf(numbers: readonly number[]): ReadonlySet<OwnedShard> {
    return new Set(numbers.map((number) => this.#at(number)));
  }

  /** Safe: every number below the count has its shard. */
  #at(number: number): OwnedShard {
    return this.#all[number] as OwnedShard;
  }
}

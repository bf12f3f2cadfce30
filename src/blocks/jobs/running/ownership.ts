import type { Shards } from '../../../cluster/shards.ts';

/** What a change of ownership is told to. */
export interface OwnershipListener {
  /** Other jobs are this host's from now on. */
  readonly onChange: () => void;
  /** Other hosts may have changed jobs: those with these keys, or any when there are none. */
  readonly onHint: (keys: readonly string[]) => void;
  /** The names of the jobs that are in hand. */
  readonly inHand: () => Iterable<string>;
}

/** Which jobs are this host's to run. */
export class Ownership {
  readonly #shards: Shards;
  readonly #waiting = new Set<() => void>();
  #watches: Disposable[] = [];

  constructor(shards: Shards) {
    this.#shards = shards;
  }

  /** Whether other hosts run jobs of the same app ID. */
  get isShared(): boolean {
    return this.#shards.isShared;
  }

  owns(name: string): boolean {
    return this.#shards.owns(this.#shards.shardOf(name));
  }

  /** Whether an error says that the job is another host's now. */
  isFenced(error: unknown): boolean {
    return this.#shards.isFenced(error);
  }

  start(listener: OwnershipListener, prefix: string): void {
    const change = this.#shards.onChange(({ lost }) => {
      listener.onChange();
      return this.#untilReleased(new Set(lost), listener.inHand);
    });
    this.#watches = [change, this.#shards.watch(prefix, listener.onHint)];
  }

  stop(): void {
    for (const watch of this.#watches.splice(0)) watch[Symbol.dispose]();
  }

  /** A job is not in hand any more. */
  released(): void {
    for (const look of this.#waiting) look();
  }

  /** Resolves when no job of these shards is in hand. */
  #untilReleased(lost: ReadonlySet<number>, inHand: () => Iterable<string>): Promise<void> | undefined {
    const areHeld = (): boolean => {
      for (const name of inHand()) if (lost.has(this.#shards.shardOf(name))) return true;
      return false;
    };
    if (lost.size === 0 || !areHeld()) return undefined;
    return new Promise((resolve) => {
      const look = (): void => {
        if (areHeld()) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
    });
  }
}

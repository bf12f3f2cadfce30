import type { Shards } from '../../cluster/shards.ts';
import type { Precondition } from '../../state/store.ts';

/** Whether this host hands a group's messages out. */
export class QueueOwner {
  readonly #shards: Shards | undefined;
  readonly shard: number;

  /** @param shards - without them the store belongs to nobody else. */
  constructor(shards: Shards | undefined, queue: string) {
    this.#shards = shards;
    this.shard = shards?.shardOf(queue) ?? 0;
  }

  get owns(): boolean {
    return this.#shards === undefined || this.#shards.owns(this.shard);
  }

  /** What must hold for whatever is settled. */
  fence(): Precondition | undefined {
    return this.#shards?.fence(this.shard);
  }

  /** Whether an error says that another host settles the group's messages now. */
  isFenced(error: unknown): boolean {
    return this.#shards?.isFenced(error) === true;
  }
}

import { DueIndex } from '../../../kernel/due-index.ts';
import type { InstanceStore } from '../storage/instance-store.ts';

/** An instance and the instant at which it is due. */
export interface DueInstance {
  readonly at: number;
  readonly id: string;
}

const PAGE_SIZE = 1_000;

/** Due times of all instances in memory, and the earliest of the others. */
export class DueInstances extends DueIndex<DueInstance> {
  /** @param isOurs - whether this host owns an instance that is not in memory */
  constructor(store: InstanceStore, isOurs: (id: string) => boolean) {
    super({
      idOf: ({ id }) => id,
      readAfter: (position, limit) => store.dueAfter(position, limit),
      isWanted: ({ id }) => isOurs(id),
      pageSize: PAGE_SIZE,
    });
  }

  /** Sets the due time of an instance in memory, or clears it. */
  set(id: string, at: number | undefined): void {
    if (at === undefined) return this.remove(id);
    if (this.get(id)?.at !== at || !this.isPinned(id)) this.pin({ at, id });
  }

  /** An instance left memory; `at` is the due time of its stored entry. */
  sleep(id: string, at: number | undefined): void {
    this.remove(id);
    if (at !== undefined) this.add({ at, id });
  }
}

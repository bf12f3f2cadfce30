import { DueIndex } from '../../../kernel/due-index.ts';
import type { InstanceStore } from '../storage/instance-store.ts';

/** When there is something to do for an instance. */
export interface DueInstance {
  readonly at: number;
  readonly id: string;
}

const PAGE_SIZE = 1_000;

/** When instances have something to do: those in memory, and of all others the earliest. */
export class DueInstances extends DueIndex<DueInstance> {
  /** @param isOurs - whether an instance concerns this host and is not in memory */
  constructor(store: InstanceStore, isOurs: (id: string) => boolean) {
    super({
      idOf: ({ id }) => id,
      readAfter: (position, limit) => store.dueAfter(position, limit),
      isWanted: ({ id }) => isOurs(id),
      pageSize: PAGE_SIZE,
    });
  }

  /** An instance in memory has something to do at an instant, or has nothing to do. */
  set(id: string, at: number | undefined): void {
    if (at === undefined) return this.remove(id);
    if (this.get(id)?.at !== at || !this.isPinned(id)) this.pin({ at, id });
  }

  /** An instance is no longer in memory; this is what its entry in the store says. */
  sleep(id: string, at: number | undefined): void {
    this.remove(id);
    if (at !== undefined) this.add({ at, id });
  }
}

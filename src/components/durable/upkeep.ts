import { countEntries } from '../../state/count-entries.ts';
import type { StateStore } from '../../state/store.ts';
import type { Clock, Timer } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import { type AbandonedQueue, MAX_COUNTED, type QueueAccess } from '../queue-access.ts';
import { ABANDONED_AFTER_MS, excessOf, type Retention } from '../retention.ts';
import type { ConsumerGroups, KnownGroup } from './consumer-groups.ts';
import type { EndedGroups } from './ended-groups.ts';
import type { DurableQueue } from './queue.ts';
import type { QueueTable } from './queue-table.ts';

/** How often queues without consumers are checked. */
const INTERVAL_MS = 60_000;

/** The dependencies of {@link Upkeep}. */
export interface UpkeepDeps {
  readonly store: StateStore;
  readonly groups: ConsumerGroups;
  readonly ended: EndedGroups;
  readonly table: QueueTable;
  readonly queues: QueueAccess;
  readonly retention: Retention;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly track: (what: string) => () => void;
}

/**
 * Checks queues without consumers from time to time, on the host that owns them: removes kept dead letters beyond the
 * limits, and reports groups that collect messages without consumers. Goes on with groups that have ended.
 */
export class Upkeep {
  readonly #deps: UpkeepDeps;
  #timer: Timer | undefined;
  #isClosed = false;
  /** Abandoned queues, by the prefix of their keys. */
  #abandoned: ReadonlyMap<string, AbandonedQueue> = new Map();

  constructor(deps: UpkeepDeps) {
    this.#deps = deps;
  }

  /** Queues without consumers that collect messages, as of the last check. */
  get abandoned(): readonly AbandonedQueue[] {
    return [...this.#abandoned.values()];
  }

  start(): void {
    if (this.#isClosed) return;
    this.#timer = this.#deps.clock.setTimeout(() => {
      const done = this.#deps.track('checking queues without consumers');
      void this.#checkQueues()
        .catch((error: unknown) => this.#deps.logger.error({ error }, 'queues without consumers could not be checked'))
        .finally(() => {
          this.start();
          done();
        });
    }, INTERVAL_MS);
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  async #checkQueues(): Promise<void> {
    const { groups, table, ended } = this.#deps;
    // Another host may have died before it came to the end of it.
    await ended.finish();
    const abandoned = new Map<string, AbandonedQueue>();
    for (const known of groups.list()) {
      const queue = table.find(known);
      if (queue === undefined || queue.hasConsumers || !queue.shard.isOwned) continue;
      if (known.keeps) await this.#limit(known, queue);
      else await this.#note(known, queue, abandoned);
    }
    this.#abandoned = abandoned;
  }

  async #note(
    { topic, group }: KnownGroup,
    { layout, lease }: DurableQueue,
    abandoned: Map<string, AbandonedQueue>,
  ): Promise<void> {
    const { store, logger } = this.#deps;
    if (!lease.isIdle || lease.unservedMs < ABANDONED_AFTER_MS) return;
    const counts = [layout.readyRange, layout.delayedRange].map((range) => countEntries(store, range, MAX_COUNTED));
    const messages = (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
    if (messages === 0) return;
    abandoned.set(layout.readyPrefix, { topic, group, messages });
    if (!this.#abandoned.has(layout.readyPrefix))
      logger.warn(
        { topic, group, messages },
        'a group has collected messages for ten minutes without a subscription: remove it if nobody needs it',
      );
  }

  async #limit(known: KnownGroup, { layout }: DurableQueue): Promise<void> {
    const { store, retention, clock, queues, logger } = this.#deps;
    const { topic, group } = known;
    const most = Math.min(retention.maxMessages + MAX_COUNTED, Number.MAX_SAFE_INTEGER);
    const count = await countEntries(store, layout.readyRange, most);
    const [first] = (await queues.read({ topic, group }, { limit: 1 })).entries;
    const isExcess = excessOf(retention, count, clock.now());
    // The first one is the oldest.
    if (first === undefined || !isExcess(first)) return;
    const matches = excessOf(retention, count, clock.now());
    const removed = await queues.discard({ topic, group }, { matches });
    logger.warn({ topic, group, removed }, 'kept dead letters were removed: they are too old or too many');
  }
}

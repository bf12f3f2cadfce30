import { Damages } from '../../state/damages.ts';
import { isConflictError } from '../../state/errors.ts';
import { keyAfter } from '../../state/keys.ts';
import type { PageSize } from '../../state/page.ts';
import { retryOnConflict } from '../../state/retry-on-conflict.ts';
import type { KeyedEntry, KeyRange, StateStore } from '../../state/store.ts';
import type { Logger } from '../../util/logger.ts';
import type { ConsumerGroups } from './consumer-groups.ts';
import type { EndedGroup, GroupName } from './group-record.ts';
import type { Layout, QueueLayout } from './layout.ts';

/** The most messages, and about the most bytes, that one commit moves or removes. */
const PORTION: PageSize = { limit: 1_000, maxBytes: 8 * 1024 * 1024 };

/** Max tries of a change of groups while concurrent changes conflict with it. */
export const MAX_TRIES = 100;

/** The dependencies of {@link EndedGroups}. */
export interface EndedGroupsDeps {
  readonly store: StateStore;
  readonly groups: ConsumerGroups;
  readonly layout: Layout;
  readonly logger: Logger;
  /** Ready messages were written for a group, from this key on. */
  readonly onMoved: (group: GroupName, key: string) => void;
}

/**
 * Moves or removes the messages of groups that have ended, then their entries. The first host that comes to it does it,
 * also after a crash in the middle: every commit requires the group's entry, and the messages as they were read.
 */
export class EndedGroups {
  readonly #deps: EndedGroupsDeps;
  readonly #damages: Damages;
  readonly #running = new Map<string, Promise<void>>();

  constructor(deps: EndedGroupsDeps) {
    this.#deps = deps;
    this.#damages = new Damages(deps.logger, 'a stored message cannot be read: it stays in the store');
  }

  /** Resolves when nothing is left of the ended groups of a topic, or of all topics. */
  async finish(topic?: string): Promise<void> {
    const ended = this.#deps.groups.ended.filter((one) => topic === undefined || one.topic === topic);
    await Promise.all(ended.map((one) => this.#once(one)));
  }

  #once(ended: EndedGroup): Promise<void> {
    const { key } = ended.entry;
    const running = this.#running.get(key) ?? this.#finish(ended).finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return running;
  }

  async #finish(ended: EndedGroup): Promise<void> {
    const { groups } = this.#deps;
    let left: EndedGroup | undefined = ended;
    await retryOnConflict(MAX_TRIES, async () => {
      if (left === undefined) return;
      try {
        await this.#remove(left);
      } catch (error) {
        if (!isConflictError(error)) throw error;
        // Another host was faster, or has changed messages.
        await groups.reload();
        left = groups.ended.find(({ entry }) => entry.key === ended.entry.key);
        throw error;
      }
    });
  }

  async #remove(ended: EndedGroup): Promise<void> {
    const { store, groups, layout } = this.#deps;
    const queue = layout.queue(ended.topic, ended.group);
    for (const range of [queue.readyRange, queue.delayedRange]) await this.#empty(ended, range);
    const consumers = (await store.scan(queue.consumersRange)).map(({ key }) => key);
    const { delegate, recall, paused, collector, rate } = queue;
    const rest = [ended.entry.key, delegate, recall, paused, collector, rate, ...consumers];
    await store.commit({ require: [ended.entry], delete: rest });
    groups.gone(ended);
  }

  async #empty(ended: EndedGroup, range: KeyRange): Promise<void> {
    const { store, layout, onMoved } = this.#deps;
    for (let { from } = range; ; ) {
      const found = await store.scan({ ...range, ...PORTION, from });
      const last = found.at(-1);
      if (last === undefined) return;
      // Damaged messages cannot be moved: they stay.
      const entries = ended.heir === undefined ? found : this.#damages.intact(found);
      if (entries.length < found.length) from = keyAfter(last.key);
      if (entries.length === 0) continue;
      const put = this.#forHeir(ended, entries);
      const require = [ended.entry, ...entries.map(({ key, version }) => ({ key, version }))];
      await store.commit({ require, put, delete: entries.map(({ key }) => key) });
      if (ended.heir !== undefined && put[0]?.key.startsWith(layout.readyPrefix))
        onMoved({ topic: ended.topic, group: ended.heir }, put[0].key);
    }
  }

  #forHeir({ topic, group, heir }: EndedGroup, entries: readonly KeyedEntry[]): readonly KeyedEntry[] {
    const { groups, layout } = this.#deps;
    if (heir === undefined || groups.find({ topic, group: heir }) === undefined) return [];
    const from = layout.queue(topic, group);
    const to = layout.queue(topic, heir);
    return entries.map((entry) => ({ ...entry, key: movedKey(entry.key, from, to) }));
  }
}

/** The key of an entry's place in the queue of another group. */
function movedKey(key: string, from: QueueLayout, to: QueueLayout): string {
  const number = from.numberOf(key);
  return key.startsWith(from.readyPrefix) ? to.ready(number) : to.delayed(from.dueAtOf(key), number);
}

import type { TopicPatterns } from '../topic-patterns.ts';
import type { GroupName } from './group-record.ts';
import { Layout, type QueueLayout } from './layout.ts';
import type { DurableQueue } from './queue.ts';

/** The dependencies of a {@link QueueTable}. */
export interface QueueTableDeps {
  readonly layout: Layout;
  readonly patterns: TopicPatterns;
  readonly make: (name: GroupName, layout: QueueLayout) => DurableQueue;
  /** A queue is gone. */
  readonly onGone: (layout: QueueLayout) => void;
}

/** The queues of the groups, by their names and by their keys. */
export class QueueTable {
  readonly #deps: QueueTableDeps;
  readonly #topics = new Map<string, Map<string, DurableQueue>>();
  /** Queues by the prefix of their ready keys. */
  readonly #queues = new Map<string, DurableQueue>();

  constructor(deps: QueueTableDeps) {
    this.#deps = deps;
  }

  /** The queues that get what is published to a topic; `undefined` if there are none. */
  of(topic: string): ReadonlyMap<string, DurableQueue> | undefined {
    const own = this.#topics.get(topic);
    const patterns = this.#deps.patterns.of(topic);
    if (patterns.length === 0) return own;
    // A group may have a subscription to the topic and one with wildcards.
    const all = new Map(own);
    for (const pattern of patterns)
      for (const [group, queue] of this.#topics.get(pattern) ?? []) all.set(JSON.stringify([pattern, group]), queue);
    return all;
  }

  find({ topic, group }: GroupName): DurableQueue | undefined {
    return this.#topics.get(topic)?.get(group);
  }

  /** The queue of a ready message's key. */
  ofKey(key: string): DurableQueue | undefined {
    return this.#queues.get(Layout.queueOf(key));
  }

  all(): Iterable<DurableQueue> {
    return this.#queues.values();
  }

  /** The queue of a group, new if there was none. */
  obtain(name: GroupName): DurableQueue {
    const existing = this.find(name);
    if (existing !== undefined) return existing;
    const { topic, group } = name;
    const layout = this.#deps.layout.queue(topic, group);
    const queue = this.#queues.get(layout.readyPrefix) ?? this.#deps.make(name, layout);
    this.#queues.set(layout.readyPrefix, queue);
    const groups = this.#topics.get(topic);
    if (groups === undefined) this.#topics.set(topic, new Map([[group, queue]]));
    else groups.set(group, queue);
    this.#deps.patterns.add(topic);
    return queue;
  }

  /** The group has ended. Answers whether its queue has consumers here, which stay. */
  drop(name: GroupName): boolean {
    const queue = this.find(name);
    const groups = this.#topics.get(name.topic);
    groups?.delete(name.group);
    if (groups?.size === 0) {
      this.#topics.delete(name.topic);
      this.#deps.patterns.delete(name.topic);
    }
    if (queue === undefined || queue.hasConsumers) return queue !== undefined;
    this.#queues.delete(queue.layout.readyPrefix);
    this.#deps.onGone(queue.layout);
    return false;
  }
}

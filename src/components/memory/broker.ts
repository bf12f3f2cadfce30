import type { Expected } from '../../util/expected.ts';
import type { Broker } from '../broker-access.ts';
import type { ComponentContext } from '../component.ts';
import type { ComponentSubscription, ConsumerOptions, Message, PublishFailure } from '../pubsub.ts';
import type { GroupQueue, QueueAccess } from '../queue-access.ts';
import { excessOf, type Retention } from '../retention.ts';
import { StartupPeriod } from '../startup-period.ts';
import { TopicPatterns, type TopicWildcards } from '../topic-patterns.ts';
import { MemoryGroup } from './group.ts';
import { MemoryQueues } from './memory-queues.ts';

/** Limits of the messages held. */
export interface BrokerLimits {
  readonly maxMessages: number;
  readonly maxBytes: number;
  readonly wildcards: TopicWildcards;
  /** Of kept dead letters. */
  readonly retention: Retention;
}

/** The messages held now, in all groups. */
export interface HeldMessages {
  messages: number;
  bytes: number;
}

/** A message of the startup period, with the context of its publisher. */
interface KeptMessage {
  readonly message: Message;
  readonly number: number;
  readonly context: ComponentContext;
}

/** How often all kept dead letters of a topic are looked at for their age, at most. */
const LOOK_MS = 1_000;

const NO_FAILURES: Promise<readonly PublishFailure[]> = Promise.resolve([]);

/** The topics of one memory component and the groups that receive them. */
export class MemoryBroker implements Broker {
  readonly #limits: BrokerLimits;
  readonly #held: HeldMessages = { messages: 0, bytes: 0 };
  readonly #topics = new Map<string, Map<string, MemoryGroup>>();
  readonly #patterns: TopicPatterns;
  readonly #startup: StartupPeriod;
  /** Messages published in the startup period, by topic, in order. */
  readonly #kept = new Map<string, KeptMessage[]>();
  readonly queues: QueueAccess;
  /** How many messages were published. */
  #number = 0;

  constructor(pubsubName: string, limits: BrokerLimits, expected: Expected) {
    this.#limits = limits;
    this.#patterns = new TopicPatterns(limits.wildcards);
    this.#startup = new StartupPeriod({ pubsubName, expected, onEnd: () => this.#dropKept() });
    this.queues = new MemoryQueues({
      list: () => this.#list(),
      find: (queue) => this.#topics.get(queue.topic)?.get(queue.group),
      obtain: (queue) => this.#obtain(queue),
      drop: (queue) => this.#drop(queue),
      nextNumber: () => ++this.#number,
    });
  }

  /**
   * Adds each message to every group of its topic. In the startup period it is also kept for later groups; otherwise,
   * without groups, it is lost.
   */
  publish(messages: readonly Message[], context: ComponentContext): Promise<readonly PublishFailure[]> {
    let failures: PublishFailure[] | undefined;
    for (let index = 0; index < messages.length; index++) {
      const message = messages[index];
      if (message === undefined) continue;
      const error = this.#refusal(message, context);
      if (error !== undefined) {
        failures ??= [];
        failures.push({ index, error });
        continue;
      }
      if (message.deadLetter !== undefined && !this.#hasGroup(message.topic)) this.#addKeeper(message, context);
      // Not earlier: to make room, groups may have been dropped.
      const groups = this.#topics.get(message.topic);
      const number = ++this.#number;
      if (groups !== undefined) for (const group of groups.values()) group.add(message, number);
      const patterns = this.#patterns.of(message.topic);
      for (const pattern of patterns)
        for (const group of this.#topics.get(pattern)?.values() ?? []) group.add(message, number);
      if (message.deadLetter !== undefined) this.#limitKept(message.topic, context);
      const isKept = this.#startup.isOpen && !hasKeeper(groups) && this.#keep(message, number, context);
      if (groups === undefined && patterns.length === 0 && !isKept) context.noGroup?.(message.topic, 1);
    }
    return failures === undefined ? NO_FAILURES : Promise.resolve(failures);
  }

  #hasGroup(topic: string): boolean {
    return this.#topics.has(topic) || this.#patterns.of(topic).length > 0;
  }

  /** Dead letters are kept even without a subscription to their topic. */
  #addKeeper({ topic }: Message, { appId, logger }: ComponentContext): void {
    this.#obtain({ topic, group: appId }).keeps = true;
    logger.warn({ topic, group: appId }, 'nobody has subscribed to the topic of a dead letter: it is kept');
  }

  /** Removes kept dead letters that are too old or too many. */
  #limitKept(topic: string, { clock, logger }: ComponentContext): void {
    for (const [group, held] of this.#topics.get(topic) ?? []) {
      if (!held.keeps) continue;
      const removed = this.#dropExcess(held, clock.now());
      if (removed > 0)
        logger.warn({ topic, group, removed }, 'kept dead letters were removed: they are too old or too many');
    }
  }

  /** Looks at the first messages, the oldest: to look at all takes long if it is done for each message. */
  #dropExcess(held: MemoryGroup, now: number): number {
    const { retention } = this.#limits;
    const dropped = held.dropFirst(excessOf(retention, held.waiting.ready, now));
    // A message that is not too old may stand before one that is.
    if (retention.maxAgeMs === Number.POSITIVE_INFINITY || Math.abs(now - held.lookedAt) < LOOK_MS) return dropped;
    held.lookedAt = now;
    return dropped + held.extract(excessOf(retention, held.waiting.ready, now)).length;
  }

  #keep(message: Message, number: number, context: ComponentContext): boolean {
    if (!this.#startup.takes(message.data.length, context)) return false;
    const kept = this.#kept.get(message.topic);
    if (kept === undefined) this.#kept.set(message.topic, [{ message, number, context }]);
    else kept.push({ message, number, context });
    return true;
  }

  /** All expected groups exist and have received the kept messages. */
  #dropKept(): void {
    for (const [topic, kept] of this.#kept)
      if (!this.#hasGroup(topic)) for (const { context } of kept) context.noGroup?.(topic, 1);
    this.#kept.clear();
  }

  /**
   * Adds a consumer to a group, which exists from then on. A new group of an expected application starts with the kept
   * messages.
   */
  async subscribe(options: ConsumerOptions, { clock, subscriber }: ComponentContext): Promise<ComponentSubscription> {
    const { topic, group: name } = options;
    const isNew = this.#topics.get(topic)?.get(name)?.keeps !== false;
    const group = this.#obtain({ topic, group: name });
    if (isNew && subscriber?.isExpected)
      for (const { message, number } of this.#keptFor(topic)) group.add(message, number);
    return group.join(options, clock);
  }

  /** In order of publication. */
  #keptFor(subscribed: string): readonly KeptMessage[] {
    this.#patterns.add(subscribed);
    const kept = [...this.#kept].filter(([topic]) => this.#patterns.matches(subscribed, topic));
    return kept.flatMap(([, messages]) => messages).sort((one, other) => one.number - other.number);
  }

  /** The group, new if there was none. It takes the dead letters over that were kept for it. */
  #obtain({ topic, group: name }: GroupQueue): MemoryGroup {
    const groups = this.#topics.get(topic) ?? new Map<string, MemoryGroup>();
    this.#topics.set(topic, groups);
    this.#patterns.add(topic);
    const group = groups.get(name) ?? new MemoryGroup(this.#held);
    group.keeps = false;
    for (const [other, keeper] of groups) {
      if (!keeper.keeps) continue;
      group.takeOver(keeper);
      groups.delete(other);
    }
    groups.set(name, group);
    return group;
  }

  #drop({ topic, group }: GroupQueue): void {
    const groups = this.#topics.get(topic);
    groups?.delete(group);
    if (groups?.size !== 0) return;
    this.#topics.delete(topic);
    this.#patterns.delete(topic);
  }

  #list(): readonly (GroupQueue & { readonly held: MemoryGroup })[] {
    return [...this.#topics].flatMap(([topic, groups]) => [...groups].map(([group, held]) => ({ topic, group, held })));
  }

  async flushed(): Promise<void> {}

  left(context: ComponentContext): void {
    this.#startup.left(context);
  }

  /** A dead letter always has room: it takes the place of the message it comes from, which is settled only then. */
  #refusal(message: Message, context: ComponentContext): Error | undefined {
    if (message.deadLetter !== undefined || this.#fits(message)) return undefined;
    this.#dropAbandoned(context);
    if (this.#fits(message)) return undefined;
    const { messages, bytes } = this.#held;
    const { maxMessages, maxBytes } = this.#limits;
    const kept = this.#list().reduce((sum, { held }) => sum + (held.keeps ? held.waiting.ready : 0), 0);
    return new Error(
      `the queue in memory is full: ${messages} messages of ${maxMessages} and ${bytes} bytes of ${maxBytes} are held; ` +
        'it takes more when subscribers have settled some' +
        (kept === 0 ? '' : `, or ${kept} dead letters that nobody has subscribed to are processed or removed`),
    );
  }

  #fits({ topic, data }: Message): boolean {
    let copies = this.#topics.get(topic)?.size ?? 0;
    for (const pattern of this.#patterns.of(topic)) copies += this.#topics.get(pattern)?.size ?? 0;
    if (copies === 0) return true;
    const { messages, bytes } = this.#held;
    return messages + copies <= this.#limits.maxMessages && bytes + copies * data.length <= this.#limits.maxBytes;
  }

  /** A group without consumers must not block publishers. Kept dead letters have a limit of their own. */
  #dropAbandoned(context: ComponentContext): void {
    for (const { held, ...queue } of this.#list()) {
      if (held.hasConsumers) continue;
      if (held.keeps) {
        this.#limitKept(queue.topic, context);
        continue;
      }
      this.#drop(queue);
      const details = { ...queue, dropped: held.clear() };
      context.logger.warn(details, 'queue in memory is full: group without consumers dropped');
    }
  }
}

function hasKeeper(groups: ReadonlyMap<string, MemoryGroup> | undefined): boolean {
  for (const { keeps } of groups?.values() ?? []) if (keeps) return true;
  return false;
}

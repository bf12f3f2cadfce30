import { workplaceOf } from '../../cluster/workplace-of.ts';
import { CommitBatcher } from '../../kernel/commit-batcher.ts';
import { OwnedShards } from '../../kernel/owned-shards.ts';
import { retryOnConflict } from '../../state/retry-on-conflict.ts';
import type { Precondition, StateStore } from '../../state/store.ts';
import type { Broker } from '../broker-access.ts';
import type { ComponentContext } from '../component.ts';
import type { ComponentSubscription, Message, PublishFailure, SubscribeOptions } from '../pubsub.ts';
import type { QueueAccess } from '../queue-access.ts';
import type { DeadLetterRetention } from '../retention.ts';
import type { TopicPatterns } from '../topic-patterns.ts';
import { Backlogs } from './backlog.ts';
import { encodeQueued } from './codec.ts';
import { ConsumerGroups } from './consumer-groups.ts';
import { Delegates } from './delegates.ts';
import { DurableQueues } from './durable-queues.ts';
import { EndedGroups, MAX_TRIES } from './ended-groups.ts';
import type { GroupName } from './group-record.ts';
import { Layout, type QueueLayout } from './layout.ts';
import { MAX_BYTES, noFailures, refusalOf, refuse, tooLarge } from './publish-errors.ts';
import { DurableQueue } from './queue.ts';
import { QueueTable } from './queue-table.ts';
import { SequenceAllocator } from './sequence-allocator.ts';
import { StartupMessages } from './startup-messages.ts';
import { Upkeep } from './upkeep.ts';

const NO_QUEUES: readonly DurableQueue[] = [];

/** The settings of a component. */
export interface BrokerSettings {
  readonly maxQueueMessages: number;
  readonly retention: Required<DeadLetterRetention>;
  readonly patterns: TopicPatterns;
}

/** One durable pub/sub component in one store: its groups, numbers and publishes. */
export class DurableBroker implements Broker {
  readonly #store: StateStore;
  readonly #component: string;
  readonly #layout: Layout;
  readonly #commits: CommitBatcher;
  readonly #owned: OwnedShards;
  readonly #context: ComponentContext;
  readonly #groups: ConsumerGroups;
  readonly #numbers: SequenceAllocator;
  readonly #ended: EndedGroups;
  readonly #startup: StartupMessages;
  readonly #delegates: Delegates;
  readonly #table: QueueTable;
  readonly queues: QueueAccess;
  readonly #backlogs: Backlogs | undefined;
  readonly #upkeep: Upkeep;

  private constructor(component: string, context: ComponentContext, settings: BrokerSettings) {
    const { maxQueueMessages, retention, patterns } = settings;
    const { state, clock, shards, logger, track } = context;
    this.#store = state;
    this.#component = component;
    this.#layout = new Layout(component);
    this.#commits = new CommitBatcher(state);
    this.#owned = new OwnedShards(shards, 'always');
    this.#context = context;
    this.#groups = new ConsumerGroups(state, this.#layout, {
      onGroup: (name) => this.#table.obtain(name),
      onGone: (name) => this.#table.drop(name) && this.#recreateGroup(name),
    });
    this.#numbers = new SequenceAllocator(state, this.#layout.sequence(), clock);
    const [commits, groups, layout] = [this.#commits, this.#groups, this.#layout];
    const onMoved = (name: GroupName, key: string): void => this.#table.find(name)?.noticeKey(key);
    this.#ended = new EndedGroups({ store: state, groups, layout, logger, onMoved });
    this.#startup = new StartupMessages({ component, store: state, commits, layout, groups, patterns, context });
    const [owned, hosts] = [this.#owned, shards?.hosts];
    this.#delegates = new Delegates({ groups, commits, owned, hosts, clock, logger, track });
    const make = (name: GroupName, of: QueueLayout): DurableQueue => this.#makeQueue(name, of);
    this.#table = new QueueTable({ layout, patterns, make, onGone: (of) => this.#delegates.forget(of) });
    const [ended, numbers, table] = [this.#ended, this.#numbers, this.#table];
    this.queues = new DurableQueues({
      ...{ store: state, commits, groups, ended, numbers, table },
      now: () => clock.now(),
      addGroup: (name) => this.#addGroup(name, false),
      reviewLeases: () => this.#delegates.review(true),
      abandoned: () => this.#upkeep.abandoned,
    });
    this.#backlogs =
      maxQueueMessages === Number.POSITIVE_INFINITY
        ? undefined
        : new Backlogs({ store: state, commits, numbers, clock, limit: maxQueueMessages });
    this.#upkeep = new Upkeep({
      ...{ store: state, groups, ended, table, queues: this.queues, retention, clock, logger, track },
    });
  }

  /** Opens the broker and reads its groups. While the state does not work, it knows none, and each publish reads them. */
  static async open(component: string, context: ComponentContext, settings: BrokerSettings): Promise<DurableBroker> {
    const broker = new DurableBroker(component, context, settings);
    broker.#follow();
    await (context.begin?.(`the groups of ${component}`, () => broker.#read()) ?? broker.#read());
    broker.#upkeep.start();
    return broker;
  }

  async #read(): Promise<void> {
    await this.#delegates.read();
    await this.#startup.inherit();
    this.#finishEnded();
  }

  /** Follows the changes of other hosts. */
  #follow(): void {
    this.#numbers.areShared = this.#store.isExclusive !== true && this.#context.shards !== undefined;
    this.#owned.onChange(({ gained, lost }) => {
      for (const queue of this.#table.all()) {
        if (gained.has(queue.shard)) queue.lease.onGained();
        if (lost.has(queue.shard)) void queue.handOver();
      }
      if (gained.size > 0) this.#delegates.review(true);
    });
    this.#delegates.follow();
    this.#owned.watch(this.#layout.groupPrefix, (keys) => {
      if (keys.length > 0) this.#groups.mayBeOutdated = true;
      this.#delegates.onChange(keys.length > 0);
    });
    this.#owned.watch(this.#layout.readyPrefix, (keys) => {
      this.#numbers.areShared = true;
      if (keys.length === 0) for (const queue of this.#table.all()) queue.rescan();
      for (const key of keys) this.#table.ofKey(key)?.noticeKey(key);
    });
  }

  /** Each message goes to all its groups or to none. Publishes of one turn of the event loop share a commit. */
  publish(messages: readonly Message[], { appId }: ComponentContext): Promise<readonly PublishFailure[]> {
    return this.#isPrepared(messages) ? this.#publishAll(messages, appId) : this.#publishPrepared(messages, appId);
  }

  async #publishPrepared(messages: readonly Message[], appId: string): Promise<readonly PublishFailure[]> {
    // No await may come between this check and the use of numbers and groups.
    while (!this.#isPrepared(messages)) await this.#prepare(messages, appId).catch(refuse);
    return this.#publishAll(messages, appId);
  }

  /** No async functions for one message: they take memory for each one that waits for the disk. */
  #publishAll(messages: readonly Message[], appId: string): Promise<readonly PublishFailure[]> {
    const [only] = messages;
    if (messages.length === 1 && only !== undefined) return this.#publishOne(only, appId).then(noFailures, refuse);
    return this.#publishEach(messages, appId);
  }

  async #publishEach(messages: readonly Message[], appId: string): Promise<readonly PublishFailure[]> {
    const results = await Promise.allSettled(messages.map((message) => this.#publishOne(message, appId)));
    return results.flatMap((result, index) =>
      result.status === 'rejected' ? [{ index, error: refusalOf(result.reason) }] : [],
    );
  }

  #isPrepared(messages: readonly Message[]): boolean {
    if (this.#groups.mayBeOutdated || !this.#numbers.has(messages.length)) return false;
    if (messages.some((message) => this.#needsKeeper(message))) return false;
    return this.#backlogs === undefined || this.#backlogs.know(this.#queuesOf(messages), messages.length);
  }

  #queuesOf(messages: readonly Message[]): readonly DurableQueue[] {
    return messages.flatMap(({ topic }) => [...(this.#table.of(topic)?.values() ?? NO_QUEUES)]);
  }

  async #prepare(messages: readonly Message[], appId: string): Promise<void> {
    if (this.#groups.mayBeOutdated) await this.#groups.read();
    if (!this.#numbers.has(messages.length)) await this.#numbers.reserve(messages.length);
    for (const message of messages) if (this.#needsKeeper(message)) await this.#addKeeper(message.topic, appId);
    await this.#backlogs?.count(this.#queuesOf(messages), messages.length);
  }

  /** Whether it is a dead letter on a topic without groups, which would be lost. */
  #needsKeeper({ deadLetter, topic }: Message): boolean {
    return deadLetter !== undefined && this.#table.of(topic) === undefined;
  }

  async #addKeeper(topic: string, group: string): Promise<void> {
    await this.#ended.finish(topic);
    if (!(await this.#groups.addKeeper({ topic, group }))) return;
    this.#context.logger.warn({ topic, group }, 'nobody has subscribed to the topic of a dead letter: it is kept');
  }

  #publishOne(message: Message, appId: string): Promise<unknown> {
    const groups = this.#table.of(message.topic);
    const { guard } = this.#groups;
    if (groups === undefined && !this.#startup.isOpen) return this.#publishWithoutGroups(message, appId);
    const value = encodeQueued({ message, attempts: 0 });
    if (value.length > MAX_BYTES && message.deadLetter !== undefined) {
      // The message fitted without its origin, and a dead letter must not be refused.
      const { deadLetter: _origin, ...rest } = message;
      return this.#publishOne(rest, appId);
    }
    if (value.length > MAX_BYTES) return Promise.reject(tooLarge(value.length));
    // A dead letter must not be refused.
    const full = message.deadLetter === undefined ? groups && this.#backlogs?.reserve(groups) : undefined;
    if (full !== undefined) return Promise.reject(full);
    const number = this.#numbers.next();
    const queues = groups === undefined ? NO_QUEUES : [...groups.values()];
    const put = queues.map((queue) => ({ key: queue.beginPublish(number), value }));
    const keptKey = this.#mayKeep(message) ? this.#startup.keep(message.topic, number, value.length) : undefined;
    if (keptKey !== undefined) put.push({ key: keptKey, value });
    else if (groups === undefined) return this.#publishWithoutGroups(message, appId);
    const onDurable = (): void => {
      for (const [at, { key }] of put.entries()) queues[at]?.onPublished(message, number, key);
    };
    return this.#commits.commit({ put, fence: guard, onDurable }).catch((error: unknown) => {
      for (const [at, { key }] of put.entries()) queues[at]?.onPublishFailed(key);
      if (keptKey !== undefined) this.#startup.notKept(keptKey);
      return this.#publishAgain(message, appId, guard, error);
    });
  }

  /** In the startup period, a message is kept for groups to come; those get dead letters from the group that keeps them. */
  #mayKeep({ topic }: Message): boolean {
    return this.#startup.isOpen && this.#groups.keeperOf(topic) === undefined;
  }

  /** Handles a message on a topic without known groups. */
  async #publishWithoutGroups(message: Message, appId: string): Promise<void> {
    const { guard } = this.#groups;
    // Another process may have added a group unnoticed: check in the store.
    if (this.#store.isExclusive !== true && this.#context.shards !== undefined) {
      try {
        await this.#commits.commit({ fence: guard });
      } catch (error) {
        return this.#publishAgain(message, appId, guard, error);
      }
    }
    this.#context.noGroup?.(message.topic, 1);
  }

  /** Publishes a message again if a group was added to which it has to go as well. */
  async #publishAgain(message: Message, appId: string, guard: Precondition, error: unknown): Promise<void> {
    await this.#groups.refused(guard, error);
    while (!this.#isPrepared([message])) await this.#prepare([message], appId);
    await this.#publishOne(message, appId);
  }

  /**
   * Joins a group. The group exists from then on and collects messages, with or without consumers. A new group of an
   * expected application begins with the messages that were kept for it.
   */
  async subscribe(options: SubscribeOptions, context: ComponentContext): Promise<ComponentSubscription> {
    const { topic, group } = options;
    do {
      await this.#addGroup({ topic, group }, context.subscriber?.isExpected === true);
      await this.#startup.fill({ topic, group });
      // Dead letters that were kept for it, before any message is handed out.
      await this.#ended.finish(topic);
      // No await may come between this check and the join: the group may be removed meanwhile.
    } while (this.#groups.find({ topic, group }) === undefined);
    return this.#table.obtain({ topic, group }).join(options, context.clock);
  }

  #addGroup(name: GroupName, isUnfilled: boolean): Promise<boolean> {
    // It may have just ended.
    return retryOnConflict(MAX_TRIES, async () => {
      await this.#ended.finish(name.topic);
      return this.#groups.add(name, isUnfilled);
    });
  }

  /** Another host, or this one before a crash, may not have come to the end of it. */
  #finishEnded(): void {
    const { track, logger } = this.#context;
    const done = track('removing groups that have ended');
    const failed = (error: unknown): void =>
      logger.error({ error }, 'the messages of a group that has ended could not be removed: will be tried again');
    void this.#ended.finish().catch(failed).finally(done);
  }

  /** Resolves once all settlements are durable or have failed. */
  async flushed(): Promise<void> {
    await this.#startup.dropped();
    await this.#delegates.settled();
    await Promise.all([...this.#table.all()].map((queue) => queue.recorded()));
    await this.#commits.flushed();
  }

  left(): void {
    this.#startup.close();
    this.#delegates.close();
    this.#upkeep.close();
  }

  #makeQueue({ topic, group }: GroupName, layout: QueueLayout): DurableQueue {
    const { logger, track } = this.#context;
    const shard = this.#owned.of(JSON.stringify([this.#component, topic, group]));
    const workplace = workplaceOf(this.#context, 'messages', this.#component, topic, group);
    const [store, commits] = [this.#store, this.#commits];
    const lease = this.#delegates.leaseOf(layout, shard);
    return new DurableQueue({ store, commits, layout, topic, lease, shard, workplace, logger, track });
  }

  /** A group has ended that has consumers here, which would wait for messages in vain. */
  #recreateGroup(name: GroupName): void {
    const { logger, track } = this.#context;
    logger.warn({ ...name }, 'a group was removed while it has consumers here: it begins anew');
    const done = track('adding a group that was removed');
    const failed = (error: unknown): void => logger.error({ ...name, error }, 'the group could not be added again');
    void this.#addGroup(name, false).catch(failed).finally(done);
  }
}

import { workplaceOf } from '../../cluster/workplace-of.ts';
import { CommitBatcher } from '../../kernel/commit-batcher.ts';
import { OwnedShards } from '../../kernel/owned-shards.ts';
import { retryOnConflict } from '../../state/retry-on-conflict.ts';
import type { StateStore } from '../../state/store.ts';
import type { Broker } from '../broker-access.ts';
import type { ComponentContext } from '../component.ts';
import type { MessageCommits } from '../message-commits.ts';
import type { ComponentSubscription, ConsumerOptions, Message, PublishFailure } from '../pubsub.ts';
import type { QueueAccess } from '../queue-access.ts';
import type { Retention } from '../retention.ts';
import type { TopicPatterns } from '../topic-patterns.ts';
import { Backlogs } from './backlog.ts';
import { ConsumerGroups } from './consumer-groups.ts';
import { Delegates } from './delegates.ts';
import { DurableQueues } from './durable-queues.ts';
import { EndedGroups, MAX_TRIES } from './ended-groups.ts';
import type { GroupName } from './group-record.ts';
import { Layout, type QueueLayout } from './layout.ts';
import { DurableQueue } from './queue.ts';
import { QueuePublisher } from './queue-publisher.ts';
import { QueueTable } from './queue-table.ts';
import { SequenceAllocator } from './sequence-allocator.ts';
import { StartupMessages } from './startup-messages.ts';
import { Upkeep } from './upkeep.ts';

/** The settings of a component. */
export interface BrokerSettings {
  readonly maxQueueMessages: number;
  readonly retention: Retention;
  readonly patterns: TopicPatterns;
}

/** One durable pub/sub component in one store: its groups and their queues. */
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
  readonly #publisher: QueuePublisher;
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
    this.#numbers = new SequenceAllocator(state, this.#layout.sequence(), clock, shards !== undefined);
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
    const backlogs =
      maxQueueMessages === Number.POSITIVE_INFINITY
        ? undefined
        : new Backlogs({ store: state, commits, numbers, clock, limit: maxQueueMessages });
    const startup = this.#startup;
    this.#publisher = new QueuePublisher({
      ...{ store: state, commits, groups, ended, numbers, table, startup, backlogs, context },
    });
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
      this.#numbers.meet();
      if (keys.length === 0) for (const queue of this.#table.all()) queue.rescan();
      for (const key of keys) this.#table.ofKey(key)?.noticeKey(key);
    });
  }

  /** Each message goes to all its groups or to none. */
  publish(messages: readonly Message[], { appId }: ComponentContext): Promise<readonly PublishFailure[]> {
    return this.#publisher.publish(messages, appId);
  }

  commitsFor({ appId }: ComponentContext): MessageCommits {
    const [store, publisher] = [this.#store, this.#publisher];
    return { store, commitWith: (messages, batch) => publisher.commitWith(messages, batch, appId) };
  }

  /**
   * Joins a group. The group exists from then on and collects messages, with or without consumers. A new group of an
   * expected application begins with the messages that were kept for it.
   */
  async subscribe(options: ConsumerOptions, context: ComponentContext): Promise<ComponentSubscription> {
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

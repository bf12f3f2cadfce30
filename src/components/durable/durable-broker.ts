import { workplaceOf } from '../../cluster/workplace-of.ts';
import { CommitBatcher } from '../../kernel/commit-batcher.ts';
import { OwnedShards } from '../../kernel/owned-shards.ts';
import { isConflict, isStateError, StateError } from '../../state/errors.ts';
import { MAX_VALUE_BYTES, type StateStore } from '../../state/store.ts';
import type { Broker } from '../broker-access.ts';
import type { ComponentContext } from '../component.ts';
import type { ComponentSubscription, Message, PublishFailure, SubscribeOptions } from '../pubsub.ts';
import { encodeQueued } from './codec.ts';
import { ConsumerGroups, type GroupName } from './consumer-groups.ts';
import { Layout } from './layout.ts';
import { DurableQueue } from './queue.ts';
import { SequenceAllocator } from './sequence-allocator.ts';
import { StandIns } from './stand-ins.ts';
import { StartupMessages } from './startup-messages.ts';

const NO_FAILURES: readonly PublishFailure[] = [];

/** The longest value of a publish: the fields that a retry adds must still fit into the store's limit. */
const MAX_BYTES = MAX_VALUE_BYTES - 64;

const NO_QUEUES: readonly DurableQueue[] = [];

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
  readonly #startup: StartupMessages;
  readonly #standIns: StandIns;
  readonly #topics = new Map<string, Map<string, DurableQueue>>();
  /** Queues by the prefix of their ready keys. */
  readonly #queues = new Map<string, DurableQueue>();

  private constructor(component: string, context: ComponentContext) {
    const { state, clock, shards, logger, track } = context;
    this.#store = state;
    this.#component = component;
    this.#layout = new Layout(component);
    this.#commits = new CommitBatcher(state);
    this.#owned = new OwnedShards(shards, 'always');
    this.#context = context;
    this.#groups = new ConsumerGroups(state, this.#layout, (name) => this.#addQueue(name));
    this.#numbers = new SequenceAllocator(state, this.#layout.sequence(), clock);
    const [commits, groups, layout] = [this.#commits, this.#groups, this.#layout];
    this.#startup = new StartupMessages({ component, store: state, commits, layout, groups, context });
    const [owned, hosts] = [this.#owned, shards?.hosts];
    this.#standIns = new StandIns({ groups, commits, owned, hosts, clock, logger, track });
  }

  /** Opens the broker and reads its groups. */
  static async open(component: string, context: ComponentContext): Promise<DurableBroker> {
    const broker = new DurableBroker(component, context);
    await broker.#standIns.read();
    await broker.#startup.inherit();
    broker.#follow();
    return broker;
  }

  /** Follows the changes of other hosts. */
  #follow(): void {
    this.#numbers.areShared = this.#store.isExclusive !== true && this.#context.shards !== undefined;
    this.#owned.onChange(({ gained, lost }) => {
      for (const queue of this.#queues.values()) {
        if (gained.has(queue.shard)) queue.gained();
        if (lost.has(queue.shard)) void queue.handOver();
      }
      if (gained.size > 0) this.#standIns.look(true);
    });
    this.#standIns.follow();
    this.#owned.watch(this.#layout.groupPrefix, (keys) => {
      if (keys.length > 0) this.#groups.mayBeOutdated = true;
      this.#standIns.changed(keys.length > 0);
    });
    this.#owned.watch(this.#layout.readyPrefix, (keys) => {
      this.#numbers.areShared = true;
      if (keys.length === 0) for (const queue of this.#queues.values()) queue.look();
      for (const key of keys) this.#queues.get(Layout.queueOf(key))?.look(key);
    });
  }

  /** Each message goes to all its groups or to none. Publishes of one turn of the event loop share a commit. */
  async publish(messages: readonly Message[]): Promise<readonly PublishFailure[]> {
    // No await may come between this check and the use of numbers and groups.
    while (this.#groups.mayBeOutdated || !this.#numbers.has(messages.length)) await this.#prepare(messages.length);
    const [only] = messages;
    if (messages.length === 1 && only !== undefined) {
      try {
        await this.#publishOne(only);
      } catch (error) {
        throw refusalOf(error);
      }
      return NO_FAILURES;
    }
    const results = await Promise.allSettled(messages.map((message) => this.#publishOne(message)));
    return results.flatMap((result, index) =>
      result.status === 'rejected' ? [{ index, error: refusalOf(result.reason) }] : [],
    );
  }

  async #prepare(count: number): Promise<void> {
    if (this.#groups.mayBeOutdated) await this.#groups.read();
    if (!this.#numbers.has(count)) await this.#numbers.reserve(count);
  }

  #publishOne(message: Message): Promise<void> {
    const groups = this.#topics.get(message.topic);
    const { guard } = this.#groups;
    if (groups === undefined && !this.#startup.isOpen) return this.#publishToNobody(message);
    const value = encodeQueued({ message, attempts: 0 });
    if (value.length > MAX_BYTES && message.deadLetter !== undefined) {
      // The message fitted without its origin, and a dead letter must not be refused.
      const { deadLetter: _origin, ...rest } = message;
      return this.#publishOne(rest);
    }
    if (value.length > MAX_BYTES)
      return Promise.reject(
        new StateError('invalid', `The message has ${value.length} bytes: at most ${MAX_BYTES} are kept.`),
      );
    const number = this.#numbers.next();
    const queues = groups === undefined ? NO_QUEUES : [...groups.values()];
    const put = queues.map((queue) => ({ key: queue.publishing(number), value }));
    const keptKey = this.#startup.isOpen ? this.#startup.keep(message.topic, number, value.length) : undefined;
    if (keptKey !== undefined) put.push({ key: keptKey, value });
    else if (groups === undefined) return this.#publishToNobody(message);
    const onDurable = (): void => {
      for (const [at, { key }] of put.entries()) queues[at]?.published(message, number, key);
    };
    return this.#commits.commit({ put, fence: guard, onDurable }).then(settled, (error: unknown) => {
      for (const [at, { key }] of put.entries()) queues[at]?.notPublished(key);
      if (keptKey !== undefined) this.#startup.notKept(keptKey);
      return this.#publishAgain(message, error);
    });
  }

  /** Handles a message on a topic without known groups. */
  async #publishToNobody(message: Message): Promise<void> {
    // Another process may have added a group unnoticed: check in the store.
    if (this.#store.isExclusive !== true && this.#context.shards !== undefined) {
      try {
        await this.#commits.commit({ fence: this.#groups.guard });
      } catch (error) {
        return this.#publishAgain(message, error);
      }
    }
    this.#context.noGroup?.(message.topic, 1);
  }

  /** Publishes a message again if a group was added to which it has to go as well. */
  async #publishAgain(message: Message, error: unknown): Promise<void> {
    if (!isConflict(error)) throw error;
    this.#groups.mayBeOutdated = true;
    while (this.#groups.mayBeOutdated || !this.#numbers.has(1)) await this.#prepare(1);
    await this.#publishOne(message);
  }

  /**
   * Joins a group. The group exists from then on and collects messages, with or without consumers. A new group of an
   * expected application begins with the messages that were kept for it.
   */
  async subscribe(options: SubscribeOptions, context: ComponentContext): Promise<ComponentSubscription> {
    const { topic, group } = options;
    await this.#groups.add({ topic, group }, context.subscriber?.isExpected === true);
    await this.#startup.fill({ topic, group });
    return this.#addQueue({ topic, group }).join(options, context.clock);
  }

  /** Resolves once all settlements are durable or have failed. */
  async flushed(): Promise<void> {
    await this.#startup.dropped();
    await this.#standIns.settled();
    await this.#commits.flushed();
  }

  left(): void {
    this.#startup.close();
    this.#standIns.close();
  }

  #queueOf(topic: string, group: string): DurableQueue | undefined {
    return this.#topics.get(topic)?.get(group);
  }

  #addQueue({ topic, group }: GroupName): DurableQueue {
    const existing = this.#queueOf(topic, group);
    if (existing !== undefined) return existing;
    const { logger, track } = this.#context;
    const layout = this.#layout.queue(topic, group);
    const shard = this.#owned.of(JSON.stringify([this.#component, topic, group]));
    const workplace = workplaceOf(this.#context, 'messages', this.#component, topic, group);
    const [store, commits] = [this.#store, this.#commits];
    const holder = this.#standIns.holderOf(layout, shard);
    const queue = new DurableQueue({ store, commits, layout, topic, holder, shard, workplace, logger, track });
    const groups = this.#topics.get(topic);
    if (groups === undefined) this.#topics.set(topic, new Map([[group, queue]]));
    else groups.set(group, queue);
    this.#queues.set(layout.readyPrefix, queue);
    return queue;
  }
}

function settled(): void {}

/** The error for publishers, who may be remote: without the keys and paths in the store's own message. */
function refusalOf(cause: unknown): Error {
  const kind = isStateError(cause) ? cause.kind : 'failed';
  if (kind === 'invalid') return new Error('the message is too large: it may have 8 MiB with its envelope', { cause });
  return new Error(kind === 'full' ? 'the state store has no space left' : 'the state store has failed', { cause });
}

import type { CommitBatcher } from '../../kernel/commit-batcher.ts';
import { isConflictError, isStateError } from '../../state/errors.ts';
import type { Batch, Precondition, Put, StateStore } from '../../state/store.ts';
import type { ComponentContext } from '../component.ts';
import type { Message, PublishFailure } from '../pubsub.ts';
import type { Backlogs } from './backlog.ts';
import { encodeQueued } from './codec.ts';
import type { ConsumerGroups } from './consumer-groups.ts';
import type { EndedGroups } from './ended-groups.ts';
import { MAX_BYTES, noFailures, refusalOf, refuse, tooLarge } from './publish-errors.ts';
import type { DurableQueue } from './queue.ts';
import type { QueueTable } from './queue-table.ts';
import type { SequenceAllocator } from './sequence-allocator.ts';
import type { StartupMessages } from './startup-messages.ts';

/** The dependencies of a {@link QueuePublisher}. */
export interface QueuePublisherDeps {
  readonly store: StateStore;
  readonly commits: CommitBatcher;
  readonly groups: ConsumerGroups;
  readonly ended: EndedGroups;
  readonly numbers: SequenceAllocator;
  readonly table: QueueTable;
  readonly startup: StartupMessages;
  /** `undefined`: queues have no limit. */
  readonly backlogs: Backlogs | undefined;
  readonly context: Pick<ComponentContext, 'shards' | 'logger' | 'noGroup'>;
}

/** The entries that the publish of a message writes. It ends with `#published` or `#notPublished`. */
interface PublishPlan {
  readonly message: Message;
  readonly number: number;
  /** The queues of the groups. The first entries are theirs, in the same order. */
  readonly queues: readonly DurableQueue[];
  /** Empty if the topic has no groups, and the message is not kept for groups to come. */
  readonly put: readonly Put[];
  /** Refuses the commit if a group has been added, to which the message has to go as well. */
  readonly fence: Precondition;
  /** Where the message is kept for groups to come. */
  readonly keptKey: string | undefined;
}

const NO_QUEUES: readonly DurableQueue[] = [];
const NO_PUTS: readonly Put[] = [];

/** Publishes messages: writes each of them into the queues of all groups of its topic, or of none. */
export class QueuePublisher {
  readonly #deps: QueuePublisherDeps;

  constructor(deps: QueuePublisherDeps) {
    this.#deps = deps;
  }

  /** Publishes of one turn of the event loop share a commit. */
  publish(messages: readonly Message[], appId: string): Promise<readonly PublishFailure[]> {
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

  /** Writes messages and a batch in one commit; see {@link MessageCommits.commitWith}. */
  async commitWith(messages: readonly Message[], batch: Batch, appId: string): Promise<number | undefined> {
    const { commits, groups } = this.#deps;
    for (;;) {
      // No await may come between this check and the use of numbers and groups.
      while (!this.#isPrepared(messages)) if (!(await this.#hasPrepared(messages, appId))) return undefined;
      const { guard: fence } = groups;
      const plans = this.#planAll(messages);
      if (plans === undefined) return undefined;
      const put = [...(batch.put ?? NO_PUTS), ...plans.flatMap((plan) => plan.put)];
      const onDurable = (): void => {
        for (const plan of plans) this.#published(plan);
      };
      try {
        return await commits.commit({ ...batch, put, fence, onDurable });
      } catch (error) {
        for (const plan of plans) this.#notPublished(plan, error);
        // Such as too large with the messages. Nothing was written.
        if (isStateError(error) && error.kind === 'invalid') return undefined;
        await groups.refused(fence, error);
      }
    }
  }

  async #hasPrepared(messages: readonly Message[], appId: string): Promise<boolean> {
    try {
      await this.#prepare(messages, appId);
      return true;
    } catch {
      return false;
    }
  }

  /** The plans of all messages; `undefined` if one of them is refused. */
  #planAll(messages: readonly Message[]): readonly PublishPlan[] | undefined {
    const plans: PublishPlan[] = [];
    for (const message of messages) {
      const plan = this.#plan(message);
      if (plan instanceof Error) {
        for (const one of plans) this.#notWritten(one);
        return undefined;
      }
      plans.push(plan);
    }
    return plans;
  }

  #isPrepared(messages: readonly Message[]): boolean {
    const { groups, numbers, backlogs } = this.#deps;
    if (groups.mayBeOutdated || !numbers.has(messages.length)) return false;
    if (messages.some((message) => this.#needsKeeper(message))) return false;
    return backlogs === undefined || backlogs.know(this.#queuesOf(messages), messages.length);
  }

  #queuesOf(messages: readonly Message[]): readonly DurableQueue[] {
    return messages.flatMap(({ topic }) => [...(this.#deps.table.of(topic)?.values() ?? NO_QUEUES)]);
  }

  async #prepare(messages: readonly Message[], appId: string): Promise<void> {
    const { groups, numbers, backlogs } = this.#deps;
    if (groups.mayBeOutdated) await groups.read();
    if (!numbers.has(messages.length)) await numbers.reserve(messages.length);
    for (const message of messages) if (this.#needsKeeper(message)) await this.#addKeeper(message.topic, appId);
    await backlogs?.count(this.#queuesOf(messages), messages.length);
  }

  /** Whether it is a dead letter on a topic without groups, which would be lost. */
  #needsKeeper({ deadLetter, topic }: Message): boolean {
    return deadLetter !== undefined && this.#deps.table.of(topic) === undefined;
  }

  async #addKeeper(topic: string, group: string): Promise<void> {
    const { ended, groups, context } = this.#deps;
    await ended.finish(topic);
    if (!(await groups.addKeeper({ topic, group }))) return;
    context.logger.warn({ topic, group }, 'nobody has subscribed to the topic of a dead letter: it is kept');
  }

  #publishOne(message: Message, appId: string): Promise<unknown> {
    const plan = this.#plan(message);
    if (plan instanceof Error) return Promise.reject(plan);
    const { put, fence } = plan;
    if (put.length === 0) return this.#publishWithoutGroups(plan, appId);
    const onDurable = (): void => this.#published(plan);
    return this.#deps.commits.commit({ put, fence, onDurable }).catch((error: unknown) => {
      this.#notPublished(plan, error);
      return this.#publishAgain(plan, appId, error);
    });
  }

  /** The plan of a message, or why it is refused. Numbers and groups must be prepared. */
  #plan(message: Message): PublishPlan | Error {
    const { groups, table, startup, backlogs, numbers } = this.#deps;
    const queuesByName = table.of(message.topic);
    const { guard: fence } = groups;
    if (queuesByName === undefined && !startup.isOpen)
      return { message, number: 0, queues: NO_QUEUES, put: NO_PUTS, fence, keptKey: undefined };
    const value = encodeQueued({ message, attempts: 0 });
    if (value.length > MAX_BYTES && message.deadLetter !== undefined) {
      // The message fitted without its origin, and a dead letter must not be refused.
      const { deadLetter: _origin, ...rest } = message;
      return this.#plan(rest);
    }
    if (value.length > MAX_BYTES) return tooLarge(value.length);
    // A dead letter must not be refused.
    const full = message.deadLetter === undefined ? queuesByName && backlogs?.reserve(queuesByName) : undefined;
    if (full !== undefined) return full;
    const number = numbers.next(message);
    const queues = queuesByName === undefined ? NO_QUEUES : [...queuesByName.values()];
    const put = queues.map((queue) => ({ key: queue.beginPublish(number), value }));
    const keptKey = this.#mayKeep(message) ? startup.keep(message.topic, number, value.length) : undefined;
    if (keptKey !== undefined) put.push({ key: keptKey, value });
    return { message, number, queues, put, fence, keptKey };
  }

  /** In the startup period, a message is kept for groups to come; those get dead letters from the group that keeps them. */
  #mayKeep({ topic }: Message): boolean {
    const { startup, groups } = this.#deps;
    return startup.isOpen && groups.keeperOf(topic) === undefined;
  }

  /** The commit of a plan is durable. */
  #published({ message, number, queues, put }: PublishPlan): void {
    if (put.length === 0) this.#deps.context.noGroup?.(message.topic, 1);
    for (const [at, { key }] of put.entries()) queues[at]?.onPublished(message, number, key);
  }

  /** The commit of a plan was refused, or its outcome is unknown. */
  #notPublished(plan: PublishPlan, error: unknown): void {
    if (isConflictError(error)) this.#notWritten(plan);
    else this.#endPlan(plan);
  }

  /** Nothing of a plan was written. */
  #notWritten(plan: PublishPlan): void {
    // Dead letters need no room.
    if (plan.message.deadLetter === undefined) this.#deps.backlogs?.release(plan.queues);
    this.#endPlan(plan);
  }

  #endPlan({ queues, put, keptKey }: PublishPlan): void {
    for (const [at, { key }] of put.entries()) queues[at]?.onPublishFailed(key);
    if (keptKey !== undefined) this.#deps.startup.notKept(keptKey);
  }

  /** Handles a message on a topic without known groups. */
  async #publishWithoutGroups(plan: PublishPlan, appId: string): Promise<void> {
    const { store, context, commits } = this.#deps;
    // Another process may have added a group unnoticed: check in the store.
    if (store.isExclusive !== true && context.shards !== undefined) {
      try {
        await commits.commit({ fence: plan.fence });
      } catch (error) {
        return this.#publishAgain(plan, appId, error);
      }
    }
    this.#published(plan);
  }

  /** Publishes a message again if a group was added to which it has to go as well. */
  async #publishAgain({ message, fence }: PublishPlan, appId: string, error: unknown): Promise<void> {
    await this.#deps.groups.refused(fence, error);
    while (!this.#isPrepared([message])) await this.#prepare([message], appId);
    await this.#publishOne(message, appId);
  }
}

import type { QueueEntry } from '../../components/queue-access.ts';
import { isApiError } from '../../errors.ts';
import { eachOf } from '../../util/each-of.ts';
import { ANY_TEXT, checkOptions, invalidArgument, type OptionFields } from '../../util/option-fields.ts';
import { inCode } from '../in-code.ts';
import type { QueueRef } from './delivery/subscription-info.ts';
import type { QueueOperations } from './operating/operations.ts';
import type {
  MessageSelection,
  QueueInfo,
  QueuePage,
  QueuePageOptions,
  RedeliverOptions,
} from './operating/queue-types.ts';

const LIST_FIELDS: OptionFields<{ readonly pubsubName?: string | undefined; readonly topic?: string | undefined }> = {
  pubsubName: ANY_TEXT,
  topic: ANY_TEXT,
};
const PAGE = 100;

/**
 * The queues of the pub/sub components, to operate the application: what waits in them, and for whom.
 *
 * @public
 */
export class Queues {
  /** These reject when there is no such queue. @internal */
  readonly operations: QueueOperations;
  readonly #admit: () => void;

  /** @internal */
  constructor(operations: QueueOperations, admit: () => void) {
    this.operations = operations;
    this.#admit = admit;
  }

  /**
   * The queues and how much waits in them: of all components, of one, or of a topic. Components without access to their
   * queues are left out.
   *
   * @throws SidecarError `ERR_PUBSUB_NOT_FOUND`; `ERR_QUEUES_NOT_SUPPORTED` if the component named has no access.
   * @example
   * ```ts
   * for (const { topic, group, ready } of await sidecar.pubsub.queues.list())
   *   console.log(`${topic} → ${group}: ${ready} ready`);
   * ```
   */
  async list(
    options: { readonly pubsubName?: string | undefined; readonly topic?: string | undefined } = {},
  ): Promise<readonly QueueInfo[]> {
    checkOptions('options of list', options, LIST_FIELDS, invalidArgument);
    this.#admit();
    return await this.operations.list(options.pubsubName, options.topic);
  }

  /**
   * The messages of a queue, for `for await`; none if there is no such queue. Nothing is consumed. Ready messages come in
   * order, then delayed ones by their instant; those that this process is delivering are among them.
   *
   * @throws SidecarError `ERR_INVALID_ARGUMENT` for invalid options, with the first message.
   * @example
   * ```ts
   * const orders = { pubsubName: 'pubsub', topic: 'orders', group: 'shop' };
   * for await (const { key, state } of sidecar.pubsub.queues.messages(orders)) console.log(key, state);
   * ```
   */
  messages(queue: QueueRef, options: Pick<QueuePageOptions, 'state' | 'reverse'> = {}): AsyncIterable<QueueEntry> {
    return eachOf(async (cursor) => {
      const { messages, cursor: next } = await this.messagesPage(queue, { ...options, limit: PAGE, cursor });
      return { items: messages, cursor: next };
    });
  }

  /**
   * A part of the messages of a queue, as {@link Queues.messages} lists them; an empty one if there is no such queue.
   *
   * @throws SidecarError `ERR_INVALID_ARGUMENT` for invalid options.
   * @example
   * ```ts
   * const orders = { pubsubName: 'pubsub', topic: 'orders', group: 'shop' };
   * const { messages, cursor } = await sidecar.pubsub.queues.messagesPage(orders, { limit: 10 });
   * ```
   */
  async messagesPage(queue: QueueRef, options: QueuePageOptions = {}): Promise<QueuePage> {
    this.#admit();
    return await this.#ifThere(queue, { messages: [] }, () => this.operations.read(queue, options));
  }

  /**
   * The message of a key, as {@link Queues.messages} lists it; `undefined` if it is no longer in the queue.
   *
   * @throws SidecarError `ERR_INVALID_ARGUMENT`.
   */
  async message(queue: QueueRef, key: string): Promise<QueueEntry | undefined> {
    this.#admit();
    return await this.#ifThere(queue, undefined, () => this.operations.find(queue, key));
  }

  /**
   * Moves messages of a queue to where they came from, for dead letters: to the group that could not process them, and
   * to no other. They begin again with the first attempt. Each message is moved in one step, so that a crash neither
   * loses nor doubles it. Messages in flight, and those without an origin, stay unless `to` says where to.
   *
   * @param selection - the keys of messages, `'all'`, or what the origin of dead letters must be
   * @returns how many were moved; 0 if there is no such queue
   * @throws SidecarError `ERR_QUEUE_NOT_FOUND` if the queue of an origin, or of `to`, is gone; `ERR_QUEUE_BUSY` if another host is handing the
   * messages out; `ERR_INVALID_ARGUMENT`.
   * @example
   * ```ts
   * const failed = { pubsubName: 'pubsub', topic: 'dead-orders', group: 'shop' };
   * await sidecar.pubsub.queues.redeliver(failed, 'all');
   * ```
   */
  async redeliver(queue: QueueRef, selection: MessageSelection, options: RedeliverOptions = {}): Promise<number> {
    this.#admit();
    return await this.#ifThere(queue, 0, () => this.operations.redeliver(queue, selection, options));
  }

  /**
   * Removes messages of a queue for good; those in flight stay.
   *
   * @returns how many were removed; 0 if there is no such queue
   * @throws SidecarError `ERR_QUEUE_BUSY`, `ERR_INVALID_ARGUMENT`; see {@link Queues.redeliver}.
   * @example
   * ```ts
   * const failed = { pubsubName: 'pubsub', topic: 'dead-orders', group: 'shop' };
   * await sidecar.pubsub.queues.discard(failed, { reason: 'no such customer' });
   * ```
   */
  async discard(queue: QueueRef, selection: MessageSelection): Promise<number> {
    this.#admit();
    return await this.#ifThere(queue, 0, () => this.operations.discard(queue, selection));
  }

  /**
   * Removes all messages of a queue for good; those in flight stay.
   *
   * @returns how many were removed; 0 if there is no such queue
   * @throws SidecarError `ERR_QUEUE_BUSY`; see {@link Queues.redeliver}.
   */
  async purge(queue: QueueRef): Promise<number> {
    return await this.discard(queue, 'all');
  }

  /**
   * Delivers no more messages of a queue, on all hosts, until {@link Queues.resume}; the queue goes on collecting. A
   * durable component keeps this over a restart. Deliveries that have begun are settled.
   *
   * @returns whether there is such a queue
   * @example
   * ```ts
   * await sidecar.pubsub.queues.pause({ pubsubName: 'pubsub', topic: 'orders', group: 'shop' });
   * ```
   */
  async pause(queue: QueueRef): Promise<boolean> {
    return await this.#setPaused(queue, true);
  }

  /**
   * Delivers the messages of a queue again.
   *
   * @returns whether there is such a queue
   */
  async resume(queue: QueueRef): Promise<boolean> {
    return await this.#setPaused(queue, false);
  }

  /**
   * Adds a group without a subscription: it collects all messages of the topic from now on.
   *
   * @returns whether there was none
   * @example
   * ```ts
   * await sidecar.pubsub.queues.addGroup({ pubsubName: 'pubsub', topic: 'orders', group: 'shop/audit' });
   * ```
   */
  async addGroup(queue: QueueRef): Promise<boolean> {
    this.#admit();
    return await this.operations.addGroup(queue);
  }

  /**
   * Removes a group that has no subscriptions any more, with its messages.
   *
   * @returns whether there was one
   * @throws SidecarError `ERR_QUEUE_BUSY` if it has subscriptions, or another host is handing its messages out.
   * @example
   * ```ts
   * await sidecar.pubsub.queues.removeGroup({ pubsubName: 'pubsub', topic: 'orders', group: 'shop/audit' });
   * ```
   */
  async removeGroup(queue: QueueRef): Promise<boolean> {
    this.#admit();
    return await this.operations.removeGroup(queue);
  }

  async #setPaused(queue: QueueRef, isPaused: boolean): Promise<boolean> {
    this.#admit();
    return await this.#ifThere(queue, false, async () => {
      await this.operations.setPaused(queue, isPaused);
      return true;
    });
  }

  /** The error about a missing queue may mean another one, to which messages go. */
  async #ifThere<T>(queue: QueueRef, otherwise: T, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const { pubsubName, topic, group } = queue ?? {};
      const isMissing = isApiError(error) && error.code === 'ERR_QUEUE_NOT_FOUND';
      if (!isMissing || (await this.operations.list(pubsubName, topic)).some((one) => one.group === group))
        throw inCode(error);
      return otherwise;
    }
  }
}

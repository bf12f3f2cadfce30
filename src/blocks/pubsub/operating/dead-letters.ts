import type { Message } from '../../../components/pubsub.ts';
import type { QueueEntry } from '../../../components/queue-access.ts';
import { eachOf } from '../../../util/each-of.ts';
import { nameOfKind } from '../../../util/known-fields.ts';
import { invalidArgument } from '../../../util/option-fields.ts';
import type { ReceivedEvent } from '../delivery/received-event.ts';
import type { QueueRef, SubscriptionInfo } from '../delivery/subscription-info.ts';
import type { QueueOperations } from './operations.ts';
import type { DeadLetterFilter, QueueInfo, RedeliverOptions } from './queue-types.ts';
import { checkRedelivery, parseSelection } from './selection.ts';

/** Which dead letters of the application are meant: all for which all of it holds. @public */
export interface DeadLettersFilter extends DeadLetterFilter {
  /** Only those of this pub/sub component. Default: those of all that give access to their queues. */
  readonly pubsubName?: string | undefined;
  /** Only those that are kept on this topic. Default: those of all dead-letter topics. */
  readonly deadLetterTopic?: string | undefined;
}

/** What {@link DeadLetters} need of the block. */
export interface DeadLettersDeps {
  readonly queues: QueueOperations;
  admit(): void;
  describe(): readonly SubscriptionInfo[];
}

const PAGE = 100;

/**
 * A message that could not be processed, in the queue where it waits.
 *
 * @public
 */
export class DeadLetter<T = unknown> {
  /** Identifies it in its queue. */
  readonly key: string;
  /** The queue that it waits in: `topic` is the dead-letter topic. */
  readonly queue: QueueRef;
  /** The topic on which it could not be processed. */
  readonly topic: string;
  /** The consumer group that could not process it. */
  readonly group: string;
  /** The reason: an error message, the HTTP status, or another description. */
  readonly reason: string;
  /** The number of delivery attempts. */
  readonly attempts: number;
  /** When it became a dead letter, in milliseconds since 1970. */
  readonly deadAt: number;
  /** The message, in bytes. */
  readonly message: Message;
  readonly #queues: QueueOperations;
  #event: ReceivedEvent<T> | null | undefined;

  /** @internal */
  constructor(queues: QueueOperations, queue: QueueRef, { key, message }: QueueEntry) {
    this.#queues = queues;
    this.key = key;
    this.queue = queue;
    this.message = message;
    const {
      topic = message.topic,
      group = '',
      reason = '',
      attempts = 0,
      deadAt = Number.NaN,
    } = message.deadLetter ?? {};
    this.topic = topic;
    this.group = group;
    this.reason = reason;
    this.attempts = attempts;
    this.deadAt = deadAt;
  }

  /** The event; `undefined` for a raw payload. */
  get event(): ReceivedEvent<T> | undefined {
    if (this.#event === undefined) this.#event = eventOf<T>(this.message) ?? null;
    return this.#event ?? undefined;
  }

  /** The data of the event; the bytes of a raw payload. */
  get data(): T {
    const { event } = this;
    return event === undefined ? (Buffer.from(this.message.data) as T) : event.data;
  }

  /**
   * Moves it to the group that could not process it, or to `to`; with other data, if there are any.
   *
   * @returns whether it was still there
   * @throws SidecarError `ERR_QUEUE_NOT_FOUND` if that queue is gone; `ERR_QUEUE_BUSY`; `ERR_INVALID_ARGUMENT`.
   */
  async redeliver(options: RedeliverOptions = {}): Promise<boolean> {
    return (await this.#queues.redeliver(this.queue, [this.key], options)) > 0;
  }

  /**
   * Removes it for good.
   *
   * @returns whether it was still there
   * @throws SidecarError `ERR_QUEUE_BUSY`.
   */
  async discard(): Promise<boolean> {
    return (await this.#queues.discard(this.queue, [this.key])) > 0;
  }
}

/** Finds the dead letters of the application, wherever they are. */
export class DeadLetters {
  readonly #deps: DeadLettersDeps;

  constructor(deps: DeadLettersDeps) {
    this.#deps = deps;
  }

  /** Queue by queue, in pages. */
  list(filter: DeadLettersFilter): AsyncIterable<DeadLetter> {
    return { [Symbol.asyncIterator]: () => this.#all(filter) };
  }

  async *#all(filter: DeadLettersFilter): AsyncGenerator<DeadLetter> {
    const { queues } = this.#deps;
    const { places, matches } = await this.#find(filter);
    for (const place of places) {
      const entries = eachOf(async (cursor) => {
        const page = await queues.read(place, { limit: PAGE, cursor });
        return { items: page.messages, cursor: page.cursor };
      });
      for await (const entry of entries) if (matches(entry)) yield new DeadLetter(queues, place, entry);
    }
  }

  redeliverAll(filter: DeadLettersFilter, options: Pick<RedeliverOptions, 'to'>): Promise<number> {
    checkRedelivery({}, options);
    return this.#changeAll(filter, (place, meant) => this.#deps.queues.redeliver(place, meant, options));
  }

  discardAll(filter: DeadLettersFilter): Promise<number> {
    return this.#changeAll(filter, (place, meant) => this.#deps.queues.discard(place, meant));
  }

  async #changeAll(
    filter: DeadLettersFilter,
    change: (place: QueueRef, meant: DeadLetterFilter) => Promise<number>,
  ): Promise<number> {
    const { places, meant } = await this.#find(filter);
    const errors: unknown[] = [];
    let count = 0;
    for (const place of places) {
      try {
        count += await change(place, meant);
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
    return count;
  }

  async #find(filter: DeadLettersFilter): Promise<Found> {
    this.#deps.admit();
    // In JavaScript it may be anything.
    if (nameOfKind(filter) !== 'an object')
      throw invalidArgument(`the filter is ${nameOfKind(filter)}: expected an object`, 'filter');
    const { pubsubName, deadLetterTopic, ...meant } = filter;
    const { matches = () => true } = parseSelection(meant, 'filter');
    const targets = new Set(this.#deps.describe().map((one) => JSON.stringify([one.pubsubName, one.deadLetterTopic])));
    const isMeant = ({ topic, keepsDeadLetters, ...state }: QueueInfo): boolean =>
      keepsDeadLetters || topic === deadLetterTopic || targets.has(JSON.stringify([state.pubsubName, topic]));
    const all = await this.#deps.queues.list(pubsubName, deadLetterTopic);
    const places = all.filter(isMeant).map(({ pubsubName, topic, group }) => ({ pubsubName, topic, group }));
    return { places, meant, matches };
  }
}

interface Found {
  readonly places: readonly QueueRef[];
  readonly meant: DeadLetterFilter;
  readonly matches: (entry: QueueEntry) => boolean;
}

/** Other programs may put anything on a topic of a broker. */
function eventOf<T>({ raw, data: bytes }: Message): ReceivedEvent<T> | undefined {
  if (raw) return undefined;
  try {
    const { data_base64, ...event } = JSON.parse(Buffer.from(bytes).toString()) as Record<string, unknown>;
    const data = typeof data_base64 === 'string' ? { data: Buffer.from(data_base64, 'base64') } : {};
    return { ...event, ...data } as unknown as ReceivedEvent<T>;
  } catch {
    return undefined;
  }
}

import type {
  DeadLetterFilter,
  DeadLetterOrigin,
  ExplainedSubscription,
  QueueInfo,
  QueueRef,
  SubscriptionInfo,
} from '../../index.ts';
import type { PayloadView } from './apps.ts';

export type { DeadLetterFilter, QueueRef, SubscriptionInfo } from '../../index.ts';

/** `GET queues?pubsubName=&topic=` */
export interface QueuesReply {
  readonly queues: readonly InspectedQueue[];
  /** Components without access to their queues. */
  readonly unsupported: readonly string[];
}

export interface InspectedQueue extends QueueInfo {
  /** Whether its topic gets the dead letters of a subscription, or it keeps them. */
  readonly isDeadLetter: boolean;
  /** Whether it has no known reader. */
  readonly isAbandoned: boolean;
}

/** A message in a queue. */
export interface QueuedMessage {
  /** Identifies it in its queue. */
  readonly key: string;
  readonly state: 'ready' | 'delayed' | 'inFlight';
  readonly messageId: string;
  readonly attempts: number;
  readonly dueAt?: number;
  /** The time of its CloudEvent. */
  readonly at?: number;
  readonly expiresAt?: number;
  readonly isRaw: boolean;
  readonly traceparent?: string;
  readonly deadLetter?: DeadLetterOrigin;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** At most 2 KiB of it in lists. */
  readonly payload: PayloadView;
}

/** `GET queues/messages?pubsubName=&topic=&group=&state=&cursor=&limit=&reverse=` */
export interface QueuedMessagesReply {
  readonly messages: readonly QueuedMessage[];
  readonly cursor?: string;
}

/** `GET queues/messages/one?pubsubName=&topic=&group=&key=&state=`: the message with up to 64 KiB of its data. */
export interface QueuedMessageReply {
  readonly queue: QueueRef;
  readonly message: QueuedMessage;
}

/**
 * `GET dead-letters?pubsubName=&topic=&fromTopic=&fromGroup=&reason=&since=&until=&cursor=&limit=&reverse=`: those of all queues
 * with {@link InspectedQueue.isDeadLetter}. `topic` is that of the queue; the others are those of the origin.
 */
export interface DeadLettersReply {
  readonly messages: readonly DeadLetter[];
  readonly cursor?: string;
  readonly queues: readonly InspectedQueue[];
}

export interface DeadLetter extends QueuedMessage {
  readonly queue: QueueRef;
}

/** Which messages are meant. */
export type Selection = readonly string[] | 'all' | DeadLetterFilter;

/** `POST queues/redeliver` */
export interface RedeliverBody {
  readonly queue: QueueRef;
  readonly selection: Selection;
  /** New data of one message: text, JSON if `isJson`. */
  readonly data?: { readonly text: string; readonly isJson: boolean };
  readonly to?: { readonly topic: string; readonly group: string };
}

/** `POST queues/discard` */
export interface DiscardBody {
  readonly queue: QueueRef;
  readonly selection: Selection;
}

/** `POST queues/redeliver`, `discard`, `purge` */
export interface CountReply {
  readonly count: number;
}

/** `POST queues/purge`, `queues/pause`, `queues/resume`, `queues/add-group`, `queues/remove-group` */
export interface QueueBody {
  readonly queue: QueueRef;
}

/** `POST` of what may change nothing. */
export interface ChangedReply {
  readonly changed: boolean;
}

// Subscriptions

/** `GET subscriptions` */
export interface SubscriptionsReply {
  readonly subscriptions: readonly SubscriptionInfo[];
}

/** `POST subscriptions/explain` (changes nothing, so it needs no right to write) */
export interface ExplainBody {
  readonly pubsubName: string;
  readonly topic: string;
  /** JSON text: a CloudEvent, or data. */
  readonly event: string;
}

export interface ExplainReply {
  readonly subscriptions: readonly ExplainedSubscription[];
}

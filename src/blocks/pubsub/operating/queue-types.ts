import type { DeadLetterOrigin } from '../../../components/pubsub.ts';
import type { GroupQueue, MessageState, QueueEntry } from '../../../components/queue-access.ts';
import type { Instant } from '../../../util/duration.ts';
import type { RouteRule } from '../delivery/subscription.ts';
import type { QueueRef, SubscriptionInfo } from '../delivery/subscription-info.ts';

/** A queue, and how much waits in it. Counts end at 10,000. @public */
export interface QueueInfo extends QueueRef {
  /** Messages that wait for a consumer. */
  readonly ready: number;
  /** Messages that wait for their retry. */
  readonly delayed: number;
  /** Messages that this process is delivering. */
  readonly inFlight: number;
  /** Whether more messages wait than were counted. */
  readonly isCapped: boolean;
  /** The time of the first message's CloudEvent, in milliseconds since 1970. Absent: the queue is empty, or it has none. */
  readonly oldestAt?: number;
  /** Subscriptions of this process that take its messages. */
  readonly consumers: number;
  /** Whether it is paused, see {@link Queues.pause}. */
  readonly isPaused: boolean;
  /** Whether it keeps dead letters because their topic has no subscription. */
  readonly keepsDeadLetters: boolean;
  /** The ID of the host that hands its messages out, as far as it is known. */
  readonly hostId?: string;
}

/** Which messages of a queue to read. @public */
export interface QueuePageOptions {
  /** Only messages in this state. Default: all. */
  readonly state?: MessageState | undefined;
  /** The `cursor` of the page before. Default: from the start. */
  readonly cursor?: string | undefined;
  /** The most messages: 1 to 1,000. Default: 50. */
  readonly limit?: number | undefined;
  /** Whether the last message comes first. Default: false. */
  readonly reverse?: boolean | undefined;
}

/** A part of the messages of a queue. @public */
export interface QueuePage {
  /** Ready messages in order, then delayed ones by their instant. Those in flight are among them. */
  readonly messages: readonly QueueEntry[];
  /** For the next page; absent at the end. */
  readonly cursor?: string;
}

/** Dead letters by their origin. All that is given must hold. @public */
export interface DeadLetterFilter extends Partial<Pick<DeadLetterOrigin, 'topic' | 'group'>> {
  /** A part of the reason. */
  readonly reason?: string | undefined;
  /** Dead letters of this instant and later ones. */
  readonly since?: Instant | undefined;
  /** Dead letters before this instant. */
  readonly until?: Instant | undefined;
}

/** Messages of a queue: by their keys, all, or dead letters by their origin. @public */
export type MessageSelection = readonly string[] | 'all' | DeadLetterFilter;

/** Options of {@link Queues.redeliver}. @public */
export interface RedeliverOptions {
  /**
   * The new data of the message, for one key only: bytes, text or a JSON value. The other attributes of its CloudEvent
   * stay. Default: the message as it is.
   */
  readonly data?: unknown;
  /** The queue of the same component that gets the messages. Default: that of their origin. */
  readonly to?: GroupQueue | undefined;
}

/** A rule, and what came of it for an event. @public */
export interface ExplainedRule extends RouteRule {
  /** Whether it holds; `undefined` if it was not evaluated because one before it holds. */
  readonly holds: boolean | undefined;
  /** Why it could not be evaluated: it counts as false. */
  readonly error?: string;
}

/** Where one subscription sends an event. @public */
export interface ExplainedSubscription extends SubscriptionInfo {
  /** Its rules, and what comes of them. */
  readonly rules: readonly ExplainedRule[];
  /** The route of the rule that holds. Absent: none does, and the event is dropped or dead-lettered. */
  readonly path?: string;
}

/** Where an event goes, and why. @public */
export interface RouteExplanation {
  /** The subscriptions to the topic; none if no application of this app ID gets the event. */
  readonly subscriptions: readonly ExplainedSubscription[];
}

import type { GroupQueue } from '../../../components/queue-access.ts';
import type { RetryInfo } from '../../../util/retry-options.ts';
import type { RouteRule, SubscriptionType } from './subscription.ts';

/** The name of a queue: the messages of a topic of a component for one group. @public */
export interface QueueRef extends GroupQueue {
  /** The pub/sub component. */
  readonly pubsubName: string;
}

/** A subscription, and whether it receives messages. @public */
export interface SubscriptionInfo extends QueueRef {
  /** Where it comes from. */
  readonly type: SubscriptionType;
  /**
   * `active`; `waiting` for the application; `starting`, or trying again to; `refused`.
   */
  readonly state: 'active' | 'waiting' | 'starting' | 'refused';
  /** Why it was refused; absent if it was not. */
  readonly problem?: string;
  /** Its rules in order; the default route is a last one that is always true. */
  readonly rules: readonly RouteRule[];
  /** The topic of its dead letters; absent without one. */
  readonly deadLetterTopic?: string;
  /** The most requests to the application at a time. */
  readonly concurrency: number;
  /** When and how often a message is delivered again, as far as the subscription says so. */
  readonly retry: RetryInfo;
  /** How messages are delivered in bulk; absent if they are not. */
  readonly bulkSubscribe?: {
    /** The maximum number of messages in one request. */
    readonly maxMessagesCount: number;
    /** The longest that the oldest of them waits for more, in milliseconds. */
    readonly maxAwaitDurationMs: number;
  };
}

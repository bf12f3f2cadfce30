import type { Duration } from '../../../util/duration.ts';
import { checkFunction, nameOfKind } from '../../../util/known-fields.ts';
import {
  ANYTHING,
  BOOLEAN,
  checkOptions,
  invalidArgument,
  type OptionFields,
  whole,
} from '../../../util/option-fields.ts';
import { checkRetry, type RetryOptions } from '../../../util/retry-options.ts';
import type { DeliveryLimits } from './subscription.ts';

/** Options of a subscription in code. @public */
export interface SubscribeOptions extends DeliveryLimits {
  /** The maximum number of messages processed at the same time. Default 10. With 1, messages come in order. */
  readonly concurrency?: number | undefined;
  /** When and how often a message is delivered again. */
  readonly retry?: RetryOptions | undefined;
  /** How many deliveries in a row the end of the process may interrupt, as in {@link RouteSubscription.maxCrashes}. Default 3. */
  readonly maxCrashes?: number | undefined;
  /** The dead-letter topic for messages that cannot be processed, in the same component. Default: none. */
  readonly deadLetterTopic?: string | undefined;
  /** Accept messages that are not CloudEvents: `data` holds their value or bytes. Default `false`. */
  readonly rawPayload?: boolean | undefined;
  /** Metadata for the component, for example the kind of queue at a broker. Default: none. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /**
   * How long after its begin the signal of a delivery fires; 0 for never. The delivery still lasts until the function
   * returns, and the message is not delivered again before that. Default: the time-out of the component's resiliency
   * policy, else never.
   */
  readonly timeout?: Duration | undefined;
  /** A consumer group of its own, as in {@link RouteSubscription.group}. */
  readonly group?: string | undefined;
  /** Share the messages of the group, as in {@link RouteSubscription.competing}. Default `false`. */
  readonly competing?: boolean | undefined;
}

/** Options of a subscription in code to batches. @public */
export interface SubscribeBulkOptions extends SubscribeOptions {
  /** The most messages of a batch. Default 100. */
  readonly maxMessagesCount?: number | undefined;
  /** The longest that the oldest message of a batch waits for more, of 1 ms or more. Default `1s`. */
  readonly maxAwaitDuration?: Duration | undefined;
}

/** A subscription in code. @public */
export interface Subscription extends AsyncDisposable {
  /** Accepts no new messages and waits for those being processed. A second call is harmless. */
  close(): Promise<void>;
}

/** The values that every subscription may have, in JSON too, are checked with it. */
const SUBSCRIBE_FIELDS: OptionFields<SubscribeOptions> = {
  concurrency: ANYTHING,
  retry: ANYTHING,
  maxCrashes: ANYTHING,
  deadLetterTopic: ANYTHING,
  rawPayload: BOOLEAN,
  metadata: ANYTHING,
  timeout: ANYTHING,
  group: ANYTHING,
  competing: ANYTHING,
  order: ANYTHING,
  perKey: ANYTHING,
  rate: ANYTHING,
};

const BULK_FIELDS: OptionFields<SubscribeBulkOptions> = {
  ...SUBSCRIBE_FIELDS,
  maxMessagesCount: whole(1),
  maxAwaitDuration: ANYTHING,
};

/** @throws SidecarError `ERR_INVALID_ARGUMENT` for an unknown field, and for a handler that is not a function. */
export function checkSubscribeOptions(topic: string, handler: unknown, options: SubscribeOptions): void {
  checkHandler(topic, handler, options);
  checkOptions('options of subscribe', options, SUBSCRIBE_FIELDS, invalidArgument);
  checkRetry(options.retry, 'options.retry');
}

/** `defineSubscription` has the options first. */
function checkHandler(topic: string, handler: unknown, options: unknown): void {
  const what = `the handler of topic ${JSON.stringify(topic)}`;
  if (typeof handler === 'function' || typeof options !== 'function') return checkFunction(handler, what, 'handler');
  throw invalidArgument(`${what} is ${nameOfKind(handler)}: expected a function, and the options after it`, 'handler');
}

/** As {@link checkSubscribeOptions}. */
export function checkSubscribeBulkOptions(topic: string, handler: unknown, options: SubscribeBulkOptions): void {
  checkHandler(topic, handler, options);
  checkOptions('options of subscribeBulk', options, BULK_FIELDS, invalidArgument);
  checkRetry(options.retry, 'options.retry');
}

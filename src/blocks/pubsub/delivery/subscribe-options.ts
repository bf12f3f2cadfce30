import { checkFunction } from '../../../util/known-fields.ts';
import { ANYTHING, BOOLEAN, checkOptions, type OptionFields } from '../../../util/option-fields.ts';
import type { RetryOptions } from './subscription.ts';

/** Options of a subscription in code. @public */
export interface SubscribeOptionsInCode {
  /** The maximum number of messages processed at the same time. Default 10. With 1, messages come in order. */
  readonly concurrency?: number;
  /** When and how often a message is delivered again. */
  readonly retry?: RetryOptions;
  /** The dead-letter topic for messages that cannot be processed, in the same component. Default: none. */
  readonly deadLetterTopic?: string;
  /** Accept messages that are not CloudEvents: `data` holds their value or bytes. Default `false`. */
  readonly rawPayload?: boolean;
  /** Metadata for the component, for example the kind of queue at a broker. Default: none. */
  readonly metadata?: Readonly<Record<string, string>>;
  /**
   * When the signal of a delivery fires, in milliseconds after the delivery begins; 0 for never. The delivery still
   * lasts until the function returns, and the message is not delivered again before that. Default: the time-out of the
   * component's resiliency policy, else never.
   */
  readonly timeoutMs?: number;
  /** A consumer group of its own, as in {@link SubscriptionOptions.group}. */
  readonly group?: string;
  /** Share the messages of the group, as in {@link SubscriptionOptions.competing}. Default `false`. */
  readonly competing?: boolean;
}

/** A subscription in code. @public */
export interface Subscription extends AsyncDisposable {
  /** Accepts no new messages and waits for those being processed. A second call is harmless. */
  close(): Promise<void>;
}

/** The values that every subscription may have, in JSON too, are checked with it. */
const SUBSCRIBE_FIELDS: OptionFields<SubscribeOptionsInCode> = {
  concurrency: ANYTHING,
  retry: ANYTHING,
  deadLetterTopic: ANYTHING,
  rawPayload: BOOLEAN,
  metadata: ANYTHING,
  timeoutMs: ANYTHING,
  group: ANYTHING,
  competing: ANYTHING,
};
const RETRY_FIELDS: OptionFields<RetryOptions> = {
  maxRetries: ANYTHING,
  initialDelayMs: ANYTHING,
  maxDelayMs: ANYTHING,
  maxCrashes: ANYTHING,
};

/** @throws SidecarError `ERR_CONFIGURATION` for an unknown field, and for a handler that is not a function. */
export function checkSubscribeOptions(topic: string, handler: unknown, options: SubscribeOptionsInCode): void {
  checkFunction(handler, `the handler of topic ${JSON.stringify(topic)}`);
  checkOptions('options of subscribe', options, SUBSCRIBE_FIELDS);
  if (options.retry !== undefined) checkOptions('options.retry of subscribe', options.retry, RETRY_FIELDS);
}

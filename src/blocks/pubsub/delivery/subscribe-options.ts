import { checkFields, checkFunction, fieldNames } from '../../../util/known-fields.ts';
import type { RetryOptions } from './subscription.ts';

/** How a function subscribes. @public */
export interface SubscribeOptionsInCode {
  /** The most messages that are processed at a time. Default 10. With 1, messages come in order. */
  readonly concurrency?: number;
  /** When and how often a message is delivered again. */
  readonly retry?: RetryOptions;
  /** Where messages go that cannot be processed: a topic of the same component. Default: nowhere. */
  readonly deadLetterTopic?: string;
  /** Subscribe to messages that are not CloudEvents: `data` holds their value or bytes. Default `false`. */
  readonly rawPayload?: boolean;
  /**
   * When the signal of a delivery fires, in milliseconds after its begin; 0 for never. The delivery goes on until the
   * function has returned, and the message is not delivered again before. Default: the time-out of the component's
   * resiliency policy, else never.
   */
  readonly timeoutMs?: number;
  /** A consumer group of its own, as in {@link SubscriptionOptions.group}. */
  readonly group?: string;
  /** Shares the messages of its group, as in {@link SubscriptionOptions.competing}. Default `false`. */
  readonly competing?: boolean;
}

/** A subscription in code. @public */
export interface Subscription extends AsyncDisposable {
  /** Takes nothing new and waits for what is being processed. Twice is fine. */
  close(): Promise<void>;
}

const SUBSCRIBE_FIELDS = fieldNames<SubscribeOptionsInCode>({
  concurrency: true,
  retry: true,
  deadLetterTopic: true,
  rawPayload: true,
  timeoutMs: true,
  group: true,
  competing: true,
});
const RETRY_FIELDS = fieldNames<RetryOptions>({ maxRetries: true, initialDelayMs: true, maxDelayMs: true });

/** @throws SidecarError `ERR_CONFIGURATION` for an unknown field, and for a handler that is no function. */
export function checkSubscribeOptions(topic: string, handler: unknown, options: SubscribeOptionsInCode): void {
  checkFunction(handler, `the handler of topic ${JSON.stringify(topic)}`);
  checkFields(options, SUBSCRIBE_FIELDS, 'options of subscribe', 'ERR_CONFIGURATION');
  if (options.retry !== undefined)
    checkFields(options.retry, RETRY_FIELDS, 'options.retry of subscribe', 'ERR_CONFIGURATION');
}

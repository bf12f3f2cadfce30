import { checkTopic, type TopicDefinition } from '../publishing/topic.ts';
import { checkSubscribeOptions, type SubscribeOptions } from './subscribe-options.ts';
import type { TopicHandler } from './subscription.ts';

/** A function for the messages of a topic. Made by `defineSubscription`. @public */
export interface SubscriptionDefinition {
  /** `subscription`. */
  readonly kind: 'subscription';
  /** The topic. */
  readonly topic: TopicDefinition;
  /** The options of the subscription. */
  readonly options: SubscribeOptions;
  /** The function. */
  readonly handler: TopicHandler<never>;
}

/**
 * Names the function that gets the messages of a topic, for {@link Sidecar.register}.
 *
 * @throws SidecarError `ERR_INVALID_ARGUMENT` for a topic that {@link defineTopic} has not made, unknown options, and a
 * handler that is not a function.
 * @example
 * ```ts
 * const orders = defineTopic<{ id: number }>('orders');
 * const shipping = defineSubscription(orders, { deadLetterTopic: 'dead-orders' }, (order, { signal }) => ship(order, signal));
 * sidecar.register(shipping);
 * ```
 * @public
 */
export function defineSubscription<Output>(
  topic: TopicDefinition<unknown, Output>,
  options: SubscribeOptions,
  handler: TopicHandler<Output>,
): SubscriptionDefinition;
/** Names the function that gets the messages of a topic, without options. @public */
export function defineSubscription<Output>(
  topic: TopicDefinition<unknown, Output>,
  handler: TopicHandler<Output>,
): SubscriptionDefinition;
export function defineSubscription<Output>(
  topic: TopicDefinition<unknown, Output>,
  ...given: readonly (SubscribeOptions | TopicHandler<Output>)[]
): SubscriptionDefinition {
  checkTopic(topic, 'the topic of defineSubscription');
  const [options, handler] = (given.length < 2 ? [{}, ...given] : given) as [SubscribeOptions, TopicHandler<Output>];
  checkSubscribeOptions(topic.name, handler, options);
  return { kind: 'subscription', topic, options, handler };
}

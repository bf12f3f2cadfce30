import { shown } from '../../../util/shown.ts';
import { maySubscribe } from '../scopes.ts';
import type { SubscriptionSpec } from './subscription.ts';
import type { SubscribablePubSub } from './subscriptions.ts';

/** Why an application cannot have a subscription with these topics; `undefined` if it can. */
export function topicProblem(
  { topic, deadLetterTopic }: Pick<SubscriptionSpec, 'topic' | 'deadLetterTopic'>,
  pubsub: SubscribablePubSub,
  appId: string,
): string | undefined {
  const { name, topics } = pubsub;
  if (!maySubscribe(topic, appId, topics))
    return `subscription to topic '${topic}' on pubsub '${name}' is not allowed for app id ${appId}`;
  const own = pubsub.topicProblem(topic, 'subscribe');
  if (own !== undefined) return `topic ${shown(topic)} of pubsub ${name} cannot be subscribed to: ${own}`;
  const dead = deadLetterTopic === '' ? undefined : pubsub.topicProblem(deadLetterTopic, 'publish');
  return dead === undefined ? undefined : `deadLetterTopic ${shown(deadLetterTopic)} cannot be used: ${dead}`;
}

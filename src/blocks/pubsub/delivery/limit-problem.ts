import type { DeliveryLimit, PubSubDefinition } from '../../../components/pubsub.ts';
import type { SubscriptionSpec } from './subscription.ts';

/** An option that a component cannot keep over all its processes would be kept in each of them alone, unnoticed. */
export function limitProblem(
  spec: Pick<SubscriptionSpec, DeliveryLimit>,
  { name, type, limits = [] }: Pick<PubSubDefinition, 'name' | 'type' | 'limits'>,
): string | undefined {
  const asked = (['order', 'perKey', 'rate'] as const).filter((limit) => spec[limit] !== undefined);
  const missing = asked.find((limit) => !limits.includes(limit));
  if (missing === undefined) return undefined;
  const can = limits.length === 0 ? 'none of order, perKey and rate' : `only ${limits.join(' and ')}`;
  return `${missing} cannot be kept by component ${name} (${type}) over all its processes, which keeps ${can}: expected a component such as durablePubSub, or a subscription without ${missing}`;
}

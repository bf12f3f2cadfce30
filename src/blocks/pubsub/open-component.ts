import type { ComponentContext } from '../../components/component.ts';
import type { PubSubDefinition } from '../../components/pubsub.ts';
import type { Resiliency } from '../../resiliency/policy.ts';
import type { SubscribablePubSub } from './delivery/subscriptions.ts';
import { OutsidePubSub } from './outside-component.ts';
import { ResilientPubSub } from './resilient-component.ts';

/** Opens a component with its resiliency policies. */
export async function openComponent(
  definition: PubSubDefinition,
  context: ComponentContext,
  resiliency: Resiliency,
): Promise<SubscribablePubSub> {
  const { name, topics, topicProblem = () => undefined } = definition;
  const [inbound, outbound] = [resiliency.forComponent(name, 'inbound'), resiliency.forComponent(name, 'outbound')];
  const opened = new OutsidePubSub(await definition.open(context));
  const component = outbound === undefined ? opened : new ResilientPubSub(opened, outbound);
  return { name, component, access: context, topics, topicProblem, definition, inbound };
}

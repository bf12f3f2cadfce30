import type { AppCall, AppReply } from '../../app/channel.ts';
import type { PubSubComponent } from '../../components/pubsub.ts';
import type { Policy } from '../../resiliency/policy.ts';
import type { BlockHost } from '../block-host.ts';
import type { EnvelopeDefaults } from './envelope.ts';

/** What deliveries need of their surroundings. */
export interface DeliveryHost extends BlockHost {
  readonly envelope: EnvelopeDefaults;
  /** Calls the application. */
  readonly call: (call: AppCall) => Promise<AppReply>;
}

/** The component of a subscription. */
export interface OpenPubSub {
  readonly name: string;
  readonly component: PubSubComponent;
  /** What holds for deliveries from it, if anything is configured. */
  readonly inbound?: Policy | undefined;
}

/** How long the application may take for a message of a component. */
export function deliveryLimitMs({ inbound }: OpenPubSub, host: DeliveryHost): number {
  return inbound?.timeoutMs ?? host.timeLimitMs;
}

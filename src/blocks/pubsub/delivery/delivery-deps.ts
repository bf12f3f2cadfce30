import type { AppMonitor } from '../../../app/app-monitor.ts';
import type { AppCall, AppReply, AppTimeLimit } from '../../../app/channel.ts';
import type { WorkAccess } from '../../../cluster/workplace-of.ts';
import type { PubSubComponent } from '../../../components/pubsub.ts';
import type { Policy } from '../../../resiliency/policy.ts';
import type { BlockDeps } from '../../block-deps.ts';
import type { EnvelopeDefaults } from '../publishing/envelope.ts';
import type { SubscriptionSpec } from './subscription.ts';

/** The dependencies of deliveries. */
export interface DeliveryDeps extends BlockDeps {
  readonly envelope: EnvelopeDefaults;
  /** `undefined` without an application. */
  readonly monitor: AppMonitor | undefined;
  /** How long the application may take for a message; 0 for no limit. */
  readonly timeLimitMs: number;
  /** Calls the application. */
  readonly call: (call: AppCall) => Promise<AppReply>;
}

/** The component of a subscription. */
export interface OpenPubSub {
  readonly name: string;
  readonly component: PubSubComponent;
  /** The store of the component, if it is durable. */
  readonly access: WorkAccess;
  /** The resiliency policy for its deliveries, if one is configured. */
  readonly inbound?: Policy | undefined;
}

/** The time limit that the subscription or the component's policy sets for a delivery, if any; 0 for no limit. */
export function ownLimitMs({ timeoutMs }: SubscriptionSpec, { inbound }: OpenPubSub): number | undefined {
  return timeoutMs ?? inbound?.timeoutMs;
}

/** The time limit of a delivery to the application. */
export function routeLimit(
  spec: SubscriptionSpec,
  pubsub: OpenPubSub,
  { timeLimitMs }: Pick<DeliveryDeps, 'timeLimitMs'>,
): AppTimeLimit {
  const ownMs = ownLimitMs(spec, pubsub);
  if (ownMs === undefined)
    return { timeLimitMs, remedy: 'the limit is deliveryTimeout (insidecar run: --delivery-timeout); 0 is no limit' };
  const setBy =
    spec.timeoutMs === undefined ? "the time-out of the component's resiliency policy" : 'timeout of the subscription';
  return { timeLimitMs: ownMs, remedy: `the limit is ${setBy}` };
}

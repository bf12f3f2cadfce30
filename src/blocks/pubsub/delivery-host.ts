import type { AppCall, AppReply } from '../../app/channel.ts';
import type { PubSubComponent } from '../../components/pubsub.ts';
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
}

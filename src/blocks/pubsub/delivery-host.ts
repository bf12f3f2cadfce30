import type { AppCall, AppReply } from '../../app/channel.ts';
import type { PubSubComponent } from '../../components/pubsub.ts';
import type { SidecarEventEmitter } from '../../events.ts';
import type { Clock } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import type { Work } from '../../util/work.ts';
import type { Wire } from '../../wire.ts';
import type { EnvelopeDefaults } from './envelope.ts';

/** What deliveries need of their surroundings. */
export interface DeliveryHost {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: SidecarEventEmitter;
  readonly work: Work;
  readonly wire: Wire;
  /** A number from 0 to 1, for jitter. */
  readonly random: () => number;
  readonly newId: () => string;
  /** How long the application may take for a message. */
  readonly timeLimitMs: number;
  /** How long a stop waits for messages in flight. */
  readonly patienceMs: number;
  readonly envelope: EnvelopeDefaults;
  /** Calls the application. */
  readonly call: (call: AppCall) => Promise<AppReply>;
}

/** The component of a subscription. */
export interface OpenPubSub {
  readonly name: string;
  readonly component: PubSubComponent;
}

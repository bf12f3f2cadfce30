import type { PubSubService } from '../blocks/pubsub/pubsub-service.ts';
import type { OutboxPublisher } from '../blocks/state/outbox/publisher.ts';
import { NO_METADATA } from '../components/pubsub.ts';

const CLOUD_EVENT = 'application/cloudevents+json';
const RULES = { rawPayload: false } as const;

/** Publishes events of transactions like messages of the application. */
export function outboxPublisher(pubsub: PubSubService): OutboxPublisher {
  return {
    publish: (to, bytes) => {
      const target = pubsub.targetInCode(to, NO_METADATA);
      const { address } = target;
      const message = { address, bytes, contentType: CLOUD_EVENT, metadata: NO_METADATA, rules: RULES };
      return pubsub.send(target, { ...message, trace: undefined });
    },
  };
}

import type { PublishTarget } from '../blocks/pubsub/publish-targets.ts';
import type { Publish } from '../blocks/pubsub/publishing/encode.ts';
import type { PubSubService } from '../blocks/pubsub/pubsub-service.ts';
import type { OutboxPublisher } from '../blocks/state/outbox/publisher.ts';
import { NO_METADATA } from '../components/pubsub.ts';

const CLOUD_EVENT = 'application/cloudevents+json';
const RULES = { rawPayload: false } as const;

/** Publishes events of transactions like messages of the application. */
export function outboxPublisher(pubsub: PubSubService): OutboxPublisher {
  return {
    check: (to, event) => {
      pubsub.encode(messageOf(pubsub.targetInCode(to, NO_METADATA), event));
    },
    publish: (to, event) => {
      const target = pubsub.targetInCode(to, NO_METADATA);
      return pubsub.send(target, messageOf(target, event));
    },
    prepareInCommit: (to, events, store) => {
      const target = pubsub.targetInCode(to, NO_METADATA);
      const messages = events.map((event) => messageOf(target, event));
      return pubsub.prepareInCommit(target, messages, store);
    },
  };
}

function messageOf({ address }: PublishTarget, bytes: Uint8Array): Publish {
  return { address, bytes, contentType: CLOUD_EVENT, metadata: NO_METADATA, rules: RULES, trace: undefined };
}

import type { Sidecar } from '../../sidecar/sidecar.ts';
import { optionsSchema } from '../../util/options-schema.ts';
import type { ExplainBody, ExplainReply, SubscriptionsReply } from '../api/queues.ts';
import type { ApiRoute } from '../route.ts';
import { acts, jsonIn, NAME, reads, TEXT } from './define.ts';

/** The subscriptions and their events. */
export function subscriptionRoutes(): readonly ApiRoute[] {
  const explained = optionsSchema<ExplainBody>({ pubsubName: NAME, topic: NAME, event: TEXT }, [
    ...(['pubsubName', 'topic', 'event'] as const),
  ]);
  return [
    reads(
      'subscriptions',
      [],
      async ({ pubsub }): Promise<SubscriptionsReply> => ({ subscriptions: pubsub.subscriptions() }),
    ),
    acts<ExplainBody>('subscriptions/explain', explained, explain, 'read'),
  ];
}

async function explain({ pubsub }: Sidecar, { pubsubName, topic, event }: ExplainBody): Promise<ExplainReply> {
  const value = jsonIn('event', event);
  const isEvent = typeof value === 'object' && value !== null && 'specversion' in value;
  const contentType = isEvent ? 'application/cloudevents+json' : 'application/json';
  return pubsub.explain(pubsubName, topic, Buffer.from(event), { contentType });
}

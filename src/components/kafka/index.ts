/**
 * Pub/sub on Kafka. Experimental.
 *
 * @packageDocumentation
 */

import { type BrokerOptions, brokerDefinition } from '../broker/broker-pubsub.ts';
import { checkBrokerOptions } from '../broker/options.ts';
import type { PubSubDefinition } from '../pubsub.ts';
import { KAFKA_FIELDS, type KafkaAccessOptions, type KafkaSasl, settingsOf } from './access-options.ts';
import { loadKafka } from './driver.ts';
import { KafkaClient } from './kafka-client.ts';
import { topicProblem } from './names.ts';

export { type KafkaBindingOptions, kafkaBinding } from './kafka-binding.ts';
export type { KafkaAccessOptions, KafkaSasl };

/** Options of {@link kafkaPubSub}. @public */
export interface KafkaPubSubOptions extends BrokerOptions, KafkaAccessOptions {}

/**
 * A pub/sub component on Kafka, as `pubsub.kafka` of Dapr. Experimental: it has been tested with a program that speaks
 * Kafka's protocol, and not yet with a cluster. Needs the package `@platformatic/kafka` 1.
 *
 * A publish succeeds once all replicas in sync have the message. A group gets each message at least once; the processes
 * of a group divide the partitions among them. Kafka records one place per partition: after a crash, messages that were
 * acknowledged behind one that was not are delivered again. Attempts start from 1 again after a restart of the process.
 *
 * @param name - the name used in requests; not `bulk`
 * @example
 * ```ts
 * const sidecar = new Sidecar({
 *   appId: 'orders',
 *   components: [kafkaPubSub('pubsub', { brokers: ['kafka-1.internal:9092', 'kafka-2.internal:9092'] })],
 * });
 * ```
 * @public
 */
export function kafkaPubSub(name: string, options: KafkaPubSubOptions): PubSubDefinition {
  const what = `options of kafkaPubSub ${JSON.stringify(name)}`;
  const wrong = checkBrokerOptions(what, options, KAFKA_FIELDS);
  const settings = settingsOf(options, wrong, what);
  return brokerDefinition({
    ...{ name, type: 'pubsub.kafka', options },
    topicProblem,
    // A key has one partition, and a partition one consumer.
    limits: ['order', 'perKey'],
    connect: async (context) => new KafkaClient({ kafka: await loadKafka(), settings, context }),
  });
}

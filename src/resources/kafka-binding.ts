import { type KafkaBindingOptions, kafkaBinding } from '../components/kafka/index.ts';
import { isApiError } from '../errors.ts';
import { definedOnly } from '../util/defined-only.ts';
import { BROKER_BINDING_NAMES, brokerBindingMetadata } from './broker-binding-metadata.ts';
import { KAFKA_FORM, KAFKA_IGNORES, KAFKA_NAMES, kafkaAccess } from './kafka-pubsub.ts';
import { MetadataReader } from './metadata-reader.ts';
import type { MakeStore } from './store-source.ts';

/** The metadata of a `bindings.kafka`. */
export const kafkaBindingMetadata: { readonly uses: readonly string[]; readonly ignores: readonly string[] } = {
  uses: [...BROKER_BINDING_NAMES, ...KAFKA_NAMES, 'topics', 'publishTopic'],
  ignores: KAFKA_IGNORES,
};

/** Makes a `bindings.kafka`. */
export const makeKafkaBinding: MakeStore = (source) => {
  const reader = new MetadataReader(source);
  const topics = reader
    .text('topics')
    ?.split(',')
    .map((topic) => topic.trim());
  const publishTopic = reader.text('publishTopic');
  const options = { ...brokerBindingMetadata(reader), ...kafkaAccess(reader, source.type) };
  if (reader.hasProblem) return undefined;
  reader.note('bindings.kafka is experimental: it has not been tested with a cluster of Kafka yet');
  try {
    // The cast is safe: what is not given is left out.
    return kafkaBinding(source.name, { ...options, ...definedOnly({ topics, publishTopic }) } as KafkaBindingOptions);
  } catch (error) {
    if (!isApiError(error)) throw error;
    reader.problem(`${KAFKA_FORM}; topics and publishTopic must be names of topics`);
    return undefined;
  }
};

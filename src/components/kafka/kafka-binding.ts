import { ANYTHING, checkOptions, isTexts, type OptionFields, TEXT } from '../../util/option-fields.ts';
import { type Binding, type BindingDefinition, BindingError, type BindingRequest } from '../binding.ts';
import { commonParts } from '../binding-options.ts';
import { BROKER_BINDING_FIELDS, BrokerBinding, type BrokerBindingOptions } from '../broker/broker-binding.ts';
import type { ComponentContext } from '../component.ts';
import type { Message } from '../pubsub.ts';
import { KAFKA_FIELDS, type KafkaAccessOptions, settingsOf } from './access-options.ts';
import { loadKafka } from './driver.ts';
import { KafkaClient, type KafkaSettings } from './kafka-client.ts';
import { topicProblem } from './names.ts';
import { plainOutgoing } from './records.ts';

/** Options of {@link kafkaBinding}. @public */
export interface KafkaBindingOptions extends BrokerBindingOptions, KafkaAccessOptions {
  /** The topics that are read. Default: none. */
  readonly topics?: readonly string[] | undefined;
  /** The topic that calls publish to. Default: none, and calls fail. */
  readonly publishTopic?: string | undefined;
}

const FIELDS: OptionFields<KafkaBindingOptions> = {
  ...BROKER_BINDING_FIELDS,
  ...KAFKA_FIELDS,
  topics: ANYTHING,
  publishTopic: TEXT,
};
const TYPE = 'bindings.kafka';

/**
 * A binding to Kafka, in both directions. Experimental, as `kafkaPubSub` is. The operation `create` publishes the data
 * to `publishTopic`, with the key in the metadata `partitionKey` or `key`, and all other metadata as headers. An event
 * has the headers of the record as its metadata, and `__key`, `__topic`, `__partition`, `__offset` and `__timestamp`;
 * one that the application did not accept comes again. Needs the package `@platformatic/kafka` 1.
 *
 * @param name - the name in requests, and the application's route without `route`
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options.
 * @example
 * ```ts
 * const brokers = ['kafka.internal:9092'];
 * const components = [kafkaBinding('orders', { brokers, topics: ['orders'], publishTopic: 'orders' })];
 * ```
 * @public
 */
export function kafkaBinding(name: string, options: KafkaBindingOptions): BindingDefinition {
  const what = `options of kafkaBinding ${JSON.stringify(name)}`;
  const wrong = checkOptions(what, options, FIELDS);
  const { topics = [], publishTopic } = options;
  if (!isTexts(topics) || topics.some((topic) => topicProblem(topic) !== undefined))
    throw wrong('topics', 'a list of topics of Kafka');
  const problem = publishTopic === undefined ? undefined : topicProblem(publishTopic);
  if (problem !== undefined) throw wrong('publishTopic', `a topic of Kafka: ${problem}`);
  const settings = settingsOf(options, wrong, what);
  return {
    ...commonParts(options),
    name,
    type: TYPE,
    directions: ['input', 'output'],
    operations: ['create'],
    open: async (context) => open(name, options, settings, context),
  };
}

async function open(
  name: string,
  options: KafkaBindingOptions,
  settings: KafkaSettings,
  context: ComponentContext,
): Promise<Binding> {
  const { topics = [], publishTopic } = options;
  return new BrokerBinding({
    client: new KafkaClient({ kafka: await loadKafka(TYPE), settings, context, recordOf: plainOutgoing }),
    // The name that other programs of the group know, if one is given.
    ...{ options, context, topics, group: options.consumerId ?? `${context.appId}/bindings/${name}` },
    messageOf: (request) => messageOf(publishTopic, request),
    metadataOf: ({ metadata }) => metadata,
  });
}

function messageOf(topic: string | undefined, { metadata }: BindingRequest): Pick<Message, 'topic' | 'metadata'> {
  if (topic === undefined) throw new BindingError('the binding has no publishTopic: expected one in its options');
  const { key, ...headers } = metadata;
  return { topic, metadata: key === undefined ? metadata : { partitionKey: key, ...headers } };
}

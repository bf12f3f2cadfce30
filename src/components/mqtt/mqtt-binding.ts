import { BOOLEAN, checkOptions, type OptionFields, required, TEXT } from '../../util/option-fields.ts';
import { type Binding, type BindingDefinition, BindingError, type BindingRequest } from '../binding.ts';
import { commonParts } from '../binding-options.ts';
import { BROKER_BINDING_FIELDS, BrokerBinding, type BrokerBindingOptions } from '../broker/broker-binding.ts';
import type { ComponentContext } from '../component.ts';
import { type Message, NO_METADATA } from '../pubsub.ts';
import { brokerOf, MQTT_BROKER_FIELDS, type MqttBrokerOptions } from './broker-options.ts';
import { loadMqttPacket } from './driver.ts';
import { MqttClient, type MqttSettings } from './mqtt-client.ts';
import { filterProblem, publishTopicProblem } from './names.ts';

/** Options of {@link mqttBinding}. @public */
export interface MqttBindingOptions extends BrokerBindingOptions, MqttBrokerOptions {
  /** The topic that is read, perhaps with the wildcards `+` and `#`, and that calls publish to without their own. */
  readonly topic: string;
  /** The beginning of the client IDs. It must differ between processes that read at the same time. Default: the app ID. */
  readonly consumerId?: string | undefined;
  /** Whether the broker keeps the last message of each topic for later readers. Default: `false`. */
  readonly retain?: boolean | undefined;
  /** Whether the broker forgets what was not accepted as soon as the connection ends. Default: `false`. */
  readonly cleanSession?: boolean | undefined;
}

const FIELDS: OptionFields<MqttBindingOptions> = {
  ...BROKER_BINDING_FIELDS,
  ...MQTT_BROKER_FIELDS,
  topic: required(TEXT),
  consumerId: TEXT,
  retain: BOOLEAN,
  cleanSession: BOOLEAN,
};
const RECEIVE_MAXIMUM = 1_000;
const TYPE = 'bindings.mqtt3';

/**
 * A binding to an MQTT broker, in both directions, with MQTT 3.1.1 and QoS 1. The operation `create` publishes the data
 * to `topic`, or to the topic in the metadata `topic`. An event has the topic in the metadata `mqttTopic`; one that the
 * application did not accept comes again. Needs the package `mqtt-packet` 9.
 *
 * @param name - the name in requests, and the application's route without `route`
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options.
 * @example
 * ```ts
 * const components = [mqttBinding('sensors', { url: 'mqtt://broker.internal', topic: 'sensors/+/temperature' })];
 * ```
 * @public
 */
export function mqttBinding(name: string, options: MqttBindingOptions): BindingDefinition {
  const what = `options of mqttBinding ${JSON.stringify(name)}`;
  const wrong = checkOptions(what, options, FIELDS);
  const problem = filterProblem(options.topic);
  if (problem !== undefined) throw wrong('topic', `one that can be read: ${problem}`);
  const settings: MqttSettings = {
    broker: brokerOf(options, 4, wrong),
    consumerId: options.consumerId,
    clientIdPrefix: undefined,
    cleanSession: options.cleanSession ?? false,
    retain: options.retain ?? false,
    instanceId: undefined,
    receiveMaximum: RECEIVE_MAXIMUM,
  };
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
  options: MqttBindingOptions,
  settings: MqttSettings,
  context: ComponentContext,
): Promise<Binding> {
  return new BrokerBinding({
    client: new MqttClient({ packets: await loadMqttPacket(TYPE), settings, context }),
    ...{ options, context, topics: [options.topic], group: `${context.appId}/bindings/${name}` },
    messageOf: (request) => messageOf(options.topic, request),
    metadataOf: ({ topic }) => ({ mqttTopic: topic }),
  });
}

/** MQTT 3.1.1 carries nothing beside the data. */
function messageOf(byDefault: string, { metadata }: BindingRequest): Pick<Message, 'topic' | 'metadata'> {
  // The first is the name in the documents of Dapr, the second that in its code.
  const topic = metadata['topic'] || metadata['mqttTopic'] || byDefault;
  const problem = publishTopicProblem(topic);
  if (problem !== undefined) throw new BindingError(problem);
  return { topic, metadata: NO_METADATA };
}

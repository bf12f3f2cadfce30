/**
 * Pub/sub on MQTT brokers.
 *
 * @packageDocumentation
 */

import {
  ANY_TEXT,
  ANYTHING,
  BOOLEAN,
  checkOptions,
  field,
  type OptionFields,
  required,
  TEXT,
  text,
  whole,
} from '../../util/option-fields.ts';
import { type BrokerOptions, brokerDefinition } from '../broker/broker-pubsub.ts';
import { checkBrokerOptions } from '../broker/options.ts';
import type { PubSubDefinition } from '../pubsub.ts';
import { brokerOf, MQTT_BROKER_FIELDS, type MqttBrokerOptions } from './broker-options.ts';
import { loadMqttPacket } from './driver.ts';
import { MqttClient, type MqttSettings } from './mqtt-client.ts';
import { filterProblem, publishTopicProblem } from './names.ts';

export { type MqttBindingOptions, mqttBinding } from './mqtt-binding.ts';
export type { MqttBrokerOptions };

/** Options of {@link mqttPubSub}. @public */
export interface MqttPubSubOptions extends BrokerOptions, MqttBrokerOptions {
  /**
   * The version of MQTT: 5, or 4 for MQTT 3.1.1. Messages carry no metadata, content types and origins of dead letters
   * in 3.1.1. Default 5.
   */
  readonly protocolVersion?: 4 | 5 | undefined;
  /** Stands for the app ID in the names of consumer groups. Default: the app ID. */
  readonly consumerId?: string | undefined;
  /**
   * How client IDs begin; 40 characters of it are used. With `''` they have 22 letters and digits, which every broker
   * accepts. Default: `consumerId`.
   */
  readonly clientIdPrefix?: string | undefined;
  /** Whether the broker forgets a group's messages as soon as its connection ends: messages are lost. Default: `false`. */
  readonly cleanSession?: boolean | undefined;
  /** Whether the broker keeps the last message of each topic for later subscribers. Default: `false`. */
  readonly retain?: boolean | undefined;
  /**
   * Lets several processes share the messages of a group. `instanceId` names this process: it must differ from those of
   * the others, and be the same after a restart, because the broker keeps messages for it. Default: one process per
   * group.
   */
  readonly sharedSubscription?: { readonly instanceId: string } | undefined;
  /**
   * Max messages of one group and topic that are not settled, those that wait for a retry included; 1 to 65,535.
   * Default 1,000.
   */
  readonly receiveMaximum?: number | undefined;
}

const FIELDS: OptionFields<Omit<MqttPubSubOptions, keyof BrokerOptions>> = {
  ...MQTT_BROKER_FIELDS,
  protocolVersion: field((value) => value === 4 || value === 5, '5, or 4 for MQTT 3.1.1'),
  consumerId: TEXT,
  clientIdPrefix: ANY_TEXT,
  cleanSession: BOOLEAN,
  retain: BOOLEAN,
  sharedSubscription: ANYTHING,
  receiveMaximum: whole(1, 65_535),
};
type SharedSubscription = MqttPubSubOptions['sharedSubscription'] & object;
const SHARED_FIELDS: OptionFields<SharedSubscription> = {
  instanceId: required(text('a name of this process that outlives restarts')),
};
const DEFAULT_RECEIVE_MAXIMUM = 1_000;

/**
 * A pub/sub component on an MQTT broker, as `pubsub.mqtt3` of Dapr (version 3.1.1) or `pubsub.mqtt5`. Needs the package
 * `mqtt-packet` 9.
 *
 * Messages have QoS 1: a publish succeeds once the broker has confirmed it, and a delivery is confirmed once the
 * application has answered. Each group has a session for each topic, which collects messages without a consumer, as
 * many as the broker's settings allow. One process consumes for a group, unless `sharedSubscription` is set. Attempts
 * start from 1 again after a restart of the process. Topics of subscriptions may have the wildcards `+` and `#`.
 *
 * @param name - the name used in requests; not `bulk`
 * @example
 * ```ts
 * const sidecar = new Sidecar({ appId: 'orders', components: [mqttPubSub('pubsub', { url: 'mqtt://broker.internal' })] });
 * ```
 * @public
 */
export function mqttPubSub(name: string, options: MqttPubSubOptions): PubSubDefinition {
  const what = `options of mqttPubSub ${JSON.stringify(name)}`;
  const wrong = checkBrokerOptions(what, options, FIELDS);
  const { sharedSubscription } = options;
  if (sharedSubscription !== undefined)
    checkOptions(`sharedSubscription in ${what}`, sharedSubscription, SHARED_FIELDS);
  const settings: MqttSettings = {
    broker: brokerOf(options, options.protocolVersion ?? 5, wrong),
    consumerId: options.consumerId,
    clientIdPrefix: options.clientIdPrefix,
    cleanSession: options.cleanSession ?? false,
    retain: options.retain ?? false,
    instanceId: sharedSubscription?.instanceId,
    receiveMaximum: options.receiveMaximum ?? DEFAULT_RECEIVE_MAXIMUM,
  };
  const type = settings.broker.protocolVersion === 5 ? 'pubsub.mqtt5' : 'pubsub.mqtt3';
  return brokerDefinition({
    ...{ name, type, options },
    topicProblem: (topic, use) => (use === 'publish' ? publishTopicProblem(topic) : filterProblem(topic)),
    connect: async (context) => new MqttClient({ packets: await loadMqttPacket(type), settings, context }),
  });
}

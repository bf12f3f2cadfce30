/**
 * Pub/sub on MQTT brokers.
 *
 * @packageDocumentation
 */

import { type Duration, msOf } from '../../util/duration.ts';
import { duration } from '../../util/duration-option.ts';
import {
  ANY_TEXT,
  ANYTHING,
  BOOLEAN,
  checkOptions,
  field,
  type OptionFields,
  required,
  secret,
  TEXT,
  text,
  type WrongOption,
  whole,
} from '../../util/option-fields.ts';
import { type BrokerOptions, brokerDefinition } from '../broker/broker-pubsub.ts';
import { checkBrokerOptions, tlsOptions } from '../broker/options.ts';
import { hostOf, serverUrl, urlPart } from '../broker/server-url.ts';
import type { PubSubDefinition } from '../pubsub.ts';
import { TLS } from '../tls-fields.ts';
import { loadMqttPacket } from './driver.ts';
import { MqttClient, type MqttSettings } from './mqtt-client.ts';
import type { MqttBroker } from './mqtt-connection.ts';
import { filterProblem, publishTopicProblem } from './names.ts';

/** Options of {@link mqttPubSub}. @public */
export interface MqttPubSubOptions extends BrokerOptions {
  /**
   * `mqtt://[user[:password]@]host[:port]`, or `mqtts://` for TLS. `tcp` means `mqtt`; `ssl`, `tls` and `tcps` mean
   * `mqtts`. Default ports: 1883, 8883.
   */
  readonly url: string;
  /**
   * The version of MQTT: 5, or 4 for MQTT 3.1.1. Messages carry no metadata, content types and origins of dead letters
   * in 3.1.1. Default 5.
   */
  readonly protocolVersion?: 4 | 5 | undefined;
  /** Default: that of the URL. */
  readonly username?: string | undefined;
  /** Default: that of the URL. */
  readonly password?: string | undefined;
  /** `true`, or the options of `tls.connect`. Default: `true` if the URL stands for TLS. */
  readonly tls?: boolean | object | undefined;
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
  /** After so much silence of the broker a connection counts as broken; at least `2s`. Default `20s`. */
  readonly keepAlive?: Duration | undefined;
}

const FIELDS: OptionFields<Omit<MqttPubSubOptions, keyof BrokerOptions>> = {
  url: secret(ANYTHING),
  protocolVersion: field((value) => value === 4 || value === 5, '5, or 4 for MQTT 3.1.1'),
  username: secret(ANY_TEXT),
  password: secret(ANY_TEXT),
  tls: TLS,
  consumerId: TEXT,
  clientIdPrefix: ANY_TEXT,
  cleanSession: BOOLEAN,
  retain: BOOLEAN,
  sharedSubscription: ANYTHING,
  receiveMaximum: whole(1, 65_535),
  keepAlive: duration(2_000, 65_535_000),
};
type SharedSubscription = MqttPubSubOptions['sharedSubscription'] & object;
const SHARED_FIELDS: OptionFields<SharedSubscription> = {
  instanceId: required(text('a name of this process that outlives restarts')),
};
const PLAIN_SCHEMES = ['mqtt:', 'tcp:'];
const TLS_SCHEMES = ['mqtts:', 'ssl:', 'tls:', 'tcps:'];
const DEFAULT_RECEIVE_MAXIMUM = 1_000;
const DEFAULT_KEEP_ALIVE_MS = 20_000;

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
    broker: brokerOf(options, wrong),
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

function brokerOf(options: MqttPubSubOptions, wrong: WrongOption<MqttPubSubOptions>): MqttBroker {
  const { protocolVersion = 5, keepAlive = DEFAULT_KEEP_ALIVE_MS } = options;
  const url = serverUrl(options.url, [...PLAIN_SCHEMES, ...TLS_SCHEMES]);
  if (url === undefined || url.hostname === '' || !/^\/?$/.test(url.pathname) || url.search !== '')
    throw wrong('url', 'one like "mqtt://user:password@host:1883", with mqtt, mqtts, tcp, ssl, tls or tcps');
  const isTls = TLS_SCHEMES.includes(url.protocol);
  const { username = urlPart(url.username), password = urlPart(url.password) } = options;
  if (password !== undefined && username === undefined) throw wrong('password', 'a username with it');
  const port = Number(url.port || (isTls ? 8883 : 1883));
  return {
    ...{ name: `MQTT broker at ${url.hostname}:${port}`, host: hostOf(url), port, username, password, protocolVersion },
    tls: tlsOptions(options.tls ?? isTls),
    keepAliveS: Math.ceil(msOf(keepAlive) / 1_000),
  };
}

/**
 * Pub/sub on MQTT brokers.
 *
 * @packageDocumentation
 */

import { createSecureContext } from 'node:tls';
import { messageOf, SidecarError } from '../../errors.ts';
import { checkFields, fieldNames } from '../../util/known-fields.ts';
import { type BrokerOptions, brokerDefinition } from '../broker/broker-pubsub.ts';
import type { PubSubDefinition } from '../pubsub.ts';
import { loadMqttPacket } from './driver.ts';
import { MqttClient, type MqttSettings } from './mqtt-client.ts';
import type { MqttBroker } from './mqtt-connection.ts';

export type { BrokerOptions };

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
  readonly protocolVersion?: 4 | 5;
  /** Default: that of the URL. */
  readonly username?: string;
  /** Default: that of the URL. */
  readonly password?: string;
  /** `true`, or the options of `tls.connect`. Default: `true` if the URL stands for TLS. */
  readonly tls?: boolean | object;
  /** Stands for the app ID in the names of consumer groups. Default: the app ID. */
  readonly consumerId?: string;
  /**
   * How client IDs begin; 40 characters of it are used. With `''` they have 22 letters and digits, which every broker
   * accepts. Default: `consumerId`.
   */
  readonly clientIdPrefix?: string;
  /** Whether the broker forgets a group's messages as soon as its connection ends: messages are lost. Default: `false`. */
  readonly cleanSession?: boolean;
  /** Whether the broker keeps the last message of each topic for later subscribers. Default: `false`. */
  readonly retain?: boolean;
  /**
   * Lets several processes share the messages of a group. `instanceId` names this process: it must differ from those of
   * the others, and be the same after a restart, because the broker keeps messages for it. Default: one process per
   * group.
   */
  readonly sharedSubscription?: { readonly instanceId: string };
  /**
   * Max messages of one group and topic that are not settled, those that wait for a retry included; 1 to 65,535.
   * Default 1,000.
   */
  readonly receiveMaximum?: number;
  /** After so much silence of the broker a connection counts as broken, in milliseconds; at least 2,000. Default 20,000. */
  readonly keepAliveMs?: number;
}

const FIELDS = fieldNames<MqttPubSubOptions>({
  url: true,
  protocolVersion: true,
  username: true,
  password: true,
  tls: true,
  consumerId: true,
  clientIdPrefix: true,
  cleanSession: true,
  retain: true,
  sharedSubscription: true,
  receiveMaximum: true,
  keepAliveMs: true,
  publishTimeoutMs: true,
  scopes: true,
  publishingScopes: true,
  subscriptionScopes: true,
  allowedTopics: true,
  protectedTopics: true,
});
const SHARED_FIELDS = fieldNames<MqttPubSubOptions['sharedSubscription'] & object>({ instanceId: true });
const PLAIN_SCHEMES = ['mqtt:', 'tcp:'];
const TLS_SCHEMES = ['mqtts:', 'ssl:', 'tls:', 'tcps:'];
const DEFAULT_RECEIVE_MAXIMUM = 1_000;
const DEFAULT_KEEP_ALIVE_MS = 20_000;
const MAX_KEEP_ALIVE_MS = 65_535_000;

/**
 * A pub/sub component on an MQTT broker, as `pubsub.mqtt3` of Dapr (version 3.1.1) or `pubsub.mqtt5`. Needs the package
 * `mqtt-packet` 9.
 *
 * Messages have QoS 1: a publish succeeds once the broker has confirmed it, and a delivery is confirmed once the
 * application has answered. Each group has a session for each topic, which collects messages while nobody consumes, as
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
  const what = `mqttPubSub ${JSON.stringify(name)}`;
  checkFields(options, FIELDS, `options of ${what}`, 'ERR_CONFIGURATION');
  const settings = settingsOf(options, what);
  const type = settings.broker.protocolVersion === 5 ? 'pubsub.mqtt5' : 'pubsub.mqtt3';
  return brokerDefinition({
    ...{ name, type, options },
    connect: async (context) => new MqttClient({ packets: await loadMqttPacket(type), settings, context }),
  });
}

function settingsOf(options: MqttPubSubOptions, what: string): MqttSettings {
  const { consumerId, clientIdPrefix, cleanSession = false, retain = false, sharedSubscription } = options;
  const { receiveMaximum = DEFAULT_RECEIVE_MAXIMUM } = options;
  for (const [option, text] of Object.entries({ consumerId, clientIdPrefix }))
    if (text !== undefined && typeof text !== 'string') throw wrong(what, option, text, 'a text');
  if (consumerId === '') throw wrong(what, 'consumerId', consumerId, 'a name');
  for (const [option, value] of Object.entries({ cleanSession, retain }))
    if (typeof value !== 'boolean') throw wrong(what, option, value, 'true or false');
  if (!isWithin(receiveMaximum, 1, 65_535))
    throw wrong(what, 'receiveMaximum', receiveMaximum, 'a whole number of 1 to 65535');
  if (sharedSubscription !== undefined) {
    checkFields(sharedSubscription, SHARED_FIELDS, `sharedSubscription of ${what}`, 'ERR_CONFIGURATION');
    const { instanceId } = sharedSubscription;
    if (typeof instanceId !== 'string' || instanceId === '')
      throw wrong(what, 'sharedSubscription.instanceId', instanceId, 'a name of this process that outlives restarts');
  }
  const instanceId = sharedSubscription?.instanceId;
  return {
    ...{ broker: brokerOf(options, what), consumerId, clientIdPrefix, cleanSession, retain },
    ...{ instanceId, receiveMaximum },
  };
}

function brokerOf(options: MqttPubSubOptions, what: string): MqttBroker {
  const { protocolVersion = 5, keepAliveMs = DEFAULT_KEEP_ALIVE_MS } = options;
  const url = urlOf(options.url, what);
  const isTls = TLS_SCHEMES.includes(url.protocol);
  const { username = textOf(url.username), password = textOf(url.password) } = options;
  if (protocolVersion !== 4 && protocolVersion !== 5)
    throw wrong(what, 'protocolVersion', protocolVersion, '5, or 4 for MQTT 3.1.1');
  if (!isWithin(keepAliveMs, 2_000, MAX_KEEP_ALIVE_MS))
    throw wrong(what, 'keepAliveMs', keepAliveMs, `a whole number of 2000 to ${MAX_KEEP_ALIVE_MS}`);
  if (password !== undefined && username === undefined)
    throw new SidecarError('ERR_CONFIGURATION', `${what}: a password needs a username`);
  const host = url.hostname.replaceAll(/^\[|\]$/g, '');
  const port = Number(url.port || (isTls ? 8883 : 1883));
  return {
    ...{ name: `MQTT broker at ${url.hostname}:${port}`, host, port, username, password, protocolVersion },
    tls: tlsOf(options.tls ?? isTls, what),
    keepAliveS: Math.ceil(keepAliveMs / 1_000),
  };
}

/** Parses the URL. Messages do not show it, since it may hold a password. */
function urlOf(text: string, what: string): URL {
  let url: URL | undefined;
  let isReadable = false;
  try {
    url = new URL(text);
    decodeURIComponent(url.username + url.password);
    isReadable = true;
  } catch {
    // Reported below.
  }
  const isKnown = url !== undefined && [...PLAIN_SCHEMES, ...TLS_SCHEMES].includes(url.protocol);
  if (
    url === undefined ||
    !isReadable ||
    !isKnown ||
    url.hostname === '' ||
    !/^\/?$/.test(url.pathname) ||
    url.search !== ''
  )
    throw new SidecarError(
      'ERR_CONFIGURATION',
      `${what}: url must be like "mqtt://user:password@host:1883", with mqtt, mqtts, tcp, ssl, tls or tcps`,
    );
  return url;
}

function tlsOf(tls: boolean | object, what: string): object | undefined {
  if (tls === false) return undefined;
  if (tls === true) return {};
  if (typeof tls !== 'object' || tls === null) throw wrong(what, 'tls', tls, 'true, false or an object');
  try {
    createSecureContext(tls);
  } catch (error) {
    throw new SidecarError('ERR_CONFIGURATION', `${what}: tls is not valid: ${messageOf(error)}`, { cause: error });
  }
  return tls;
}

function textOf(part: string): string | undefined {
  return part === '' ? undefined : decodeURIComponent(part);
}

function isWithin(value: unknown, min: number, max: number): boolean {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}

function wrong(what: string, option: string, value: unknown, expected: string): SidecarError {
  return new SidecarError('ERR_CONFIGURATION', `${what}: ${option} is ${JSON.stringify(value)}: expected ${expected}`);
}

/**
 * Pub/sub on Kafka. Experimental.
 *
 * @packageDocumentation
 */

import { createSecureContext } from 'node:tls';
import { messageOf, SidecarError } from '../../errors.ts';
import { checkFields, fieldNames } from '../../util/known-fields.ts';
import { type BrokerOptions, brokerDefinition } from '../broker/broker-pubsub.ts';
import type { PubSubDefinition } from '../pubsub.ts';
import { loadKafka } from './driver.ts';
import { KafkaClient, type KafkaSettings } from './kafka-client.ts';

export type { BrokerOptions };

/** How to log in to Kafka by SASL. @public */
export type KafkaSasl =
  | {
      readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
      readonly username: string;
      readonly password: string;
    }
  | {
      readonly mechanism: 'oauthbearer';
      /** Returns an access token; called for every connection. */
      readonly token: () => string | Promise<string>;
    };

/** Options of {@link kafkaPubSub}. @public */
export interface KafkaPubSubOptions extends BrokerOptions {
  /** The brokers to begin with, `host:port` each. */
  readonly brokers: readonly string[];
  /** What the brokers call this client. Default: the app ID. */
  readonly clientId?: string;
  /** Stands for the app ID in the names of consumer groups. Default: the app ID. */
  readonly consumerId?: string;
  /** Where a new group begins: at the messages that come after it, or at the oldest. Default `newest`, as in Dapr. */
  readonly initialOffset?: 'newest' | 'oldest';
  /** Default: no login. */
  readonly sasl?: KafkaSasl;
  /** `true`, or the options of `tls.connect`, such as `ca`, `cert` and `key`. Default `false`. */
  readonly tls?: boolean | object;
  /** How messages are compressed. Default `none`. */
  readonly compression?: 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';
  /** Max bytes of a message, headers included, and of messages that are sent together. Default 1,048,576. */
  readonly maxMessageBytes?: number;
  /**
   * After so much silence of a process its partitions go to others, in milliseconds; within the limits of the brokers.
   * Default 10,000.
   */
  readonly sessionTimeoutMs?: number;
  /** Between signs of life to the group, in milliseconds; at most a third of `sessionTimeoutMs`. Default 1,000. */
  readonly heartbeatIntervalMs?: number;
  /** Whether the headers of other programs are escaped as in a URL when they become metadata. Default `false`. */
  readonly escapeHeaders?: boolean;
  /** Headers of other programs that do not become metadata. Default: all do. */
  readonly excludeHeaders?: RegExp;
}

const FIELDS = fieldNames<KafkaPubSubOptions>({
  brokers: true,
  clientId: true,
  consumerId: true,
  initialOffset: true,
  sasl: true,
  tls: true,
  compression: true,
  maxMessageBytes: true,
  sessionTimeoutMs: true,
  heartbeatIntervalMs: true,
  escapeHeaders: true,
  excludeHeaders: true,
  publishTimeoutMs: true,
  scopes: true,
  publishingScopes: true,
  subscriptionScopes: true,
  allowedTopics: true,
  protectedTopics: true,
});
const SASL_FIELDS = new Set(['mechanism', 'username', 'password', 'token']);
const PASSWORD_MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512'];
const COMPRESSIONS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];
const DEFAULT_MAX_MESSAGE_BYTES = 1_048_576;
const DEFAULT_SESSION_TIMEOUT_MS = 10_000;
const DEFAULT_HEARTBEAT_INTERVAL_MS = 1_000;
const DEFAULT_PUBLISH_TIMEOUT_MS = 5_000;
const MAX_MS = 2_147_483_647;

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
  const what = `kafkaPubSub ${JSON.stringify(name)}`;
  checkFields(options, FIELDS, `options of ${what}`, 'ERR_CONFIGURATION');
  const settings = settingsOf(options, what);
  return brokerDefinition({
    ...{ name, type: 'pubsub.kafka', options },
    connect: async (context) => new KafkaClient({ kafka: await loadKafka(), settings, context }),
  });
}

function settingsOf(options: KafkaPubSubOptions, what: string): KafkaSettings {
  const { clientId, consumerId, initialOffset = 'newest', compression, escapeHeaders = false } = options;
  const { maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES, publishTimeoutMs = DEFAULT_PUBLISH_TIMEOUT_MS } = options;
  const { excludeHeaders } = options;
  for (const [option, text] of Object.entries({ clientId, consumerId }))
    if (text !== undefined && (typeof text !== 'string' || text === '')) throw wrong(what, option, text, 'a name');
  if (initialOffset !== 'newest' && initialOffset !== 'oldest')
    throw wrong(what, 'initialOffset', initialOffset, '"newest" or "oldest"');
  if (compression !== undefined && !COMPRESSIONS.includes(compression))
    throw wrong(what, 'compression', compression, `one of ${COMPRESSIONS.join(', ')}`);
  if (typeof escapeHeaders !== 'boolean') throw wrong(what, 'escapeHeaders', escapeHeaders, 'true or false');
  if (excludeHeaders !== undefined && !(excludeHeaders instanceof RegExp))
    throw wrong(what, 'excludeHeaders', excludeHeaders, 'a regular expression');
  if (!isWithin(maxMessageBytes, 1_024, MAX_MS))
    throw wrong(what, 'maxMessageBytes', maxMessageBytes, `a whole number of 1024 to ${MAX_MS}`);
  return {
    ...{ brokers: brokersOf(options, what), clientId, consumerId, initialOffset, compression, maxMessageBytes },
    ...{ publishTimeoutMs, times: timesOf(options, what), tls: tlsOf(options.tls ?? false, what) },
    sasl: saslOf(options.sasl, what),
    reading: { escapeHeaders, excludeHeaders },
  };
}

function brokersOf({ brokers }: KafkaPubSubOptions, what: string): readonly string[] {
  const expected = 'addresses like "kafka.internal:9092", at least one';
  if (!Array.isArray(brokers) || brokers.length === 0) throw wrong(what, 'brokers', brokers, expected);
  return brokers.map((broker: unknown) => {
    const text = typeof broker === 'string' ? broker.trim() : '';
    if (!/^(?:\[[\da-f:.]+\]|[^\s:/@]+)(?::\d{1,5})?$/i.test(text)) throw wrong(what, 'brokers', broker, expected);
    return /:\d+$/.test(text) && !text.endsWith(']') ? text : `${text}:9092`;
  });
}

function timesOf(options: KafkaPubSubOptions, what: string): KafkaSettings['times'] {
  const { sessionTimeoutMs = DEFAULT_SESSION_TIMEOUT_MS } = options;
  const { heartbeatIntervalMs = Math.min(DEFAULT_HEARTBEAT_INTERVAL_MS, Math.floor(sessionTimeoutMs / 3)) } = options;
  if (!isWithin(sessionTimeoutMs, 1_000, 3_600_000))
    throw wrong(what, 'sessionTimeoutMs', sessionTimeoutMs, 'a whole number of 1000 to 3600000');
  if (!isWithin(heartbeatIntervalMs, 100, Math.floor(sessionTimeoutMs / 3)))
    throw wrong(what, 'heartbeatIntervalMs', heartbeatIntervalMs, 'at least 100, at most a third of sessionTimeoutMs');
  return { sessionTimeoutMs, heartbeatIntervalMs };
}

/** Messages do not show what is in it. */
function saslOf(sasl: KafkaSasl | undefined, what: string): object | undefined {
  if (sasl === undefined) return undefined;
  checkFields(sasl, SASL_FIELDS, `sasl of ${what}`, 'ERR_CONFIGURATION');
  const mechanism = typeof sasl.mechanism === 'string' ? sasl.mechanism.toUpperCase() : '';
  if (sasl.mechanism === 'oauthbearer') {
    if (typeof sasl.token === 'function') return { mechanism, token: sasl.token };
    throw new SidecarError('ERR_CONFIGURATION', `${what}: sasl oauthbearer needs token: a function`);
  }
  if (!PASSWORD_MECHANISMS.includes(sasl.mechanism))
    throw wrong(what, 'sasl.mechanism', mechanism, `one of ${PASSWORD_MECHANISMS.join(', ')}, oauthbearer`);
  const { username, password } = sasl;
  if (typeof username === 'string' && username !== '' && typeof password === 'string')
    return { mechanism, username, password };
  throw new SidecarError('ERR_CONFIGURATION', `${what}: sasl ${sasl.mechanism} needs username and password`);
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

function isWithin(value: unknown, min: number, max: number): boolean {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}

function wrong(what: string, option: string, value: unknown, expected: string): SidecarError {
  return new SidecarError('ERR_CONFIGURATION', `${what}: ${option} is ${JSON.stringify(value)}: expected ${expected}`);
}

import { type Duration, msOf } from '../../util/duration.ts';
import { duration } from '../../util/duration-option.ts';
import {
  ANY_TEXT,
  ANYTHING,
  BOOLEAN,
  checkOptions,
  choice,
  field,
  type OptionFields,
  required,
  secret,
  TEXT,
  type WrongOption,
  whole,
} from '../../util/option-fields.ts';
import { DEFAULT_PUBLISH_TIMEOUT_MS } from '../broker/broker-pubsub.ts';
import { tlsOptions } from '../broker/options.ts';
import { TLS } from '../tls-fields.ts';
import type { KafkaSettings } from './kafka-client.ts';

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

/** How to reach Kafka, and what to read and write there. @public */
export interface KafkaAccessOptions {
  /** The brokers to begin with, `host:port` each. */
  readonly brokers: readonly string[];
  /** The name of this client at the brokers. Default: the app ID. */
  readonly clientId?: string | undefined;
  /** Stands for the app ID in the names of consumer groups. Default: the app ID. */
  readonly consumerId?: string | undefined;
  /** Where a new group begins: at the messages that come after it, or at the oldest. Default `newest`, as in Dapr. */
  readonly initialOffset?: 'newest' | 'oldest' | undefined;
  /** Default: no login. */
  readonly sasl?: KafkaSasl | undefined;
  /** `true`, or the options of `tls.connect`, such as `ca`, `cert` and `key`. Default `false`. */
  readonly tls?: boolean | object | undefined;
  /** How messages are compressed. Default `none`. */
  readonly compression?: 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd' | undefined;
  /** Max bytes of a message, headers included, and of messages that are sent together. Default 1,048,576. */
  readonly maxMessageBytes?: number | undefined;
  /**
   * After so much silence of a process its partitions go to others; within the limits of the brokers. Default
   * `10s`.
   */
  readonly sessionTimeout?: Duration | undefined;
  /** Between signs of life to the group; at most a third of `sessionTimeout`. Default `1s`. */
  readonly heartbeatInterval?: Duration | undefined;
  /** Whether the headers of other programs are escaped as in a URL when they become metadata. Default `false`. */
  readonly escapeHeaders?: boolean | undefined;
  /** Headers of other programs that do not become metadata. Default: all do. */
  readonly excludeHeaders?: RegExp | undefined;
}

/** With the time limit of a publish. */
interface KafkaGivenOptions extends KafkaAccessOptions {
  readonly publishTimeout?: Duration | undefined;
}

const MAX_BYTES = 2 ** 31 - 1;
/** Their checks. */
export const KAFKA_FIELDS: OptionFields<KafkaAccessOptions> = {
  brokers: secret(ANYTHING),
  clientId: TEXT,
  consumerId: TEXT,
  initialOffset: choice('newest', 'oldest'),
  sasl: ANYTHING,
  tls: TLS,
  compression: choice('none', 'gzip', 'snappy', 'lz4', 'zstd'),
  maxMessageBytes: whole(1_024, MAX_BYTES),
  sessionTimeout: duration(1_000, 3_600_000),
  heartbeatInterval: duration(100, 1_200_000),
  escapeHeaders: BOOLEAN,
  excludeHeaders: field((value) => value instanceof RegExp, 'a regular expression'),
};
type Sasl = Partial<Record<'mechanism' | 'username' | 'password' | 'token', unknown>>;
const SASL_FIELDS: OptionFields<Sasl> = {
  mechanism: required(choice('plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer')),
  username: secret(TEXT),
  password: secret(ANY_TEXT),
  token: secret(field((value) => typeof value === 'function', 'a function')),
};
const DEFAULT_MAX_MESSAGE_BYTES = 1_048_576;
const DEFAULT_SESSION_TIMEOUT_MS = 10_000;
const DEFAULT_HEARTBEAT_INTERVAL_MS = 1_000;

type Wrong = WrongOption<KafkaAccessOptions>;

/** @throws SidecarError `ERR_CONFIGURATION` */
export function settingsOf(options: KafkaGivenOptions, wrong: Wrong, what: string): KafkaSettings {
  const { clientId, consumerId, initialOffset = 'newest', compression, excludeHeaders } = options;
  const { maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES, publishTimeout = DEFAULT_PUBLISH_TIMEOUT_MS } = options;
  return {
    ...{ brokers: brokersOf(options, wrong), clientId, consumerId, initialOffset, compression, maxMessageBytes },
    ...{
      publishTimeoutMs: msOf(publishTimeout),
      times: timesOf(options, wrong),
      tls: tlsOptions(options.tls ?? false),
    },
    sasl: options.sasl === undefined ? undefined : saslOf(options.sasl, `sasl in ${what}`),
    reading: { escapeHeaders: options.escapeHeaders ?? false, excludeHeaders },
  };
}

function brokersOf({ brokers }: KafkaGivenOptions, wrong: Wrong): readonly string[] {
  const expected = 'addresses like "kafka.internal:9092", at least one';
  if (!Array.isArray(brokers) || brokers.length === 0) throw wrong('brokers', expected);
  return brokers.map((broker: unknown, index) => {
    const text = typeof broker === 'string' ? broker.trim() : '';
    if (!/^(?:\[[\da-f:.]+\]|[^\s:/@]+)(?::\d{1,5})?$/i.test(text))
      throw wrong('brokers', `${expected}, unlike brokers[${index}]`);
    return /:\d+$/.test(text) && !text.endsWith(']') ? text : `${text}:9092`;
  });
}

function timesOf(options: KafkaGivenOptions, wrong: Wrong): KafkaSettings['times'] {
  const sessionTimeoutMs = msOf(options.sessionTimeout) ?? DEFAULT_SESSION_TIMEOUT_MS;
  const longest = Math.floor(sessionTimeoutMs / 3);
  const heartbeatIntervalMs = msOf(options.heartbeatInterval) ?? Math.min(DEFAULT_HEARTBEAT_INTERVAL_MS, longest);
  if (heartbeatIntervalMs > longest) throw wrong('heartbeatInterval', 'at most a third of sessionTimeout');
  return { sessionTimeoutMs, heartbeatIntervalMs };
}

function saslOf(sasl: KafkaSasl, what: string): object {
  const wrong = checkOptions<Sasl>(what, sasl, SASL_FIELDS);
  const mechanism = sasl.mechanism.toUpperCase();
  if (sasl.mechanism === 'oauthbearer') {
    if (sasl.token === undefined) throw wrong('token', 'a function, for oauthbearer');
    return { mechanism, token: sasl.token };
  }
  const { username, password } = sasl;
  for (const [name, text] of Object.entries({ username, password }))
    if (text === undefined) throw wrong(name as keyof Sasl, `a text, for ${sasl.mechanism}`);
  return { mechanism, username, password };
}

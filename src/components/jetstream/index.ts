/**
 * Pub/sub on NATS JetStream.
 *
 * @packageDocumentation
 */

import { type Duration, msOf } from '../../util/duration.ts';
import { duration } from '../../util/duration-option.ts';
import {
  ANY_TEXT,
  BOOLEAN,
  checkOptions,
  field,
  type OptionField,
  type OptionFields,
  secret,
  type WrongOption,
  whole,
} from '../../util/option-fields.ts';
import { type BrokerOptions, brokerDefinition } from '../broker/broker-pubsub.ts';
import { checkBrokerOptions, tlsOptions } from '../broker/options.ts';
import type { PubSubDefinition } from '../pubsub.ts';
import { TLS } from '../tls-fields.ts';
import { parseAddress } from './address.ts';
import { loadNats } from './driver.ts';
import { JetStreamClient, type NatsAccess } from './jetstream-client.ts';
import { topicProblem } from './names.ts';
import type { CreatedStreams, JetStreamDeliverPolicy, JetStreamSettings } from './settings.ts';

export type { CreatedStreams, JetStreamDeliverPolicy };

/** Options of {@link jetstreamPubSub}. @public */
export interface JetStreamPubSubOptions extends BrokerOptions {
  /**
   * `nats://[user:password@]host[:port]`, `nats://token@host`, or `tls://host` for TLS; several servers of a cluster
   * with commas between them. Default: `nats://localhost:4222`.
   */
  readonly url?: string | undefined;
  /** The name of the connection at the server. Default: `insidecar` and the app ID. */
  readonly connectionName?: string | undefined;
  /** Default: that of the URL. */
  readonly token?: string | undefined;
  /** Default: that of the URL. */
  readonly username?: string | undefined;
  /** Default: that of the URL. */
  readonly password?: string | undefined;
  /** A user's JWT; belongs to `seed`. Default: none. */
  readonly jwt?: string | undefined;
  /** The seed of the key of the user of `jwt`. Default: none. */
  readonly seed?: string | undefined;
  /**
   * `true` demands TLS; an object has options of `tls.connect`, such as `ca`, `cert` and `key`. Default: TLS if the
   * server demands it.
   */
  readonly tls?: boolean | object | undefined;
  /** The JetStream domain. Default: that of the server. */
  readonly domain?: string | undefined;
  /** The prefix of the subjects of JetStream's API, instead of `domain`. Default: `$JS.API`. */
  readonly apiPrefix?: string | undefined;
  /** The stream that is consumed. Default: the one that has the topic's subject. */
  readonly stream?: string | undefined;
  /**
   * Whether to create a stream for each topic whose subject no stream has, and how. Not with `stream`. Default: `false`;
   * publishes and subscriptions without a stream fail.
   */
  readonly createStream?: boolean | CreatedStreams | undefined;
  /** Where a group begins when it subscribes for the first time. Default: `'all'`, with the oldest message of the stream. */
  readonly deliverPolicy?: JetStreamDeliverPolicy | undefined;
  /**
   * The name of a durable consumer, such as one of daprd, whose place a new group takes: it begins after the messages
   * that this one has acknowledged. Default: none.
   */
  readonly continueDurable?: string | undefined;
  /**
   * The time after which a message is delivered again when its consumer has died. A living one may take longer.
   * At least `1s`. Default `10s`.
   */
  readonly ackWait?: Duration | undefined;
  /** Max unsettled messages of a group, over all processes, those that wait for a retry included. Default 10,000. */
  readonly maxAckPending?: number | undefined;
  /** The servers of a cluster that store the state of a new group. Default: as many as store its stream. */
  readonly replicas?: number | undefined;
  /** Whether the server keeps the state of new groups in memory only. Default: `false`. */
  readonly memoryStorage?: boolean | undefined;
}

const POLICIES: ReadonlySet<unknown> = new Set(['all', 'last', 'new']);
const NAME = matching(/^[^\s.*>/\\]{1,255}$/, 'a name without white space, dots, slashes, "*" and ">"');
const PREFIX = matching(/^[^\s.*>]+(\.[^\s.*>]+)*$/, 'part of a subject');
const FIELDS: OptionFields<Omit<JetStreamPubSubOptions, keyof BrokerOptions>> = {
  url: secret(ANY_TEXT),
  connectionName: ANY_TEXT,
  token: secret(ANY_TEXT),
  username: secret(ANY_TEXT),
  password: secret(ANY_TEXT),
  jwt: secret(ANY_TEXT),
  seed: secret(ANY_TEXT),
  tls: TLS,
  domain: PREFIX,
  apiPrefix: PREFIX,
  stream: NAME,
  createStream: field((value) => ['boolean', 'object'].includes(typeof value), 'true, false or an object'),
  deliverPolicy: field(
    isPolicy,
    '"all", "last", "new", { startSequence } with a positive number or { startTime } with a Date',
  ),
  continueDurable: NAME,
  ackWait: duration(1_000),
  maxAckPending: whole(1),
  replicas: whole(1),
  memoryStorage: BOOLEAN,
};
const CREATED_FIELDS: OptionFields<CreatedStreams> = { maxAge: duration(100), maxBytes: whole(1), replicas: whole(1) };

/**
 * A pub/sub component on NATS JetStream (server 2.9 or later). Needs the package `@nats-io/transport-node` 3.
 *
 * A topic is a subject, stored by a stream of the server; a group on a topic is a durable pull consumer. A message is
 * published when the server has stored it, and delivered again until it is acknowledged: after the delay of a retry, or
 * `ackWait` after its consumer has died. A stream drops a second message with the ID and topic of one that it got
 * within its duplicate window (two minutes by default). With `concurrency: 1`, order holds over all processes.
 *
 * If the server does not respond at the start, the component connects as soon as it does.
 *
 * @param name - the name used in requests; not `bulk`
 * @throws SidecarError `ERR_CONFIGURATION` for options that cannot be; on opening, if the package is missing.
 *
 * @example
 * ```ts
 * const sidecar = new Sidecar({
 *   appId: 'orders',
 *   components: [jetstreamPubSub('pubsub', { url: 'nats://nats.internal:4222', createStream: true })],
 * });
 * ```
 * @public
 */
export function jetstreamPubSub(name: string, options: JetStreamPubSubOptions = {}): PubSubDefinition {
  const wrong = check(`options of jetstreamPubSub ${JSON.stringify(name)}`, options);
  const access = accessOf(options, wrong);
  const { domain, apiPrefix = domain === undefined ? '$JS.API' : `$JS.${domain}.API` } = options;
  const settings = settingsOf(options);
  return brokerDefinition({
    name,
    type: 'pubsub.jetstream',
    options,
    topicProblem,
    connect: async (context) =>
      new JetStreamClient({ nats: await loadNats(), access, apiPrefix, settings, context, random: Math.random }),
  });
}

function accessOf(options: JetStreamPubSubOptions, wrong: WrongOption<JetStreamPubSubOptions>): NatsAccess {
  const address = parseAddress(options.url ?? 'nats://localhost:4222');
  if (address === undefined)
    throw wrong(
      'url',
      'one like "nats://user:password@host:4222" or "tls://host", or several with commas between them',
    );
  return {
    servers: address.servers,
    connectionName: options.connectionName,
    token: options.token ?? address.token,
    username: options.username ?? address.username,
    password: options.password ?? address.password,
    jwt: options.jwt,
    seed: options.seed,
    tls: tlsOptions(options.tls ?? address.tls),
  };
}

function settingsOf(options: JetStreamPubSubOptions): JetStreamSettings {
  const { createStream = false } = options;
  return {
    stream: options.stream,
    createStream: createStream === true ? {} : createStream === false ? undefined : createStream,
    deliverPolicy: options.deliverPolicy ?? 'all',
    continueDurable: options.continueDurable,
    ackWaitMs: msOf(options.ackWait) ?? 10_000,
    maxAckPending: options.maxAckPending ?? 10_000,
    replicas: options.replicas,
    memoryStorage: options.memoryStorage ?? false,
  };
}

function check(what: string, options: JetStreamPubSubOptions): WrongOption<JetStreamPubSubOptions> {
  const wrong = checkBrokerOptions(what, options, FIELDS);
  const { createStream = false, jwt, seed } = options;
  if (typeof createStream === 'object') checkOptions(`createStream in ${what}`, createStream, CREATED_FIELDS);
  if (options.stream !== undefined && createStream !== false)
    throw wrong('stream', 'none with createStream, which makes a stream for each topic');
  if (jwt !== undefined && seed === undefined) throw wrong('jwt', 'a seed with it');
  if (seed !== undefined && jwt === undefined) throw wrong('seed', 'a jwt with it');
  return wrong;
}

function matching(pattern: RegExp, expected: string): OptionField {
  return field((value) => typeof value === 'string' && pattern.test(value), expected);
}

function isPolicy(policy: unknown): boolean {
  if (typeof policy !== 'object' || policy === null) return POLICIES.has(policy);
  if ('startSequence' in policy) return Number.isSafeInteger(policy.startSequence) && Number(policy.startSequence) > 0;
  return 'startTime' in policy && policy.startTime instanceof Date && !Number.isNaN(policy.startTime.getTime());
}

/**
 * Pub/sub on NATS JetStream.
 *
 * @packageDocumentation
 */

import { SidecarError } from '../../errors.ts';
import { checkFields, fieldNames } from '../../util/known-fields.ts';
import { type BrokerOptions, brokerDefinition } from '../broker/broker-pubsub.ts';
import type { PubSubDefinition } from '../pubsub.ts';
import { parseAddress } from './address.ts';
import { loadNats } from './driver.ts';
import { JetStreamClient, type NatsAccess } from './jetstream-client.ts';
import type { CreatedStreams, JetStreamDeliverPolicy, JetStreamSettings } from './settings.ts';

export type { BrokerOptions, CreatedStreams, JetStreamDeliverPolicy };

/** Options of {@link jetstreamPubSub}. @public */
export interface JetStreamPubSubOptions extends BrokerOptions {
  /**
   * `nats://[user:password@]host[:port]`, `nats://token@host`, or `tls://host` for TLS; several servers of a cluster
   * with commas between them. Default: `nats://localhost:4222`.
   */
  readonly url?: string;
  /** The name of the connection at the server. Default: `insidecar` and the app ID. */
  readonly connectionName?: string;
  /** Default: that of the URL. */
  readonly token?: string;
  /** Default: that of the URL. */
  readonly username?: string;
  /** Default: that of the URL. */
  readonly password?: string;
  /** A user's JWT; belongs to `seed`. Default: none. */
  readonly jwt?: string;
  /** The seed of the key of the user of `jwt`. Default: none. */
  readonly seed?: string;
  /**
   * `true` demands TLS; an object has options of `tls.connect`, such as `ca`, `cert` and `key`. Default: TLS if the
   * server demands it.
   */
  readonly tls?: boolean | object;
  /** The JetStream domain. Default: that of the server. */
  readonly domain?: string;
  /** The prefix of the subjects of JetStream's API, in place of `domain`. Default: `$JS.API`. */
  readonly apiPrefix?: string;
  /** The stream that is consumed. Default: the one that has the topic's subject. */
  readonly stream?: string;
  /**
   * Whether to create a stream for each topic whose subject no stream has, and how. Not with `stream`. Default: `false`;
   * publishes and subscriptions without a stream fail.
   */
  readonly createStream?: boolean | CreatedStreams;
  /** Where a group begins when it subscribes for the first time. Default: `'all'`, with the oldest message of the stream. */
  readonly deliverPolicy?: JetStreamDeliverPolicy;
  /**
   * The name of a durable consumer, such as one of daprd, whose place a new group takes: it begins after the messages
   * that this one has acknowledged. Default: none.
   */
  readonly continueDurable?: string;
  /**
   * The time after which a message is delivered again when its consumer has died, in milliseconds. A living one may
   * take longer. At least 1,000. Default 10,000.
   */
  readonly ackWaitMs?: number;
  /** Max unsettled messages of a group, over all processes, those that wait for a retry included. Default 10,000. */
  readonly maxAckPending?: number;
  /** The servers of a cluster that store the state of a new group. Default: as many as store its stream. */
  readonly replicas?: number;
  /** Whether the server keeps the state of new groups in memory only. Default: `false`. */
  readonly memoryStorage?: boolean;
}

const FIELDS = fieldNames<JetStreamPubSubOptions>({
  url: true,
  connectionName: true,
  token: true,
  username: true,
  password: true,
  jwt: true,
  seed: true,
  tls: true,
  domain: true,
  apiPrefix: true,
  stream: true,
  createStream: true,
  deliverPolicy: true,
  continueDurable: true,
  ackWaitMs: true,
  maxAckPending: true,
  replicas: true,
  memoryStorage: true,
  publishTimeoutMs: true,
  scopes: true,
  publishingScopes: true,
  subscriptionScopes: true,
  allowedTopics: true,
  protectedTopics: true,
});
const CREATED_FIELDS = fieldNames<CreatedStreams>({ maxAgeMs: true, maxBytes: true, replicas: true });
const POLICIES: ReadonlySet<unknown> = new Set(['all', 'last', 'new']);
/** A name of JetStream's. */
const NAME = /^[^\s.*>/\\]{1,255}$/;
const PREFIX = /^[^\s.*>]+(\.[^\s.*>]+)*$/;

/**
 * A pub/sub component on NATS JetStream (server 2.9 or later). Needs the package `@nats-io/transport-node` 3.
 *
 * A topic is a subject, stored by a stream of the server; a group on a topic is a durable pull consumer. A message is
 * published when the server has stored it, and delivered again until it is acknowledged: after the delay of a retry, or
 * `ackWaitMs` after its consumer has died. A stream drops a second message with the ID and topic of one that it got
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
  check(name, options);
  const access = accessOf(options);
  const { domain, apiPrefix = domain === undefined ? '$JS.API' : `$JS.${domain}.API` } = options;
  const settings = settingsOf(options);
  return brokerDefinition({
    name,
    type: 'pubsub.jetstream',
    options,
    connect: async (context) =>
      new JetStreamClient({ nats: await loadNats(), access, apiPrefix, settings, context, random: Math.random }),
  });
}

function accessOf(options: JetStreamPubSubOptions): NatsAccess {
  const address = parseAddress(options.url ?? 'nats://localhost:4222');
  const { tls = address.tls } = options;
  return {
    servers: address.servers,
    connectionName: options.connectionName,
    token: options.token ?? address.token,
    username: options.username ?? address.username,
    password: options.password ?? address.password,
    jwt: options.jwt,
    seed: options.seed,
    tls: tls === false ? undefined : tls === true ? {} : tls,
  };
}

function settingsOf(options: JetStreamPubSubOptions): JetStreamSettings {
  const { createStream = false } = options;
  return {
    stream: options.stream,
    createStream: createStream === true ? {} : createStream === false ? undefined : createStream,
    deliverPolicy: options.deliverPolicy ?? 'all',
    continueDurable: options.continueDurable,
    ackWaitMs: options.ackWaitMs ?? 10_000,
    maxAckPending: options.maxAckPending ?? 10_000,
    replicas: options.replicas,
    memoryStorage: options.memoryStorage ?? false,
  };
}

function check(name: string, options: JetStreamPubSubOptions): void {
  const what = `options of jetstreamPubSub ${JSON.stringify(name)}`;
  checkFields(options, FIELDS, what, 'ERR_CONFIGURATION');
  const { createStream, stream, continueDurable, domain, apiPrefix } = options;
  if (typeof createStream === 'object')
    checkFields(createStream, CREATED_FIELDS, `createStream in ${what}`, 'ERR_CONFIGURATION');
  const refuse = (problem: string): never => {
    throw new SidecarError('ERR_CONFIGURATION', `${what}: ${problem}`);
  };
  if ((options.jwt === undefined) !== (options.seed === undefined)) refuse('jwt and seed belong together');
  if (stream !== undefined && createStream !== undefined && createStream !== false)
    refuse('createStream makes a stream for each topic, so leave stream out, or create the stream yourself');
  for (const [field, value] of Object.entries({ stream, continueDurable }))
    if (value !== undefined && !NAME.test(value))
      refuse(`${field} ${JSON.stringify(value)}: expected a name without white space, dots, slashes, "*" and ">"`);
  for (const [field, value] of Object.entries({ domain, apiPrefix }))
    if (value !== undefined && !PREFIX.test(value))
      refuse(`${field} ${JSON.stringify(value)}: expected part of a subject`);
  checkNumbers(options, refuse);
  checkPolicy(options.deliverPolicy, refuse);
}

function checkNumbers(options: JetStreamPubSubOptions, refuse: (problem: string) => never): void {
  const { ackWaitMs, maxAckPending, replicas, publishTimeoutMs, createStream } = options;
  const created = typeof createStream === 'object' ? createStream : {};
  const least: readonly (readonly [string, unknown, number])[] = [
    ['ackWaitMs', ackWaitMs, 1_000],
    ['maxAckPending', maxAckPending, 1],
    ['replicas', replicas, 1],
    ['publishTimeoutMs', publishTimeoutMs, 1],
    ['createStream.maxAgeMs', created.maxAgeMs, 100],
    ['createStream.maxBytes', created.maxBytes, 1],
    ['createStream.replicas', created.replicas, 1],
  ];
  for (const [field, value, min] of least)
    if (value !== undefined && !(Number.isSafeInteger(value) && (value as number) >= min))
      refuse(`${field} ${String(value)}: expected a whole number of ${min} or more`);
}

function checkPolicy(policy: JetStreamDeliverPolicy | undefined, refuse: (problem: string) => never): void {
  const isFine =
    policy === undefined ||
    POLICIES.has(policy) ||
    (typeof policy === 'object' &&
      (('startSequence' in policy && Number.isSafeInteger(policy.startSequence) && policy.startSequence > 0) ||
        ('startTime' in policy && policy.startTime instanceof Date && !Number.isNaN(policy.startTime.getTime()))));
  if (!isFine)
    refuse(
      'deliverPolicy: expected "all", "last", "new", { startSequence } with a positive number or { startTime } with a Date',
    );
}

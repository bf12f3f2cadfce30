import { randomUUID } from 'node:crypto';
import { SidecarError } from '../../../errors.ts';
import { checkFields, fieldNames } from '../../../util/known-fields.ts';
import { type BrokerOptions, brokerDefinition } from '../../broker/broker-pubsub.ts';
import type { PubSubDefinition } from '../../pubsub.ts';
import { loadRedis } from '../driver.ts';
import { type RedisConnectionOptions, targetOf } from '../target.ts';
import { RedisBroker, type RedisBrokerSettings } from './redis-broker.ts';

/** Options of {@link redisPubSub}. @public */
export interface RedisPubSubOptions extends RedisConnectionOptions, BrokerOptions {
  /** The consumer group, in place of the app ID. Default: the app ID. */
  readonly consumerId?: string;
  /**
   * The time after which messages that another program's consumer (Dapr's) has not acknowledged are taken over, in
   * milliseconds. Those of a dead insidecar process are taken over after about 6 seconds. Default 60,000.
   */
  readonly processingTimeoutMs?: number;
  /** How often such messages are looked for, in milliseconds. Default 1,000. */
  readonly redeliverIntervalMs?: number;
  /**
   * The number of messages that a stream keeps, roughly; older ones are deleted with a publish, **even if nobody has
   * received them**. Default: all.
   */
  readonly maxLenApprox?: number;
  /**
   * The age to which a stream keeps messages, roughly, in milliseconds; older ones are deleted with a publish, **even
   * if nobody has received them**. Default: for ever.
   */
  readonly streamTtlMs?: number;
  /**
   * Whether to delete messages that all groups of a topic have acknowledged, every 10 seconds, while this process
   * subscribes to it. A group that is created later does not get them; one that nobody uses any more keeps all. Default:
   * `false`, as in Dapr: streams grow.
   */
  readonly trimAcknowledged?: boolean;
  /** The time limit of an attempt to connect and of the server's answers, in milliseconds. Default 5,000. */
  readonly callTimeoutMs?: number;
}

const WHAT = 'redisPubSub';
const FIELDS = fieldNames<RedisPubSubOptions>({
  url: true,
  nodes: true,
  sentinelName: true,
  cluster: true,
  username: true,
  password: true,
  sentinelUsername: true,
  sentinelPassword: true,
  database: true,
  tls: true,
  scopes: true,
  publishingScopes: true,
  subscriptionScopes: true,
  allowedTopics: true,
  protectedTopics: true,
  publishTimeoutMs: true,
  consumerId: true,
  processingTimeoutMs: true,
  redeliverIntervalMs: true,
  maxLenApprox: true,
  streamTtlMs: true,
  trimAcknowledged: true,
  callTimeoutMs: true,
});
const POSITIVE = [
  'publishTimeoutMs',
  'processingTimeoutMs',
  'redeliverIntervalMs',
  'maxLenApprox',
  'streamTtlMs',
  'callTimeoutMs',
] as const;

/**
 * Pub/sub on the streams of Redis 6.2 or later, or Valkey, in the form of Dapr's `pubsub.redis`: both can share topics
 * and groups. Needs the package `redis` 6. A publish resolves when Redis has the message; what a crash of the server can
 * lose is decided by its persistence (nothing with `appendonly yes` and `appendfsync always`), and a failover can lose
 * the last messages, because replication is asynchronous.
 *
 * @param name - the name of the component in requests
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options.
 * @example
 * ```ts
 * const sidecar = new Sidecar({
 *   appId: 'orders',
 *   components: [redisPubSub('pubsub', { url: 'redis://broker.internal:6379' })],
 * });
 * ```
 * @public
 */
export function redisPubSub(name: string, options: RedisPubSubOptions): PubSubDefinition {
  check(options);
  const target = targetOf(options, WHAT, wrong);
  const settings: RedisBrokerSettings = {
    target,
    load: () => loadRedis('redis', 'The pub/sub component of type pubsub.redis'),
    consumerId: options.consumerId,
    processingTimeoutMs: options.processingTimeoutMs ?? 60_000,
    redeliverIntervalMs: options.redeliverIntervalMs ?? 1_000,
    maxLenApprox: options.maxLenApprox,
    streamTtlMs: options.streamTtlMs,
    trimAcknowledged: options.trimAcknowledged ?? false,
    callTimeoutMs: options.callTimeoutMs ?? 5_000,
  };
  const connect = (context: Parameters<PubSubDefinition['open']>[0]): RedisBroker =>
    new RedisBroker(settings, context, randomUUID);
  return brokerDefinition({ name, type: 'pubsub.redis', options, connect });
}

function check(options: RedisPubSubOptions): void {
  checkFields(options, FIELDS, `options of ${WHAT}`, 'ERR_CONFIGURATION');
  for (const field of POSITIVE) {
    const value = options[field];
    if (value !== undefined && !(Number.isSafeInteger(value) && value > 0))
      throw wrong(`${field} ${String(value)} of ${WHAT} must be a whole number above 0.`);
  }
  const { consumerId, trimAcknowledged = false } = options;
  if (consumerId !== undefined && (typeof consumerId !== 'string' || consumerId === ''))
    throw wrong(`consumerId ${JSON.stringify(consumerId)} of ${WHAT} must be a name.`);
  if (typeof trimAcknowledged !== 'boolean')
    throw wrong(`trimAcknowledged ${String(trimAcknowledged)} of ${WHAT} must be true or false.`);
}

function wrong(message: string): SidecarError {
  return new SidecarError('ERR_CONFIGURATION', message);
}

import { randomUUID } from 'node:crypto';
import { type Duration, msOf } from '../../../util/duration.ts';
import { duration } from '../../../util/duration-option.ts';
import { BOOLEAN, type OptionFields, TEXT, whole } from '../../../util/option-fields.ts';
import { type BrokerOptions, brokerDefinition } from '../../broker/broker-pubsub.ts';
import { checkBrokerOptions } from '../../broker/options.ts';
import type { ComponentContext } from '../../component.ts';
import type { PubSubDefinition, TopicUse } from '../../pubsub.ts';
import { loadRedis } from '../driver.ts';
import { isStateKey } from '../state-keys.ts';
import { CONNECTION_FIELDS, type RedisConnectionOptions, targetOf } from '../target.ts';
import { RedisBroker, type RedisBrokerSettings } from './redis-broker.ts';

/** Options of {@link redisPubSub}. @public */
export interface RedisPubSubOptions extends RedisConnectionOptions, BrokerOptions {
  /** The consumer group. Default: the app ID. */
  readonly consumerId?: string | undefined;
  /**
   * The time after which messages that another program's consumer (Dapr's) has not acknowledged are taken over.
   * Those of a dead insidecar process are taken over after about 6 seconds. Default `60s`.
   */
  readonly processingTimeout?: Duration | undefined;
  /** How often such messages are looked for. Default `1s`. */
  readonly redeliverInterval?: Duration | undefined;
  /**
   * The number of messages that a stream keeps, roughly; older ones are deleted with a publish, **even if no group has
   * received them**. Default: all.
   */
  readonly maxLenApprox?: number | undefined;
  /**
   * The age to which a stream keeps messages, roughly; older ones are deleted with a publish, **even
   * if no group has received them**. Default: for ever.
   */
  readonly streamTtl?: Duration | undefined;
  /**
   * Whether to delete messages that all groups of a topic have acknowledged, every 10 seconds, while this process
   * subscribes to it. A group that is created later does not get them; one that is not used any more keeps all.
   * Default: `false`, as in Dapr: streams grow.
   */
  readonly trimAcknowledged?: boolean | undefined;
  /** The time limit of an attempt to connect and of the server's answers. Default `5s`. */
  readonly callTimeout?: Duration | undefined;
}

const FIELDS: OptionFields<Omit<RedisPubSubOptions, keyof BrokerOptions>> = {
  ...CONNECTION_FIELDS,
  consumerId: TEXT,
  processingTimeout: duration(1),
  redeliverInterval: duration(1),
  maxLenApprox: whole(1),
  streamTtl: duration(1),
  trimAcknowledged: BOOLEAN,
  callTimeout: duration(1),
};

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
  const component = `redisPubSub ${JSON.stringify(name)}`;
  checkBrokerOptions(`options of ${component}`, options, FIELDS);
  const target = targetOf(options, component);
  const settings: RedisBrokerSettings = {
    target,
    load: () => loadRedis('redis', 'The pub/sub component of type pubsub.redis'),
    consumerId: options.consumerId,
    processingTimeoutMs: msOf(options.processingTimeout) ?? 60_000,
    redeliverIntervalMs: msOf(options.redeliverInterval) ?? 1_000,
    maxLenApprox: options.maxLenApprox,
    streamTtlMs: msOf(options.streamTtl),
    trimAcknowledged: options.trimAcknowledged ?? false,
    callTimeoutMs: msOf(options.callTimeout) ?? 5_000,
  };
  const connect = async (context: ComponentContext): Promise<RedisBroker> => {
    // A package that is not installed is an error of the start: it would look like a server that is down for ever.
    await settings.load();
    return new RedisBroker(settings, context, { newId: randomUUID, random: Math.random });
  };
  return brokerDefinition({ name, type: 'pubsub.redis', options, topicProblem, connect });
}

/** A topic is a key, verbatim. */
function topicProblem(topic: string, use: TopicUse): string | undefined {
  if (isStateKey(topic)) return 'keys like this belong to the state of sidecars on Redis';
  return use === 'subscribe' && topic.endsWith('*')
    ? 'a stream of Redis has one topic, so no subscription matches several'
    : undefined;
}

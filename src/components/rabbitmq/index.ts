/**
 * Pub/sub on RabbitMQ.
 *
 * @packageDocumentation
 */

import { randomUUID } from 'node:crypto';
import { type Duration, msOf } from '../../util/duration.ts';
import { duration } from '../../util/duration-option.ts';
import { BOOLEAN, choice, type OptionFields, TEXT, whole } from '../../util/option-fields.ts';
import { type BrokerOptions, brokerDefinition } from '../broker/broker-pubsub.ts';
import { checkBrokerOptions } from '../broker/options.ts';
import type { ComponentContext } from '../component.ts';
import type { PubSubDefinition, TopicUse } from '../pubsub.ts';
import { loadAmqp } from './driver.ts';
import { RabbitClient } from './rabbit-client.ts';
import type { RabbitHandle } from './rabbit-line.ts';
import {
  connectionsTo,
  MAX_PREFETCH,
  RABBITMQ_SERVER_FIELDS,
  type RabbitmqServerOptions,
  type RabbitServer,
  serverOf,
} from './server.ts';
import type { RabbitmqExchangeKind, RabbitmqQueueType, Settings } from './settings.ts';

export { type RabbitmqBindingOptions, rabbitmqBinding } from './rabbitmq-binding.ts';
export type { RabbitmqExchangeKind, RabbitmqQueueType, RabbitmqServerOptions };

/** Options of {@link rabbitmqPubSub}. @public */
export interface RabbitmqPubSubOptions extends BrokerOptions, RabbitmqServerOptions {
  /**
   * The beginning of the names of queues, `<consumerId>-<topic>`. A group with a name of its own adds `/` and that name.
   * Default: the app ID.
   */
  readonly consumerId?: string | undefined;
  /**
   * The kind of the exchange of each topic, which has the topic's name. If it is given, an existing exchange of another
   * kind is an error. Default: `'fanout'`; an existing one is used as it is.
   */
  readonly exchangeKind?: RabbitmqExchangeKind | undefined;
  /** Whether exchanges and queues survive a restart of the server. Default: `true`. */
  readonly durable?: boolean | undefined;
  /** Whether new exchanges are deleted with their last queue. Default: `true`, as Dapr declares them. */
  readonly exchangeAutoDelete?: boolean | undefined;
  /** Whether new queues are deleted with their last consumer, and their messages with them. Default: `false`. */
  readonly queueAutoDelete?: boolean | undefined;
  /**
   * The kind of new queues; `queueType` in the metadata of a subscription overrides it. If it is given, an existing queue
   * of another kind is an error. Default: `'quorum'`, or `'classic'` for queues that cannot be quorum queues: not durable,
   * auto-delete, or with priorities. An existing one is used as it is.
   */
  readonly queueType?: RabbitmqQueueType | undefined;
  /**
   * Whether new queues pass what they drop (expired, or too many) to the exchange `dlx-<queue>` and its queue
   * `dlq-<queue>`. Dead letters of subscriptions do not go there. Default: `false`.
   */
  readonly deadLetterExchange?: boolean | undefined;
  /** Max messages of new queues, which drop the oldest ones. Default: no limit. */
  readonly maxLength?: number | undefined;
  /** Max total size of messages of new queues, in bytes; they drop the oldest ones. Default: no limit. */
  readonly maxLengthBytes?: number | undefined;
  /** The time to live of messages without their own. Default: none. */
  readonly messageTtl?: Duration | undefined;
  /** Max unsettled messages of a subscription in this process, 1 to 65,535. Default: what it can take soon. */
  readonly maxPrefetch?: number | undefined;
  /** Whether AMQP properties and headers are added to the metadata of messages. Default: `false`. */
  readonly propertiesToMetadata?: boolean | undefined;
}

const FIELDS: OptionFields<Omit<RabbitmqPubSubOptions, keyof BrokerOptions>> = {
  ...RABBITMQ_SERVER_FIELDS,
  consumerId: TEXT,
  exchangeKind: choice('fanout', 'topic', 'direct', 'headers'),
  durable: BOOLEAN,
  exchangeAutoDelete: BOOLEAN,
  queueAutoDelete: BOOLEAN,
  queueType: choice('quorum', 'classic'),
  deadLetterExchange: BOOLEAN,
  maxLength: whole(1),
  maxLengthBytes: whole(1),
  messageTtl: duration(1, 2 ** 32 - 1),
  maxPrefetch: whole(1, MAX_PREFETCH),
  propertiesToMetadata: BOOLEAN,
};

/**
 * Pub/sub on RabbitMQ 3.8 or later, which services with Dapr can share. Needs the package `amqplib` 2.
 *
 * A topic is an exchange, a consumer group a queue that is bound to it. Messages are persistent; a publish resolves when
 * the broker has confirmed it. Messages to a topic without a queue are dropped, as Dapr does. It connects when it is
 * first used, and again whenever the connection is lost.
 *
 * @throws SidecarError `ERR_CONFIGURATION` for options that cannot be.
 *
 * @example
 * ```ts
 * const pubsub = rabbitmqPubSub('pubsub', { url: 'amqp://orders:secret@rabbit.internal' });
 * const sidecar = new Sidecar({ appId: 'orders', components: [pubsub] });
 * ```
 * @public
 */
export function rabbitmqPubSub(name: string, options: RabbitmqPubSubOptions = {}): PubSubDefinition {
  const wrong = checkBrokerOptions(`options of rabbitmqPubSub ${JSON.stringify(name)}`, options, FIELDS);
  const { queueType, durable = true, queueAutoDelete = false } = options;
  if (queueType === 'quorum' && (!durable || queueAutoDelete))
    throw wrong('queueType', 'classic, because quorum queues are durable and never deleted with their last consumer');
  const server = serverOf(options, wrong);
  const connect = (context: ComponentContext): Promise<RabbitClient> => makeClient(options, server, context);
  return brokerDefinition<RabbitHandle>({ name, type: 'pubsub.rabbitmq', options, topicProblem, connect });
}

/** A topic is an exchange. */
function topicProblem(topic: string, use: TopicUse): string | undefined {
  if (/^amq\./.test(topic)) return 'exchanges that begin with "amq." belong to RabbitMQ';
  return use === 'subscribe' && topic.endsWith('*')
    ? 'an exchange of RabbitMQ has one topic, so no subscription matches several'
    : undefined;
}

async function makeClient(
  options: RabbitmqPubSubOptions,
  server: RabbitServer,
  { appId, clock, logger, noGroup }: ComponentContext,
): Promise<RabbitClient> {
  const connect = connectionsTo(server, await loadAmqp(), options, { appId, logger });
  return new RabbitClient({
    name: server.name,
    publishing: connect('publishing'),
    consuming: connect('consuming'),
    settings: settingsOf(options, appId),
    ttlMs: msOf(options.messageTtl),
    maxPrefetch: options.maxPrefetch ?? MAX_PREFETCH,
    propertiesToMetadata: options.propertiesToMetadata ?? false,
    now: () => clock.now(),
    newId: randomUUID,
    random: Math.random,
    logger,
    noGroup: (topic) => noGroup?.(topic, 1),
  });
}

function settingsOf(options: RabbitmqPubSubOptions, appId: string): Settings {
  return {
    appId,
    consumerId: options.consumerId,
    exchangeKind: options.exchangeKind,
    durable: options.durable ?? true,
    exchangeAutoDelete: options.exchangeAutoDelete ?? true,
    queueAutoDelete: options.queueAutoDelete ?? false,
    queueType: options.queueType,
    deadLetterExchange: options.deadLetterExchange ?? false,
    maxLength: options.maxLength,
    maxLengthBytes: options.maxLengthBytes,
  };
}

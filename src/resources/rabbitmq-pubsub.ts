import type { PubSubDefinition, TopicScopes } from '../components/pubsub.ts';
import {
  type RabbitmqExchangeKind,
  type RabbitmqPubSubOptions,
  type RabbitmqQueueType,
  rabbitmqPubSub,
} from '../components/rabbitmq/index.ts';
import { isApiError } from '../errors.ts';
import { definedOnly } from '../util/defined-only.ts';
import type { BrokerResource } from './broker-pubsub.ts';
import { type DurationRange, MetadataReader } from './metadata-reader.ts';
import { TOPIC_SCOPE_NAMES } from './topic-scopes.ts';

/** The metadata of `pubsub.rabbitmq`. */
export const rabbitmqMetadata: { readonly uses: readonly string[]; readonly ignores: readonly string[] } = {
  uses: [
    ...TOPIC_SCOPE_NAMES,
    'connectionString',
    'host',
    'protocol',
    'hostname',
    'username',
    'password',
    'consumerID',
    'durable',
    'deletedWhenUnused',
    'exchangeKind',
    'enableDeadLetter',
    'maxLen',
    'maxLenBytes',
    'ttlInSeconds',
    'prefetchCount',
    'reconnectWaitSeconds',
    'heartBeat',
    'clientName',
    'saslExternal',
    'caCert',
    'clientCert',
    'clientKey',
    'publishMessagePropertiesToMetadata',
    'queueType',
    'autoAck',
    'deliveryMode',
    'requeueInFailure',
  ],
  ignores: ['publisherConfirm', 'concurrency', 'backOffPolicy', 'backOffMaxRetries', 'backOffDuration'],
};

/** A wait between attempts to connect. */
export const RABBITMQ_WAIT: DurationRange = { unitMs: 1_000, maxMs: 3_600_000 };
/** A time to live. */
export const RABBITMQ_TTL: DurationRange = { unitMs: 1_000, maxMs: 2 ** 32 - 1 };

/** Makes the component of a `pubsub.rabbitmq`. */
export function makeRabbitmqPubSub(resource: BrokerResource): PubSubDefinition | undefined {
  const reader = new MetadataReader(resource);
  const options = optionsOf(reader, resource.topics);
  tellDifferences(reader);
  if (reader.hasProblem) return undefined;
  try {
    return rabbitmqPubSub(resource.name, options);
  } catch (error) {
    if (!isApiError(error)) throw error;
    // Without values: they may come from a secret store.
    resource.problem(
      'metadata connectionString must be like "amqp://user:password@host:5672/vhost"; certificates must be valid, and need "amqps://" as saslExternal does; and queueType "quorum" a durable queue with deletedWhenUnused "false"',
    );
    return undefined;
  }
}

function optionsOf(reader: MetadataReader, topics: TopicScopes): RabbitmqPubSubOptions {
  const isDeleted = reader.flag('deletedWhenUnused');
  const given = {
    ...topics,
    url: urlOf(reader),
    username: reader.text('username'),
    password: reader.text('password'),
    tls: reader.certificates(),
    saslExternal: reader.flag('saslExternal'),
    clientName: reader.text('clientName'),
    heartbeat: reader.durationMs('heartBeat', RABBITMQ_WAIT),
    maxReconnectDelay: reader.durationMs('reconnectWaitSeconds', RABBITMQ_WAIT) || undefined,
    consumerId: reader.text('consumerID'),
    exchangeKind: reader.choice<RabbitmqExchangeKind>('exchangeKind', ['fanout', 'topic', 'direct', 'headers']),
    durable: reader.flag('durable'),
    exchangeAutoDelete: isDeleted,
    queueAutoDelete: isDeleted,
    queueType: reader.choice<RabbitmqQueueType>('queueType', ['quorum', 'classic']),
    deadLetterExchange: reader.flag('enableDeadLetter'),
    maxLength: reader.number('maxLen'),
    maxLengthBytes: reader.number('maxLenBytes'),
    messageTtl: reader.durationMs('ttlInSeconds', RABBITMQ_TTL) || undefined,
    maxPrefetch: reader.number('prefetchCount', { max: 65_535 }),
    propertiesToMetadata: reader.flag('publishMessagePropertiesToMetadata'),
  };
  // The cast is safe: what is not given is left out.
  return definedOnly(given) as RabbitmqPubSubOptions;
}

/** Dapr takes `host` for an old name of `connectionString`. */
function urlOf(reader: MetadataReader): string | undefined {
  const [whole, hostname] = [reader.text('connectionString') ?? reader.text('host'), reader.text('hostname')];
  const protocol = reader.choice('protocol', ['amqp', 'amqps']);
  if (whole === undefined && hostname === undefined)
    reader.problem('pubsub.rabbitmq needs metadata connectionString: "amqp://user:password@host:5672", or hostname');
  if (whole !== undefined && protocol !== undefined && !whole.startsWith(`${protocol}://`))
    reader.problem('metadata protocol must be that of connectionString');
  return whole ?? (hostname === undefined ? undefined : `${protocol ?? 'amqp'}://${hostname}`);
}

/** Tells what has another effect than in Dapr. */
function tellDifferences(reader: MetadataReader): void {
  if (reader.flag('autoAck') === true)
    reader.problem('metadata autoAck must be "false": messages that are not processed would be lost');
  const isDeleted = reader.flag('deletedWhenUnused');
  if (isDeleted === undefined)
    reader.note(
      'queues stay when their last consumer leaves, unless deletedWhenUnused is "true"; to run the same app ID on daprd again, set it to "false" there and here, and the queueType of the queue in its subscriptions',
    );
  if (isDeleted === true)
    reader.note('metadata deletedWhenUnused "true": a queue loses its messages when the application leaves');
  const mode = reader.text('deliveryMode');
  if (mode !== undefined && mode !== '2') reader.note('metadata deliveryMode has no effect: messages are persistent');
  if (reader.flag('requeueInFailure') === false)
    reader.note(
      'metadata requeueInFailure has no effect: a message that fails is tried again, or becomes a dead letter',
    );
}

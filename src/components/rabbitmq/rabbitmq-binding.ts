import { randomUUID } from 'node:crypto';
import { type Duration, msOf } from '../../util/duration.ts';
import { duration } from '../../util/duration-option.ts';
import { BOOLEAN, checkOptions, type OptionFields, required, TEXT, whole } from '../../util/option-fields.ts';
import { type Binding, type BindingDefinition, BindingError, type BindingRequest } from '../binding.ts';
import { commonParts } from '../binding-options.ts';
import { BROKER_BINDING_FIELDS, BrokerBinding, type BrokerBindingOptions } from '../broker/broker-binding.ts';
import type { ComponentContext } from '../component.ts';
import type { Message } from '../pubsub.ts';
import { loadAmqp, type Properties } from './driver.ts';
import { RabbitQueueClient } from './queue-client.ts';
import type { QueueSpec } from './rabbit-topology.ts';
import {
  connectionsTo,
  MAX_PREFETCH,
  RABBITMQ_SERVER_FIELDS,
  type RabbitmqServerOptions,
  type RabbitServer,
  serverOf,
} from './server.ts';

/** Options of {@link rabbitmqBinding}. @public */
export interface RabbitmqBindingOptions extends BrokerBindingOptions, RabbitmqServerOptions {
  /** The queue that is read and published to. It is made if it is missing; an existing one is used as it is. */
  readonly queueName: string;
  /** Whether a new queue survives a restart of the server. Default: `true`. */
  readonly durable?: boolean | undefined;
  /** Whether a new queue is deleted with its last reader, and its messages with it. Default: `false`. */
  readonly queueAutoDelete?: boolean | undefined;
  /** Whether a new queue belongs to this process, and ends with its connection. Default: `false`. */
  readonly exclusive?: boolean | undefined;
  /** The highest priority of messages of a new queue, 1 to 255. Default: none. */
  readonly maxPriority?: number | undefined;
  /** The time to live of messages of a new queue. Default: none. */
  readonly messageTtl?: Duration | undefined;
  /** Max unsettled messages in this process, 1 to 65,535. Default: what it can take soon. */
  readonly maxPrefetch?: number | undefined;
}

const FIELDS: OptionFields<RabbitmqBindingOptions> = {
  ...BROKER_BINDING_FIELDS,
  ...RABBITMQ_SERVER_FIELDS,
  queueName: required(TEXT),
  durable: BOOLEAN,
  queueAutoDelete: BOOLEAN,
  exclusive: BOOLEAN,
  maxPriority: whole(1, 255),
  messageTtl: duration(1, 2 ** 32 - 1),
  maxPrefetch: whole(1, MAX_PREFETCH),
};
const TYPE = 'bindings.rabbitmq';
/** The longest name of a queue or a header. */
const MAX_NAME_BYTES = 255;
const MAX_TTL_SECONDS = 4_294_967;
const MAX_PRIORITY = 255;

/**
 * A binding to a queue of RabbitMQ, in both directions. The operation `create` puts the data into the queue, with all
 * metadata as headers; `ttlInSeconds`, `priority` and `contentType` have their meaning as well. An event has the headers
 * of the message as its metadata; one that the application did not accept comes again. Needs the package `amqplib` 2.
 *
 * @param name - the name in requests, and the application's route without `route`
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options.
 * @example
 * ```ts
 * const components = [rabbitmqBinding('orders', { url: 'amqp://shop:secret@rabbit.internal', queueName: 'orders' })];
 * ```
 * @public
 */
export function rabbitmqBinding(name: string, options: RabbitmqBindingOptions): BindingDefinition {
  const wrong = checkOptions(`options of rabbitmqBinding ${JSON.stringify(name)}`, options, FIELDS);
  if (Buffer.byteLength(options.queueName) > MAX_NAME_BYTES)
    throw wrong('queueName', `a name of at most ${MAX_NAME_BYTES} bytes`);
  const server = serverOf(options, wrong);
  return {
    ...commonParts(options),
    name,
    type: TYPE,
    directions: ['input', 'output'],
    operations: ['create'],
    open: async (context) => open(name, options, server, context),
  };
}

async function open(
  name: string,
  options: RabbitmqBindingOptions,
  server: RabbitServer,
  context: ComponentContext,
): Promise<Binding> {
  const { queueName, maxPrefetch = MAX_PREFETCH } = options;
  const connect = connectionsTo(server, await loadAmqp(TYPE), options, context);
  return new BrokerBinding({
    client: new RabbitQueueClient({
      name: server.name,
      publishing: connect('publishing'),
      consuming: connect('consuming'),
      queue: queueOf(options),
      maxPrefetch,
      newId: randomUUID,
      logger: context.logger,
      propertiesOf,
    }),
    ...{ options, context, topics: [queueName], group: name },
    messageOf: (request) => messageOf(queueName, request),
    metadataOf: ({ metadata }) => metadata,
  });
}

function queueOf(options: RabbitmqBindingOptions): QueueSpec {
  const { queueName: name, durable = true, queueAutoDelete: autoDelete = false, exclusive = false } = options;
  const asked = [
    { argument: 'x-message-ttl', option: 'messageTtl', value: msOf(options.messageTtl) },
    { argument: 'x-max-priority', option: 'maxPriority', value: options.maxPriority },
  ].filter(({ value }) => value !== undefined);
  return {
    ...{ name, durable, autoDelete, exclusive },
    arguments: Object.fromEntries(asked.map(({ argument, value }) => [argument, value])),
    asked: new Map(asked.map(({ argument, option }) => [argument, option])),
  };
}

function messageOf(topic: string, { metadata }: BindingRequest): Pick<Message, 'topic' | 'metadata'> {
  for (const name of Object.keys(metadata))
    if (Buffer.byteLength(name) > MAX_NAME_BYTES)
      throw new BindingError(`metadata has a name of more than ${MAX_NAME_BYTES} bytes, which no header can have`);
  numberIn(metadata, 'ttlInSeconds', 1, MAX_TTL_SECONDS);
  numberIn(metadata, 'priority', 0, MAX_PRIORITY);
  return { topic, metadata };
}

function propertiesOf({ metadata }: Message): Properties {
  const ttl = numberIn(metadata, 'ttlInSeconds', 1, MAX_TTL_SECONDS);
  const priority = numberIn(metadata, 'priority', 0, MAX_PRIORITY);
  const { contentType = '' } = metadata;
  return {
    contentType:
      contentType === '' || Buffer.byteLength(contentType) > MAX_NAME_BYTES ? 'application/json' : contentType,
    headers: { ...metadata },
    ...(ttl === undefined ? {} : { expiration: String(ttl * 1_000) }),
    ...(priority === undefined ? {} : { priority }),
  };
}

/** @throws BindingError for a text that is no such number */
function numberIn(metadata: Message['metadata'], name: string, min: number, max: number): number | undefined {
  const text = metadata[name];
  if (text === undefined || text === '') return undefined;
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new BindingError(`metadata ${name} must be a whole number from ${min} to ${max}`);
}

import { createHash } from 'node:crypto';
import { isTruthy } from '../../util/is-truthy.ts';
import type { LineOptions } from '../broker/line.ts';
import type { Table } from './driver.ts';
import type { ExchangeSpec, QueueSpec } from './rabbit-topology.ts';

/** Kinds of queues. @public */
export type RabbitmqQueueType = 'quorum' | 'classic';
/** Kinds of exchanges. @public */
export type RabbitmqExchangeKind = 'fanout' | 'topic' | 'direct' | 'headers';

/** Settings of exchanges and queues, defaults filled in. */
export interface Settings {
  readonly appId: string;
  readonly consumerId: string | undefined;
  /** Default: fanout. */
  readonly exchangeKind: RabbitmqExchangeKind | undefined;
  readonly durable: boolean;
  readonly exchangeAutoDelete: boolean;
  readonly queueAutoDelete: boolean;
  /** Default: by the other settings. */
  readonly queueType: RabbitmqQueueType | undefined;
  readonly deadLetterExchange: boolean;
  readonly maxLength: number | undefined;
  readonly maxLengthBytes: number | undefined;
}

/** The objects that a subscription needs at the broker. */
export interface QueuePlan {
  readonly queue: QueueSpec;
  readonly routingKeys: readonly string[];
  readonly deadLetters: { readonly exchange: ExchangeSpec; readonly queue: QueueSpec } | undefined;
}

/** The longest name. */
const MAX_NAME_BYTES = 255;
/** Of a longer one; leaves room for the names of delay queues. */
const CUT_NAME_BYTES = 200;
const HASH_LENGTH = 32;
/** RabbitMQ 4 drops a message that was returned more often than its limit, 20 by default. */
const NO_DELIVERY_LIMIT = 2 ** 31 - 1;
const NOTHING_ASKED: ReadonlyMap<string, string> = new Map();

/**
 * The name itself, or if that is too long its beginning and its hash.
 *
 * @throws Error if RabbitMQ cannot have the name.
 */
function nameOf(what: string, text: string): string {
  // RabbitMQ declares an exchange without the line breaks of its name, and then does not find it.
  if (/[\0\r\n]/.test(text))
    throw new Error(`${what} contains a NUL character or a line break, which RabbitMQ does not take`);
  if (Buffer.byteLength(text) <= MAX_NAME_BYTES) return text;
  const hash = createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH);
  // The cut may go through a character.
  return `${Buffer.from(text)
    .subarray(0, CUT_NAME_BYTES)
    .toString()
    .replace(/\uFFFD+$/, '')}~${hash}`;
}

/** The exchange of a topic. */
export function exchangeOf(settings: Settings, topic: string): ExchangeSpec {
  const { exchangeKind, durable, exchangeAutoDelete } = settings;
  return {
    name: nameOf('the topic', topic),
    kind: exchangeKind ?? 'fanout',
    isKindAsked: exchangeKind !== undefined,
    durable,
    autoDelete: exchangeAutoDelete,
  };
}

/** The queue of a subscription; `major` is the version of the server. */
export function queuePlanOf(
  settings: Settings,
  { topic, group, metadata }: Pick<LineOptions, 'topic' | 'group' | 'metadata'>,
  major: number,
): QueuePlan {
  const given = new Map(Object.entries(metadata).map(([name, value]) => [name.toLowerCase(), value.trim()]));
  const name = nameOf('the name of the queue', given.get('queuename') || `${consumerOf(settings, group)}-${topic}`);
  const { durable, queueAutoDelete: autoDelete, deadLetterExchange } = settings;
  const collected = new Arguments(given);
  collected.addLengths(settings);
  collected.addNumber('maxPriority', 'x-max-priority', undefined, 255);
  if (isTruthy(given.get('singleactiveconsumer') ?? ''))
    collected.add('singleActiveConsumer', 'x-single-active-consumer', true);
  collected.addType(settings, major);
  if (deadLetterExchange) collected.add('enableDeadLetter', 'x-dead-letter-exchange', deadLetterNameOf('dlx', name));
  return {
    queue: { name, durable, autoDelete, arguments: collected.table, asked: collected.asked },
    routingKeys: (given.get('routingkey') ?? '').split(','),
    deadLetters: deadLetterExchange ? deadLettersOf(settings, name) : undefined,
  };
}

/** Dapr names queues by its consumer ID, by default the app ID. Groups begin with the app ID. */
function consumerOf({ appId, consumerId }: Settings, group: string): string {
  if (consumerId === undefined) return group;
  if (group === appId) return consumerId;
  return group.startsWith(`${appId}/`) ? `${consumerId}${group.slice(appId.length)}` : group;
}

function deadLetterNameOf(prefix: string, queue: string): string {
  return nameOf('the name for dead letters', `${prefix}-${queue}`);
}

/** As Dapr declares them. */
function deadLettersOf(settings: Settings, queue: string): QueuePlan['deadLetters'] {
  const [exchange, name] = [deadLetterNameOf('dlx', queue), deadLetterNameOf('dlq', queue)];
  const collected = new Arguments(new Map());
  collected.addLengths(settings);
  return {
    exchange: {
      name: exchange,
      kind: 'fanout',
      isKindAsked: false,
      durable: true,
      autoDelete: settings.exchangeAutoDelete,
    },
    queue: {
      name,
      durable: true,
      autoDelete: settings.queueAutoDelete,
      arguments: { ...collected.table, 'x-queue-mode': 'lazy' },
      asked: NOTHING_ASKED,
    },
  };
}

/** The arguments of a queue, and which option asked for each. */
class Arguments {
  readonly asked = new Map<string, string>();
  readonly #given: ReadonlyMap<string, string>;
  readonly #values: Record<string, string | number | boolean> = {};

  constructor(given: ReadonlyMap<string, string>) {
    this.#given = given;
  }

  get table(): Table {
    return this.#values;
  }

  add(option: string, name: string, value: string | number | boolean): void {
    this.#values[name] = value;
    this.asked.set(name, option);
  }

  addLengths({ maxLength, maxLengthBytes }: Settings): void {
    this.addNumber('maxLen', 'x-max-length', maxLength);
    this.addNumber('maxLenBytes', 'x-max-length-bytes', maxLengthBytes);
  }

  /** @throws Error if the metadata is not a whole number. */
  addNumber(option: string, name: string, byDefault: number | undefined, max = Number.MAX_SAFE_INTEGER): void {
    const text = this.#given.get(option.toLowerCase()) || undefined;
    if (text !== undefined && !/^\d{1,15}$/.test(text))
      throw new Error(`${option} ${JSON.stringify(text)} in the metadata of the subscription must be a whole number`);
    const value = text === undefined ? byDefault : Math.min(max, Number(text));
    if (value !== undefined) this.add(option, name, value);
  }

  /** @throws Error if there is no such type, or it cannot be what else was asked for. */
  addType({ queueType, durable, queueAutoDelete }: Settings, major: number): void {
    const asked = this.#given.get('queuetype') || queueType;
    if (asked !== undefined && asked !== 'quorum' && asked !== 'classic')
      throw new Error(`queueType ${JSON.stringify(asked)} must be "quorum" or "classic"`);
    const obstacle = !durable ? 'durable: false' : queueAutoDelete ? 'auto-delete' : this.asked.get('x-max-priority');
    if (asked === 'quorum' && obstacle !== undefined)
      throw new Error(`a quorum queue cannot be combined with ${obstacle}: set queueType to "classic"`);
    const type = asked ?? (obstacle === undefined ? 'quorum' : 'classic');
    this.#values['x-queue-type'] = type;
    if (asked !== undefined) this.asked.set('x-queue-type', 'queueType');
    if (type === 'quorum' && major >= 4) this.#values['x-delivery-limit'] = NO_DELIVERY_LIMIT;
  }
}

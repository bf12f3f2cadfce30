import type { DeadLetterOrigin, Message } from '../../../components/pubsub.ts';
import { DEFAULT_MAX_CRASHES } from '../../../util/crashes.ts';
import { type Duration, msOf } from '../../../util/duration.ts';
import { parseGoBoolean } from '../../../util/go-boolean.ts';
import { NAME_FORM } from '../../../util/name-pattern.ts';
import { DURATION, NOT_NEGATIVE, POSITIVE, POSITIVE_DURATION, type SchemasOf } from '../../../util/options-schema.ts';
import { MAX_RATE, type Rate } from '../../../util/rate.ts';
import { RETRY_SCHEMA, type RetryOptions } from '../../../util/retry-options.ts';
import { validator } from '../../../util/schema.ts';
import type { Wire } from '../../../wire.ts';
import type { ReceivedEvent } from './received-event.ts';

/** A rule of a subscription: where a message goes when an expression holds. @public */
export interface RouteRule {
  /** A CEL expression over `event`, the whole CloudEvent; empty is always true. */
  readonly match: string;
  /** The application's route. */
  readonly path: string;
}

/** A subscription that delivers to routes of the application. @public */
export interface RouteSubscription extends DeliveryLimits {
  /** The pub/sub component. */
  readonly pubsubName: string;
  /** The topic. */
  readonly topic: string;
  /** The routes of messages: the first rule that matches, else the default. */
  readonly routes?:
    | {
        /** In order: the first one whose `match` holds decides. Default: none. */
        readonly rules?: readonly RouteRule[] | undefined;
        /** The route of messages that no rule matches. Default: none; such a message is dropped. */
        readonly default?: string | undefined;
      }
    | undefined;
  /** Short for `routes.default`. Default: none. */
  readonly route?: string | undefined;
  /** The dead-letter topic for messages that cannot be processed, in the same component. Default: nowhere. */
  readonly deadLetterTopic?: string | undefined;
  /** Metadata for the component. `rawPayload: 'true'` subscribes to messages that are not CloudEvents. Default: none. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Deliver several messages in one request. */
  readonly bulkSubscribe?: BulkSubscribeOptions | undefined;
  /**
   * The most requests to the application at a time for this subscription. Default 10.
   * With 1, messages are delivered in order, and a retry holds up those behind it.
   */
  readonly concurrency?: number | undefined;
  /** When and how often a message is delivered again. */
  readonly retry?: RetryOptions | undefined;
  /**
   * How many deliveries in a row the end of the process may interrupt: then the message is dead-lettered without another
   * one, if there is a dead-letter topic. For durable components; the first such delivery may not be known, and not
   * count. From the third on, the message is delivered alone, so that no other is taken for it. 0 for no limit. Default 3.
   */
  readonly maxCrashes?: number | undefined;
  /**
   * How long the application may take for a message; 0 for no limit. Default: the time-out of the component's resiliency
   * policy, else the option `deliveryTimeout`.
   */
  readonly timeout?: Duration | undefined;
  /**
   * A consumer group of its own among those of the app ID: each group receives every message of the topic, from its
   * first subscription on. 1 to 256 characters, no dots, slashes or white space; the app ID stands for the default.
   * Default: the group of the app ID that has no name.
   */
  readonly group?: string | undefined;
  /**
   * Shares the messages of its group with other subscriptions of this process: each message goes to one of them.
   * Of those in one group, all but one must say so. Default `false`.
   */
  readonly competing?: boolean | undefined;
}

/** The order and the limits of a subscription, which hold over all processes that share its group. @public */
export interface DeliveryLimits {
  /**
   * `key`: the messages of a key are delivered in order of publication, one at a time; one that is retried holds up
   * those of its key, and no others. The key is the option `key` of `publish`, or `partitionKey` of the metadata; messages
   * without one have no order. Default: no order, except with `concurrency: 1`.
   */
  readonly order?: 'key' | undefined;
  /** The most messages of a key at the same time. Default: no limit; 1 with `order: 'key'`. */
  readonly perKey?: number | undefined;
  /** The most deliveries in a time, repeated ones included. Default: no limit. */
  readonly rate?: Rate | undefined;
}

/** How messages are delivered in bulk. @public */
export interface BulkSubscribeOptions {
  /** Whether it is on. Default `true`; with `wire: 'dapr'` it must be given. */
  readonly enabled?: boolean | undefined;
  /** The maximum number of messages in one request. Default 100. */
  readonly maxMessagesCount?: number | undefined;
  /** The longest that the oldest of them waits for more, of 1 ms or more. Default `1s`. */
  readonly maxAwaitDuration?: Duration | undefined;
}

/** The second argument of a subscription's function, beside the event. @public */
export interface DeliveryContext {
  /** The message as it lies in the component; its bytes, a copy, have every digit of every number. */
  readonly message: Message;
  /** How often it has been delivered, this time included. */
  readonly attempt: number;
  /** Where it comes from, when it was dead-lettered and its component keeps that; `undefined` for other messages. */
  readonly deadLetter: DeadLetterOrigin | undefined;
  /**
   * Fires when the time-out is over, and when a stop has waited half of its time. An error after that of a stop is no
   * failure: the message comes again. To return is an answer, always.
   */
  readonly signal: AbortSignal;
}

/**
 * Processes a message in code. It may return anything, also as a promise:
 *
 * - `'SUCCESS'`, `'RETRY'` or `'DROP'`, as text or as `{ status }`; a `status` of another text means `RETRY`, as over HTTP;
 * - an `Error`, which counts as thrown: a thrown error means `RETRY`;
 * - anything else, or nothing: the message is done. A text that is no status is warned of, once for each subscription.
 *
 * @public
 */
export type MessageHandler<T> = (event: ReceivedEvent<T>, context: DeliveryContext) => unknown;

/** The second argument of the function of a typed topic, beside the data. @public */
export interface TopicContext extends DeliveryContext {
  /** The event that had the data. Its own `data` are as they came, before the schema. */
  readonly event: ReceivedEvent;
}

/** Processes the data of a message of a typed topic. What it returns means what it does for {@link MessageHandler}. @public */
export type TopicHandler<T> = (data: T, context: TopicContext) => unknown;

/** Where a subscription comes from. @public */
export type SubscriptionType = 'DECLARATIVE' | 'PROGRAMMATIC' | 'STREAMING';

/** A subscription, checked and with its defaults. */
export interface SubscriptionSpec {
  readonly type: SubscriptionType;
  readonly pubsubName: string;
  readonly topic: string;
  /** In order; the default route is a last rule that is always true. */
  readonly rules: readonly RouteRule[];
  readonly deadLetterTopic: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly rawPayload: boolean;
  readonly bulk: { readonly maxMessages: number; readonly maxAwaitMs: number } | undefined;
  readonly concurrency: number;
  readonly retry: RetryOptions;
  readonly maxCrashes: number;
  readonly timeoutMs: number | undefined;
  /** Empty for the group of the app ID that has no name. */
  readonly group: string;
  readonly competing: boolean;
  readonly order: 'key' | undefined;
  readonly perKey: number | undefined;
  readonly rate: { readonly max: number; readonly perMs: number } | undefined;
}

/** A refused subscription, with as much of it as could be parsed. */
export interface RefusedSubscription {
  readonly type: SubscriptionType;
  readonly pubsubName: string;
  readonly topic: string;
  readonly group: string;
  readonly problem: string;
}

export const REQUIRED_OF_RULES: readonly string[] = ['path'];
const rule = {
  type: 'object',
  required: REQUIRED_OF_RULES,
  properties: { match: { type: ['string', 'null'] }, path: { type: 'string' } } satisfies SchemasOf<RouteRule>,
};

/** The fields that have the same form in code and in the list of an application. */
export type SharedFields = Omit<
  RouteSubscription,
  'pubsubName' | 'bulkSubscribe' | 'retry' | 'maxCrashes' | 'timeout' | keyof DeliveryLimits
>;

export const NAME: Readonly<Record<string, unknown>> = { type: 'string', minLength: 1 };
export const SHARED: SchemasOf<SharedFields> = {
  topic: NAME,
  route: { type: ['string', 'null'] },
  routes: {
    type: ['object', 'null'],
    properties: { rules: { type: ['array', 'null'], items: rule }, default: { type: ['string', 'null'] } },
  },
  deadLetterTopic: { type: ['string', 'null'] },
  metadata: { type: ['object', 'null'], additionalProperties: { type: 'string' } },
  concurrency: POSITIVE,
  group: { type: ['string', 'null'], ...NAME_FORM },
  competing: { type: ['boolean', 'null'] },
};

/** For options in code, where an unknown field is a mistake. */
export const SUBSCRIPTION_OPTIONS_SCHEMA: object = closed({
  type: 'object',
  required: ['pubsubName', 'topic'],
  properties: {
    pubsubName: NAME,
    ...SHARED,
    bulkSubscribe: {
      type: 'object',
      properties: {
        enabled: { type: 'boolean' },
        maxMessagesCount: { type: 'integer' },
        maxAwaitDuration: POSITIVE_DURATION,
      } satisfies SchemasOf<BulkSubscribeOptions>,
    },
    retry: RETRY_SCHEMA,
    maxCrashes: NOT_NEGATIVE,
    timeout: DURATION,
    order: { enum: ['key'] },
    perKey: POSITIVE,
    rate: {
      type: 'object',
      required: ['max', 'per'],
      properties: {
        max: { ...POSITIVE, maximum: MAX_RATE },
        per: POSITIVE_DURATION,
      } satisfies SchemasOf<Rate>,
    },
  } satisfies SchemasOf<RouteSubscription>,
});

/** The schema without unknown fields. */
function closed(open: object): object {
  const members = Object.entries(open).map(([word, rule]) => {
    if (word === 'items') return [word, closed(rule)];
    if (word !== 'properties') return [word, rule];
    return [word, Object.fromEntries(Object.entries(rule as object).map(([name, of]) => [name, closed(of)]))];
  });
  return { ...Object.fromEntries(members), ...('properties' in open ? { additionalProperties: false } : undefined) };
}

const problemInCode = validator(SUBSCRIPTION_OPTIONS_SCHEMA, 'subscription');

const DEFAULT_CONCURRENCY = 10;
const DEFAULT_BULK = { maxMessages: 100, maxAwaitMs: 1_000 };

/** The subscriber whose subscriptions are parsed. */
export interface Subscriber {
  readonly appId: string;
  readonly wire: Wire;
}

/** Checks the subscriptions of the options; a refusal names the element and the field. */
export function parseSubscriptions(
  list: readonly unknown[],
  subscriber: Subscriber,
): (SubscriptionSpec | RefusedSubscription)[] {
  return list.map((value, index) => inList(parseSubscription(value, 'DECLARATIVE', subscriber), index));
}

/** A refusal names the element of the list. */
export function inList<T extends SubscriptionSpec | RefusedSubscription>(parsed: T, index: number): T {
  return 'problem' in parsed ? { ...parsed, problem: `element ${index}: ${parsed.problem}` } : parsed;
}

/** Checks one subscription in code. */
export function parseSubscription(
  value: unknown,
  type: SubscriptionType,
  subscriber: Subscriber,
): SubscriptionSpec | RefusedSubscription {
  const problem = problemInCode(value);
  if (problem !== undefined) return { ...nameOf(value, 'pubsubName'), type, problem };
  // The schema has checked it.
  return specOf(value as RouteSubscription, type, subscriber);
}

/** A subscription whose types are right. `null` means absent. */
export function specOf(
  options: RouteSubscription,
  type: SubscriptionType,
  { appId, wire }: Subscriber,
): SubscriptionSpec | RefusedSubscription {
  const { pubsubName, topic, metadata, deadLetterTopic } = options;
  const raw = metadata?.['rawPayload'];
  const rawPayload = raw === undefined ? false : parseGoBoolean(raw);
  const rules = rulesOf(options);
  const group = options.group === appId ? '' : (options.group ?? '');
  const name = { type, pubsubName, topic, group };
  if (rawPayload === undefined)
    return { ...name, problem: `metadata.rawPayload is ${JSON.stringify(raw)}: expected a boolean` };
  if (deadLetterTopic === topic)
    return { ...name, problem: `deadLetterTopic is the topic itself, ${JSON.stringify(topic)}: expected another one` };
  if (options.order === 'key' && (options.perKey ?? 1) > 1)
    return {
      ...name,
      problem: `perKey is ${options.perKey}: expected 1, or nothing, with order: 'key', which delivers the messages of a key one at a time`,
    };
  if (rules.length === 0) return { ...name, problem: 'it has neither a rule nor a default route' };
  return {
    ...name,
    rules,
    deadLetterTopic: deadLetterTopic ?? '',
    metadata: metadata ?? {},
    rawPayload,
    bulk: bulkOf(options.bulkSubscribe, wire),
    concurrency: options.concurrency ?? DEFAULT_CONCURRENCY,
    retry: options.retry ?? {},
    maxCrashes: options.maxCrashes ?? DEFAULT_MAX_CRASHES,
    timeoutMs: msOf(options.timeout),
    competing: options.competing ?? false,
    order: options.order,
    perKey: options.perKey,
    rate: options.rate && { max: options.rate.max, perMs: msOf(options.rate.per) ?? 0 },
  };
}

/** As much of its name as can be read; `member` has that of the component. */
export function nameOf(
  value: unknown,
  member: 'pubsubName' | 'pubsubname',
): Pick<RefusedSubscription, 'pubsubName' | 'topic' | 'group'> {
  const { [member]: pubsubName, topic, group } = Object(value) as Readonly<Record<string, unknown>>;
  const text = (name: unknown): string => (typeof name === 'string' ? name : '');
  return { pubsubName: text(pubsubName), topic: text(topic), group: text(group) };
}

function rulesOf({ route, routes }: RouteSubscription): RouteRule[] {
  const rules = (routes?.rules ?? []).map(({ match, path }) => ({ match: match ?? '', path: cleanPath(path) }));
  const last = routes?.default || route;
  return last ? [...rules, { match: '', path: cleanPath(last) }] : rules;
}

function bulkOf(options: BulkSubscribeOptions | undefined, wire: Wire): SubscriptionSpec['bulk'] {
  if (options === undefined) return undefined;
  if (wire.bulkSubscribeNeedsEnabled ? options.enabled !== true : options.enabled === false) return undefined;
  const { maxMessagesCount, maxAwaitDuration } = options;
  return {
    maxMessages: maxMessagesCount && maxMessagesCount > 0 ? maxMessagesCount : DEFAULT_BULK.maxMessages,
    maxAwaitMs: msOf(maxAwaitDuration) ?? DEFAULT_BULK.maxAwaitMs,
  };
}

/**
 * Characters that a request target cannot hold: all but printable ASCII, some of that too, and a percent sign that
 * escapes nothing.
 */
const NO_TARGET = /[^\x21-\x7e]|["#<>\\^`{|}]|%(?![\da-f]{2})/giu;

/** A leading slash, no dot segments, no doubled slashes; the query stays. */
function cleanPath(path: string): string {
  const [, plain = '', query = ''] = /^([^?]*)(.*)$/s.exec(path) ?? [];
  const clean: string[] = [];
  for (const segment of plain.split('/')) {
    if (segment === '..') clean.pop();
    else if (segment !== '' && segment !== '.') clean.push(segment);
  }
  // Percent-encode what a request target cannot hold (RFC 3986, section 2); existing escapes stay.
  return `/${clean.join('/')}${query}`.replace(NO_TARGET, (character) =>
    encodeURIComponent(Buffer.from(character).toString()),
  );
}

import type { Expected } from '../util/expected.ts';
import type { ComponentContext, ComponentDefinition } from './component.ts';
import type { MessageCommits } from './message-commits.ts';
import type { QueueAccess } from './queue-access.ts';

/** A W3C trace context. @public */
export interface Trace {
  /** `traceparent`. */
  readonly traceparent: string;
  /** `tracestate`. */
  readonly tracestate?: string | undefined;
}

/** Empty metadata, as most messages have. Without a prototype, so that any name is ordinary. @public */
export const NO_METADATA: Readonly<Record<string, string>> = Object.freeze(
  Object.create(null) as Record<string, string>,
);

/** The origin of a dead letter and the reason for it. @public */
export interface DeadLetterOrigin {
  /** The topic on which it could not be processed. */
  readonly topic: string;
  /** The consumer group that could not process it: the app ID, followed by `/` and the group's name if it has one. */
  readonly group: string;
  /** The reason: an error message, the HTTP status, or another description. At most 1 KiB of UTF-8. */
  readonly reason: string;
  /** The number of delivery attempts. */
  readonly attempts: number;
  /** When it became a dead letter, in milliseconds since 1970. */
  readonly deadAt: number;
}

/** A message as stored by a component. @public */
export interface Message {
  /** Identifies it in logs and events: the CloudEvent's `id`, or a UUID for a raw payload. */
  readonly id: string;
  /** The topic it was published to. */
  readonly topic: string;
  /** The bytes: a CloudEvent in JSON, or a raw payload. Not to be changed: others may have the same array. */
  readonly data: Uint8Array;
  /** The media type of `data`: `application/cloudevents+json`, or that of the raw payload. */
  readonly contentType: string;
  /** Whether it was published as a raw payload, without an envelope. */
  readonly raw: boolean;
  /** The publisher's metadata, returned with every delivery. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Its W3C trace. */
  readonly trace?: Trace | undefined;
  /** The instant from which it must not be delivered any more, in milliseconds since 1970. */
  readonly expiresAt?: number | undefined;
  /**
   * The origin of a dead letter. A component stores it beside the bytes and returns it with every delivery; a component
   * whose broker cannot store it may omit it.
   */
  readonly deadLetter?: DeadLetterOrigin | undefined;
}

/** A message of a publish that the component did not accept. @public */
export interface PublishFailure {
  /** Its index in the published array. */
  readonly index: number;
  /** The reason; its message is shown to the publisher. */
  readonly error: Error;
}

/**
 * A delivered message, to be settled once: acknowledged, or returned for a retry. If it is never settled, because the
 * process died or the subscription was closed, it is delivered again.
 *
 * @public
 */
export interface Delivery {
  /** The message. */
  readonly message: Message;
  /** The number of deliveries to this group, including this one: 1 for the first. */
  readonly attempt: number;
  /**
   * How many deliveries before this one, in a row, the end of the process has interrupted, as far as the component
   * knows. Absent: it does not know.
   */
  readonly interruptions?: number;
  /**
   * Acknowledges the message: it is not delivered to this group again. Resolves once that is recorded; rejects if it
   * cannot be, for example because the connection that delivered the message is gone: it is then delivered again.
   */
  ack(): Promise<void>;
  /**
   * Returns the message, to be delivered again after at least `delayMs` milliseconds, or earlier if the process dies
   * that waits for it. Other messages continue meanwhile, except in an ordered subscription, where it comes before all
   * others. Resolves once that is recorded; rejects as `ack` does.
   */
  retry(delayMs: number): Promise<void>;
  /**
   * Takes the attempt back: the message has not been given to the application and will not be, since its subscription
   * is being closed. Its next delivery has the same `attempt`. Absent: every delivery counts.
   */
  takeBack?(): void;
}

/** Options of a consumer. @public */
export interface ConsumerOptions {
  /** The topic. */
  readonly topic: string;
  /** The consumer group: each group receives every message, each message goes to one consumer of the group. */
  readonly group: string;
  /** The subscription's metadata, for settings of the broker such as a kind of queue. Default: none. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Max unsettled messages at a time. */
  readonly maxInFlight: number;
  /**
   * Whether to deliver in order of publication, one at a time, a retried message before later ones. Components in one
   * process promise it for the group; those on brokers say in their documents whether it holds for several processes.
   */
  readonly ordered: boolean;
  /**
   * Whether to deliver the messages of a key in order of publication, one at a time, a retried message before later ones
   * of its key. The key is `partitionKey` of the metadata, or `__key`; messages without one are free. Default: no order.
   */
  readonly order?: 'key' | undefined;
  /** Max unsettled messages of a key at a time, in all processes that share the component. Default: no limit. */
  readonly perKey?: number | undefined;
  /** The most messages to hand out in any span of `perMs`, in all processes that share the component. Default: no limit. */
  readonly rate?: { readonly max: number; readonly perMs: number } | undefined;
  /** Whether to start paused: the group exists and collects messages, but none is delivered before `resume()`. */
  readonly paused: boolean;
  /** Called with messages as they arrive; must not throw. */
  readonly deliver: (deliveries: readonly Delivery[]) => void;
}

/** A consumer of a group. @public */
export interface ComponentSubscription {
  /** Stops delivering until `resume()`. Messages already delivered can still be settled. */
  pause(): void;
  /** Resumes delivering. */
  resume(): void;
  /** Leaves the group. Unsettled messages become available to the group's consumers, including later ones. */
  close(): Promise<void>;
}

/**
 * A pub/sub component: stores, delivers and settles messages. It knows neither CloudEvents nor HTTP: the building block
 * handles envelopes, routing, retry policies, dead letters and batches.
 *
 * @public
 */
export interface PubSubComponent {
  /**
   * Accepts messages in order. Resolves once the component has stored them (durable: on disk or acknowledged by the
   * broker), with the failures among them. A rejection means that none was accepted.
   */
  publish(messages: readonly Message[]): Promise<readonly PublishFailure[]>;
  /** Adds a consumer to a group. */
  subscribe(options: ConsumerOptions): Promise<ComponentSubscription>;
  /** Access to the queues, to operate them. Absent: the component, or its broker, has none to offer. */
  readonly queues?: QueueAccess | undefined;
  /** Publishes messages in commits of others. Absent: the component does not keep them in a state store. @internal */
  readonly commits?: MessageCommits | undefined;
  /** Ends all subscriptions; later publishes fail. May be called twice. */
  close(): Promise<void>;
}

/** The topics that applications may use on a pub/sub component. Topic names match exactly. @public */
export interface TopicScopes {
  /** By app ID: the topics it may publish to. Unlisted apps are not restricted by this. Default: none. */
  readonly publishingScopes?: Readonly<Record<string, readonly string[]>> | undefined;
  /** By app ID: the topics it may subscribe to. Unlisted apps are not restricted by this. Default: none. */
  readonly subscriptionScopes?: Readonly<Record<string, readonly string[]>> | undefined;
  /** The only allowed topics, for every app. Default: any. */
  readonly allowedTopics?: readonly string[] | undefined;
  /** Topics that an app may use only if its scopes name them. Default: none. */
  readonly protectedTopics?: readonly string[] | undefined;
}

/** The use of a topic: to publish to it, dead letters included, or to subscribe to it. @public */
export type TopicUse = 'publish' | 'subscribe';

/** An option of subscriptions that not every component can keep over all its processes. @public */
export type DeliveryLimit = 'order' | 'perKey' | 'rate';

/** An unopened pub/sub component, as passed to a sidecar. @public */
export interface PubSubDefinition extends ComponentDefinition {
  /** The building block; that of a definition that names none. */
  readonly block?: 'pubsub' | undefined;
  /** The topics that applications may use. */
  readonly topics: TopicScopes;
  /**
   * The options of subscriptions that it keeps over all processes that share it, see {@link ConsumerOptions}.
   * Subscriptions with others are refused. Default: none.
   */
  readonly limits?: readonly DeliveryLimit[] | undefined;
  /**
   * The applications with this definition, in any sidecar, whose subscriptions are not known yet. Absent: the sidecars
   * that share a state store share the component. @internal
   */
  readonly expected?: Expected;
  /**
   * Makes the component with its messages in the sidecar's own state, for processes that share one. @internal
   */
  readonly onState?: () => PubSubDefinition;
  /**
   * Why a topic cannot be used, as a clause such as `it belongs to the broker`; `undefined` if it can. Publishes to such
   * a topic fail with `ERR_PUBSUB_FORBIDDEN`; subscriptions to it, or with it as their dead-letter topic, are refused.
   * Default: every topic can be used.
   */
  readonly topicProblem?: ((topic: string, use: TopicUse) => string | undefined) | undefined;
  /** Opens the component for one sidecar. */
  open(context: ComponentContext): Promise<PubSubComponent>;
}

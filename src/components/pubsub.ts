import type { Expected } from '../util/expected.ts';
import type { ComponentContext, ComponentDefinition } from './component.ts';

/** A W3C trace context. @public */
export interface Trace {
  /** `traceparent`. */
  readonly traceparent: string;
  /** `tracestate`. */
  readonly tracestate?: string;
}

/** No metadata: what most messages have. Without a prototype, so that any name is an ordinary one. @public */
export const NO_METADATA: Readonly<Record<string, string>> = Object.freeze(
  Object.create(null) as Record<string, string>,
);

/** Where a dead letter comes from, and why it is one. @public */
export interface DeadLetterOrigin {
  /** The topic on which it could not be processed. */
  readonly topic: string;
  /** The consumer group that could not process it: the app ID, with `/` and its name for one with a name. */
  readonly group: string;
  /** Why: the message of what was thrown, the HTTP status, or what else was the matter. At most 1 KiB of UTF-8. */
  readonly reason: string;
  /** How often it had been handed out. */
  readonly attempts: number;
  /** When it became a dead letter: an instant in RFC 3339, in UTC. */
  readonly at: string;
}

/** A message as a component keeps it. @public */
export interface Message {
  /** Identifies it in logs and events: the CloudEvent's `id`, or a UUID for a raw payload. */
  readonly id: string;
  /** The topic it was published to. */
  readonly topic: string;
  /** The bytes: a CloudEvent in JSON, or a raw payload. */
  readonly data: Uint8Array;
  /** Media type of `data`: `application/cloudevents+json`, or a raw payload's own. */
  readonly contentType: string;
  /** Published as a raw payload, without an envelope. */
  readonly raw: boolean;
  /** The publisher's metadata, given back with every delivery. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The W3C trace that it belongs to. */
  readonly trace?: Trace;
  /** The instant from which it must not be delivered any more, in milliseconds since 1970. */
  readonly expiresAt?: number;
  /**
   * Of a dead letter: where it comes from. A component keeps it beside the bytes and gives it back with every delivery;
   * one whose broker has no place for it may leave it out.
   */
  readonly deadLetter?: DeadLetterOrigin;
}

/** One message of a publish that the component does not have. @public */
export interface PublishFailure {
  /** Its place in the array that was published. */
  readonly index: number;
  /** Why; its message is shown to the publisher. */
  readonly error: Error;
}

/**
 * A message that was handed out, to be settled once: acknowledged, or returned for a retry.
 * What is settled never, because the process died or the subscription was closed, is handed out again.
 *
 * @public
 */
export interface Delivery {
  /** The message. */
  readonly message: Message;
  /** How often it has been handed out to this group, this time included: 1 for the first. */
  readonly attempt: number;
  /** Settles it: it is never handed out to this group again. Resolves when that is recorded. */
  ack(): Promise<void>;
  /**
   * Returns it, to be handed out again no earlier than in `delayMs` milliseconds. Other messages go on meanwhile,
   * except in an ordered subscription, where it comes before any other. Resolves when that is recorded.
   */
  retry(delayMs: number): Promise<void>;
}

/** What a consumer asks of a component. @public */
export interface SubscribeOptions {
  /** The topic. */
  readonly topic: string;
  /** The consumer group: each group receives every message, each message goes to one consumer of the group. */
  readonly group: string;
  /** The most messages that may be handed out and unsettled at a time. */
  readonly maxInFlight: number;
  /** Hand out in order of publication, one at a time, a retried message before those behind it. */
  readonly ordered: boolean;
  /** Begin paused: the group exists and collects messages, nothing is handed out before `resume()`. */
  readonly paused: boolean;
  /** Receives messages as they come; must not throw. */
  readonly deliver: (deliveries: readonly Delivery[]) => void;
}

/** A consumer of a group. @public */
export interface ComponentSubscription {
  /** Hands out nothing new until `resume()`. What has been handed out may still be settled. */
  pause(): void;
  /** Hands out again. */
  resume(): void;
  /** Leaves the group. What is unsettled becomes available to the group's consumers, later ones included. */
  close(): Promise<void>;
}

/**
 * A pub/sub component: stores messages, hands them out, settles them. It knows neither CloudEvents nor HTTP; wrapping,
 * routing, retry policy, dead letters and batches are the building block's work.
 *
 * @public
 */
export interface PubSubComponent {
  /**
   * Takes messages, in order. Resolves when the component has them (durable ones: on disk, or acknowledged by the
   * broker), with those that it has not. A rejection means that it has none of them.
   */
  publish(messages: readonly Message[]): Promise<readonly PublishFailure[]>;
  /** Joins a consumer group. */
  subscribe(options: SubscribeOptions): Promise<ComponentSubscription>;
  /** Ends all subscriptions; later publishes fail. Twice is fine. */
  close(): Promise<void>;
}

/** Which topics an application may use on a pub/sub component. Topic names match exactly. @public */
export interface TopicScopes {
  /** By app ID: the topics it may publish to. An app that is not named is not restricted by this. */
  readonly publishingScopes?: Readonly<Record<string, readonly string[]>>;
  /** By app ID: the topics it may subscribe to. An app that is not named is not restricted by this. */
  readonly subscriptionScopes?: Readonly<Record<string, readonly string[]>>;
  /** The only topics there are, for every app. Default: any. */
  readonly allowedTopics?: readonly string[];
  /** Topics that an app may use only if its scopes name them. */
  readonly protectedTopics?: readonly string[];
}

/** A pub/sub component as it is given to a sidecar, not yet open. @public */
export interface PubSubDefinition extends ComponentDefinition {
  /** Which topics applications may use. */
  readonly topics: TopicScopes;
  /**
   * Applications that use it and whose subscriptions are not known yet, of all sidecars that are given the definition.
   * Absent: the sidecars that share a state store share the component. @internal
   */
  readonly expected?: Expected;
  /** Opens it for one sidecar. */
  open(context: ComponentContext): Promise<PubSubComponent>;
}

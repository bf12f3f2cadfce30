/** Where events go. */
export interface OutboxDestination {
  readonly pubsubName: string;
  readonly topic: string;
}

/** Publishes events of transactions: pub/sub, as far as this block needs it. */
export interface OutboxPublisher {
  /** Throws if the event can never be published: an attribute is not one of CloudEvents, or the topic is not allowed. */
  check(to: OutboxDestination, event: Uint8Array): void;
  /** Publishes a CloudEvent in JSON. Resolves once the component has stored it. */
  publish(to: OutboxDestination, event: Uint8Array): Promise<void>;
}

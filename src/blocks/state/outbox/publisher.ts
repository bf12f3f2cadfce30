/** Where events go. */
export interface OutboxDestination {
  readonly pubsubName: string;
  readonly topic: string;
}

/** Publishes events of transactions: pub/sub, as far as this block needs it. */
export interface OutboxPublisher {
  /** Publishes a CloudEvent in JSON. Resolves once the component has stored it. */
  publish(to: OutboxDestination, event: Uint8Array): Promise<void>;
}

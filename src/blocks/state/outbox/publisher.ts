import type { Batch, StateStore } from '../../../state/store.ts';

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
  /**
   * Prepares checked CloudEvents in JSON to be published in the commit of a transaction on a store. `undefined` if the
   * component does not keep its messages in that store.
   */
  prepareInCommit(to: OutboxDestination, events: readonly Uint8Array[], store: StateStore): EventsInCommit | undefined;
}

/** Events that are published in the commit of a transaction. */
export interface EventsInCommit {
  /** Whether they are published, by the last commit. */
  readonly isPublished: boolean;
  /**
   * Commits a batch with the messages of the events. Resolves with the version, or with `undefined` if they are not
   * accepted: nothing was written then. Rejects as a commit does; it may then be called again.
   */
  commit(batch: Batch): Promise<number | undefined>;
  /** The transaction has ended. */
  end(): void;
}

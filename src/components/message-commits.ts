import type { Batch, StateStore } from '../state/store.ts';
import type { Message } from './pubsub.ts';

/** Publishes messages in commits of others: of a component that keeps its messages in a state store. */
export interface MessageCommits {
  /** Where the component keeps its messages. */
  readonly store: StateStore;
  /**
   * Commits a batch and messages together: all of it, or nothing. Resolves with the version of the commit, or with
   * `undefined` if the component does not accept a message: nothing was written then.
   *
   * @throws ConflictError when a precondition of the batch does not hold.
   */
  commitWith(messages: readonly Message[], batch: Batch): Promise<number | undefined>;
}

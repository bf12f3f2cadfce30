import type { QueuedMessage } from '../dispatcher.ts';

/** A message that is loaded, and the key under which it lies. */
export interface StoredMessage extends QueuedMessage {
  readonly key: string;
  readonly number: number;
  /** In which tenure it was loaded. */
  readonly tenure: AbortController;
}

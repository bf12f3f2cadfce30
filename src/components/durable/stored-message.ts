import type { DispatchedMessage } from '../dispatcher.ts';

/** A message that is loaded, and the key under which it lies. */
export interface StoredMessage extends DispatchedMessage {
  readonly key: string;
  readonly number: number;
  /** In which tenure it was loaded. */
  readonly tenure: AbortController;
  /** How many deliveries in a row the end of a process has interrupted. */
  interruptions: number;
  /** Whether a process may have ended during its delivery: the next one is recorded before it begins. */
  isCareful: boolean;
  /** Whether its delivery is recorded. */
  isRecorded: boolean;
}

/** The process has not ended during the delivery. */
export function survived(entry: StoredMessage): void {
  entry.interruptions = 0;
  entry.isCareful = false;
  entry.isRecorded = false;
}

import type { Batch, Entry, KeyedEntry, KeyRange, Scan } from '../../state/store.ts';
import type { FoundDurability } from './durability.ts';
import type { PendingGroup } from './pending-group.ts';

/** Batches sent to the server in one call and written in order, each on its own. */
export interface CommitGroup {
  /** The open session of the process. */
  readonly session: number;
  /** 1 for the first group of the session, 2 for the next: the server refuses one that it has had. */
  readonly number: number;
  /** The version of the first batch; the next ones count on. */
  readonly firstVersion: number;
  readonly batches: readonly Batch[];
  /** A text to send to the other processes after the group, in the same round trip. It may be lost. */
  readonly message: string | undefined;
}

/** The first failed precondition of a batch. */
export interface Refusal {
  /** Index of the batch in its group. */
  readonly batch: number;
  /** Index of the precondition in `require` of the batch. */
  readonly precondition: number;
}

/** Converts what a server keeps of refusals: the index of each batch, followed by that of its precondition. */
export function refusalsOf(numbers: readonly number[]): readonly Refusal[] {
  const refusals: Refusal[] = [];
  for (let at = 0; at < numbers.length; at += 2)
    refusals.push({ batch: numbers[at] ?? 0, precondition: numbers[at + 1] ?? 0 });
  return refusals;
}

/** The state of a closed session. */
export interface ClosedSession {
  /** The last written group; 0 for none. */
  readonly group: number;
  /** The answer to that group, if it is the unanswered one. */
  readonly refusals: readonly Refusal[];
}

/**
 * One connection to the server of a store. A call that rejects with {@link ConnectionLostError} may have succeeded; the
 * connection is not used again after it. A call that rejects with {@link RetryableError} has changed nothing.
 */
export interface RemoteConnection {
  /** Identifies the running server: another server, or the same after a restart, has another one. */
  readonly serverId: string;
  /** The durability that the server's settings promise. */
  readonly durability: FoundDurability;
  get(keys: readonly string[]): Promise<readonly (Entry | undefined)[]>;
  scan(scan: Scan): Promise<readonly KeyedEntry[]>;
  /** The number of entries of a range, at most `limit`. */
  count(range: KeyRange, limit: number): Promise<number>;
  /** Opens a session; returns its number, which is never used again. */
  openSession(): Promise<number>;
  /**
   * Ends a session: the server then refuses its groups.
   *
   * @param unanswered - its last group, if the answer was lost
   */
  closeSession(session: number, unanswered: CommitGroup | undefined): Promise<ClosedSession>;
  /**
   * Writes what is left of a group. Resolves with no keys once it is durable; otherwise nothing was written, and these
   * are the keys whose precondition does not hold.
   */
  commit(pending: PendingGroup): Promise<readonly string[]>;
  /** Sends texts to the other processes that have the store open. */
  notify(messages: readonly string[]): Promise<void>;
  /** Ends the connection at once, with all calls in flight. */
  destroy(): void;
}

/** Receives the events of a connection. */
export interface ConnectionListener {
  /** @param isHandOver - whether the server has said that another one takes over. Default: false */
  readonly onLost: (isHandOver?: boolean) => void;
  readonly onMessage: (message: string) => void;
}

/** The server of a store. */
export interface RemoteServer {
  /** For messages, without credentials: `PostgreSQL at db:5432/shop`. */
  readonly name: string;
  /** Where it holds the store: `schema insidecar`. */
  readonly place: string;
  /** Over which connection processes tell each other what they have changed: that for reads, or that for commits. */
  readonly listensOn: 'reads' | 'commits';
  /**
   * Connects once.
   *
   * @param listens - whether to receive texts of other processes
   * @param signal - ends the attempt and all that was opened for it
   * @throws StateError when retries are useless: wrong credentials, a format that this release does not know, settings
   * that promise less than is required.
   */
  connect(listener: ConnectionListener, listens: boolean, signal: AbortSignal): Promise<RemoteConnection>;
}

/** The connection is lost; calls in flight may or may not have succeeded. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError';
}

/** The server has ended the connection, and said that another one takes over. */
export class HandOverError extends ConnectionLostError {}

/** The server has changed nothing; a retry may succeed: a deadlock, a race for the same key. */
export class RetryableError extends Error {
  override readonly name: string = 'RetryableError';
}

/** The session is unknown or closed: nothing was written. */
export class SessionClosedError extends RetryableError {
  override readonly name = 'SessionClosedError';
}

import type { Batch, Entry, KeyedEntry, Scan } from '../../state/store.ts';

/** Batches that go to the server in one call, and are written in their order, each for itself. */
export interface CommitGroup {
  /** The session that the process has open. */
  readonly session: number;
  /** 1 for the first group of the session, 2 for the next: the server refuses any other. */
  readonly number: number;
  /** The version of the first batch; the next ones count on. */
  readonly firstVersion: number;
  readonly batches: readonly Batch[];
}

/** A precondition that did not hold: the first of its batch. */
export interface Refusal {
  /** Index of the batch in its group. */
  readonly batch: number;
  /** Index of the precondition in `require` of the batch. */
  readonly precondition: number;
}

/** The state of a session that was closed. */
export interface ClosedSession {
  /** The last group that was written; 0 for none. */
  readonly group: number;
  /** What that group was answered, when it is the unanswered one. */
  readonly refusals: readonly Refusal[];
}

/**
 * One connection to the server that holds a store. A call that rejects with {@link ConnectionLostError} may have been
 * carried out; the connection is not used again then. One that rejects with {@link RetryableError} has changed nothing.
 */
export interface RemoteConnection {
  get(keys: readonly string[]): Promise<readonly (Entry | undefined)[]>;
  scan(scan: Scan): Promise<readonly KeyedEntry[]>;
  /** Opens a session; answers its number, which no session had before and none will have again. */
  openSession(): Promise<number>;
  /**
   * Ends a session: from then on the server refuses its groups.
   *
   * @param unanswered - the group of it that was sent last, when its answer was lost
   */
  closeSession(session: number, unanswered: CommitGroup | undefined): Promise<ClosedSession>;
  /** Answers, once the group is durable, which batches were refused. */
  commit(group: CommitGroup): Promise<readonly Refusal[]>;
  /** Sends texts to the other processes that have the store open. */
  notify(messages: readonly string[]): Promise<void>;
  /** Ends the connection at once, with whatever is under way on it. */
  destroy(): void;
}

/** What a connection tells by itself. */
export interface ConnectionListener {
  readonly onLost: (error: Error) => void;
  readonly onMessage: (message: string) => void;
}

/** A server that holds a store. */
export interface RemoteServer {
  /** For messages, without credentials: `PostgreSQL at db:5432/shop`. */
  readonly name: string;
  /**
   * Connects once.
   *
   * @param listens - whether it is to receive the texts of other processes
   * @throws StateError when trying again is no use: wrong credentials, a format that this release does not know.
   */
  connect(listener: ConnectionListener, listens: boolean): Promise<RemoteConnection>;
}

/** The connection has gone; what was under way may or may not have been carried out. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError';
}

/** The server has changed nothing, and may well do so when asked again: a deadlock, a race for the same key. */
export class RetryableError extends Error {
  override readonly name: string = 'RetryableError';
}

/** The server does not know the session, or it was closed: nothing was written. */
export class SessionClosedError extends RetryableError {
  override readonly name = 'SessionClosedError';
}

import { setTimeout as delay } from 'node:timers/promises';
import { closedError, isStateError } from '../../state/errors.ts';
import { type Backoff, backoffDelayMs } from '../../util/backoff.ts';
import {
  type ConnectionListener,
  ConnectionLostError,
  type RemoteConnection,
  type RemoteServer,
} from './connection.ts';

const BACKOFF: Backoff = { initialDelayMs: 50, maxDelayMs: 2_000, factor: 2, jitter: 0 };

/** The dependencies of a {@link Link}. */
export interface LinkDeps {
  readonly server: RemoteServer;
  /** Whether its connections receive the texts of other processes. */
  readonly listens: boolean;
  /** The time limit of one attempt to connect or one call. */
  readonly callTimeoutMs: number;
  readonly onMessage: (message: string) => void;
  /** Called after every connection, the first one included. */
  readonly onConnected: () => void;
  /** Called when an attempt to connect has failed. */
  readonly onFailure: (error: Error) => void;
}

/** One connection to the server; reconnects with back-off when it is lost. */
export class Link {
  readonly #deps: LinkDeps;
  #connection: RemoteConnection | undefined;
  #connecting: Promise<RemoteConnection> | undefined;
  #failures = 0;
  #lastFailure: string | undefined;
  readonly #closed = new AbortController();

  constructor(deps: LinkDeps) {
    this.#deps = deps;
  }

  /** Connects and waits up to `waitMs`. Rejects when the link is closed, or when retries are useless. */
  async open(waitMs: number): Promise<void> {
    await this.#connected(waitMs);
  }

  #connected(waitMs: number): Promise<RemoteConnection> | RemoteConnection {
    if (this.#connection !== undefined) return this.#connection;
    const makeError = (): Error =>
      new ConnectionLostError(this.#lastFailure ?? `${this.#deps.server.name} is not connected`);
    return withTimeLimit(this.#reconnect(), waitMs, makeError);
  }

  #reconnect(): Promise<RemoteConnection> {
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #connect(): Promise<RemoteConnection> {
    for (;;) {
      if (this.#closed.signal.aborted) throw closedError();
      try {
        const connection = await this.#connectOnce();
        if (this.#closed.signal.aborted) connection.destroy();
        else return this.#keep(connection);
      } catch (error) {
        this.#lastFailure = (error as Error).message;
        this.#deps.onFailure(error as Error);
        if (isStateError(error)) throw error;
        await pause(backoffDelayMs(BACKOFF, ++this.#failures, Math.random), this.#closed.signal);
      }
    }
  }

  #keep(connection: RemoteConnection): RemoteConnection {
    this.#failures = 0;
    this.#connection = connection;
    this.#deps.onConnected();
    return connection;
  }

  async #connectOnce(): Promise<RemoteConnection> {
    const { server, listens, callTimeoutMs, onMessage } = this.#deps;
    let connection: RemoteConnection | undefined;
    let isLost = false;
    const listener: ConnectionListener = {
      onMessage,
      onLost: () => {
        isLost = true;
        if (connection !== undefined) this.drop(connection);
      },
    };
    connection = await withTimeLimit(
      server.connect(listener, listens),
      callTimeoutMs,
      () => new ConnectionLostError(`${server.name} did not answer within ${callTimeoutMs} ms`),
      (late) => late.destroy(),
    );
    if (isLost) throw new ConnectionLostError(`${server.name} has closed the connection`);
    return connection;
  }

  /**
   * Makes one call with a time limit; a call that exceeds it loses the connection.
   *
   * @param waitMs - how long to wait for a connection while there is none
   * @throws ConnectionLostError when the call may have succeeded, or was not made.
   */
  async call<T>(waitMs: number, work: (connection: RemoteConnection) => Promise<T>): Promise<T> {
    const connection = await this.#connected(waitMs);
    const { server, callTimeoutMs } = this.#deps;
    try {
      return await withTimeLimit(
        work(connection),
        callTimeoutMs,
        () => new ConnectionLostError(`${server.name} did not answer within ${callTimeoutMs} ms`),
      );
    } catch (error) {
      if (error instanceof ConnectionLostError) this.drop(connection);
      throw error;
    }
  }

  /** Stops using a connection. */
  drop(connection: RemoteConnection): void {
    connection.destroy();
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    // Reconnect at once, not with the next call, to receive hints of other processes.
    if (!this.#closed.signal.aborted) this.#reconnect().catch(() => undefined);
  }

  close(): void {
    this.#closed.abort();
    this.#connection?.destroy();
    this.#connection = undefined;
  }
}

/** Uses real time: the time that a server takes is independent of the sidecar's clock. */
async function withTimeLimit<T>(
  work: Promise<T>,
  limitMs: number,
  makeError: () => Error,
  onLate?: (result: T) => void,
): Promise<T> {
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      isOver = true;
      reject(makeError());
    }, limitMs);
  });
  work.then(
    (result) => {
      if (isOver) onLate?.(result);
    },
    () => undefined,
  );
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves after some time, or as soon as the signal fires. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
}

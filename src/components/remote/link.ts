import { setTimeout as delay } from 'node:timers/promises';
import { closedError, isStateError } from '../../state/errors.ts';
import { type Backoff, backoffDelayMs } from '../../util/backoff.ts';
import { withTimeLimit } from '../../util/time-limit.ts';
import {
  type ConnectionListener,
  ConnectionLostError,
  type RemoteConnection,
  type RemoteServer,
} from './connection.ts';

const BACKOFF: Backoff = { initialDelayMs: 50, maxDelayMs: 2_000, factor: 2, jitter: 0 };
/** A connection that is lost sooner counts as a failed attempt: some servers take connections, but no work. */
const SHORT_LIFE_MS = 100;

/** The dependencies of a {@link Link}. */
export interface LinkDeps {
  readonly server: RemoteServer;
  /** Whether its connections receive the texts of other processes. */
  readonly listens: boolean;
  /** The time limit of one attempt to connect or one call. */
  readonly callTimeoutMs: number;
  readonly onMessage: (message: string) => void;
  /** Called after every connection, the first one included. */
  readonly onConnected: (connection: RemoteConnection) => void;
  /** Called when an attempt to connect has failed. */
  readonly onFailure: (error: Error) => void;
}

/** One connection to the server; reconnects with back-off when it is lost. */
export class Link {
  readonly #deps: LinkDeps;
  #connection: RemoteConnection | undefined;
  #connecting: Promise<RemoteConnection> | undefined;
  #connectedAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #lastFailure: Error | undefined;
  readonly #closed = new AbortController();

  constructor(deps: LinkDeps) {
    this.#deps = deps;
  }

  /** Connects and waits up to `waitMs`. Rejects when the link is closed, or when retries are useless. */
  async open(waitMs: number): Promise<void> {
    await this.#connected(waitMs);
  }

  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  #connected(waitMs: number): Promise<RemoteConnection> | RemoteConnection {
    if (this.#connection !== undefined) return this.#connection;
    const makeError = (): Error => this.#lastFailure ?? unreachable(this.#deps.server.name, 'it has not answered');
    return withTimeLimit(this.#reconnect(), waitMs, makeError);
  }

  #reconnect(): Promise<RemoteConnection> {
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #connect(): Promise<RemoteConnection> {
    if (performance.now() - this.#connectedAt < SHORT_LIFE_MS) await this.#backOff();
    else this.#failures = 0;
    for (;;) {
      if (this.#closed.signal.aborted) throw closedError();
      try {
        const connection = await this.#connectOnce();
        if (this.#closed.signal.aborted) connection.destroy();
        else return this.#keep(connection);
      } catch (error) {
        const failure = isStateError(error)
          ? error
          : unreachable(this.#deps.server.name, (error as Error).message, error);
        this.#lastFailure = failure;
        this.#deps.onFailure(failure);
        if (isStateError(error)) throw error;
        await this.#backOff();
      }
    }
  }

  #backOff(): Promise<void> {
    return pause(backoffDelayMs(BACKOFF, ++this.#failures, Math.random), this.#closed.signal);
  }

  #keep(connection: RemoteConnection): RemoteConnection {
    this.#connectedAt = performance.now();
    this.#connection = connection;
    this.#deps.onConnected(connection);
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
    const attempt = new AbortController();
    connection = await withTimeLimit(server.connect(listener, listens, attempt.signal), callTimeoutMs, () => {
      attempt.abort();
      return new ConnectionLostError(`${server.name} did not answer within ${callTimeoutMs} ms`);
    });
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

  /** Connects again if it is connected to another server: after a failover, the former one may still answer. */
  follow(serverId: string): void {
    if (this.#connection !== undefined && this.#connection.serverId !== serverId) this.drop(this.#connection);
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

/** Says which server it is: its own messages often do not. */
function unreachable(server: string, reason: string, cause?: unknown): ConnectionLostError {
  const message = reason.startsWith(server) ? reason : `${server} cannot be reached: ${reason}`;
  return new ConnectionLostError(message, { cause });
}

/** Resolves after some time, or as soon as the signal fires. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
}

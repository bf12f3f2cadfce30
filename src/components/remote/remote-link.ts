import { closedError, isStateError } from '../../state/errors.ts';
import { withTimeLimit } from '../../util/time-limit.ts';
import type { OutageLog } from '../outage-log.ts';
import { Reconnector, unreachableText } from '../reconnector.ts';
import {
  type ConnectionListener,
  ConnectionLostError,
  HandOverError,
  type RemoteConnection,
  type RemoteServer,
} from './connection.ts';

/** Commits wait for a connection, so even after a short one the next attempt follows at once. */
const SHORT_LIFE_MS = 100;

/** The part of a connection that a {@link RemoteLink} uses. */
export type LinkedConnection = Pick<RemoteConnection, 'serverId' | 'destroy'>;

/** A server that a {@link RemoteLink} connects to. */
export interface LinkedServer<C extends LinkedConnection> extends Pick<RemoteServer, 'name'> {
  /** As that of {@link RemoteServer}. */
  connect(listener: ConnectionListener, listens: boolean, signal: AbortSignal): Promise<C>;
}

/** The dependencies of a {@link RemoteLink}. */
export interface RemoteLinkDeps<C extends LinkedConnection = RemoteConnection> {
  readonly server: LinkedServer<C>;
  /** Whether its connections receive the texts of other processes. */
  readonly listens: boolean;
  /** The time limit of one attempt to connect or one call. */
  readonly callTimeoutMs: number;
  readonly outages: OutageLog;
  /** A number from 0 to 1. */
  readonly random: () => number;
  readonly onMessage: (message: string) => void;
  /** Called after every connection, the first one included. */
  readonly onConnected: (connection: C) => void;
  /** Called when an attempt to connect has failed. */
  readonly onFailure: (error: Error) => void;
}

/** One connection to the server of a store, and the calls over it. */
export class RemoteLink<C extends LinkedConnection = RemoteConnection> {
  readonly #deps: RemoteLinkDeps<C>;
  readonly #reconnector: Reconnector<C>;
  #isClosed = false;

  constructor(deps: RemoteLinkDeps<C>) {
    this.#deps = deps;
    const { callTimeoutMs, outages, random, onConnected, onFailure } = deps;
    this.#reconnector = new Reconnector(
      {
        connect: (signal) => this.#connect(signal),
        end: (connection) => connection.destroy(),
        ...{ onConnected, onFailure, outages, random },
      },
      {
        shortLifeMs: SHORT_LIFE_MS,
        attemptLimit: { limitMs: callTimeoutMs, error: () => this.#silence() },
        // Retries are useless then, as far as can be seen.
        isFinal: isStateError,
        isHandOver: (error) => error instanceof HandOverError,
      },
    );
  }

  /** Connects and waits up to `waitMs`. Rejects when the link is closed, or when retries are useless. */
  async open(waitMs: number): Promise<void> {
    await this.#connected(waitMs);
  }

  get isConnected(): boolean {
    return this.#reconnector.connection !== undefined;
  }

  async #connected(limitMs: number): Promise<C> {
    const error = (): Error =>
      this.#reconnector.failure ??
      new ConnectionLostError(unreachableText(this.#deps.server.name, 'it has not answered'));
    try {
      return await this.#reconnector.connected({ limitMs, error });
    } catch (cause) {
      throw this.#isClosed ? closedError() : cause;
    }
  }

  async #connect(signal: AbortSignal): Promise<C> {
    const { server, listens, onMessage } = this.#deps;
    let connection: C | undefined;
    let lost: Error | undefined;
    const listener: ConnectionListener = {
      onMessage,
      onLost: (isHandOver = false) => {
        lost = isHandOver
          ? new HandOverError(`${server.name} was handed over, and is not back yet`)
          : new ConnectionLostError(`${server.name} has closed the connection`);
        if (connection !== undefined) this.drop(connection, lost);
      },
    };
    try {
      connection = await server.connect(listener, listens, signal);
    } catch (error) {
      throw isStateError(error)
        ? error
        : new ConnectionLostError(unreachableText(server.name, error), { cause: error });
    }
    if (lost !== undefined) throw lost;
    return connection;
  }

  #silence(): Error {
    const { server, callTimeoutMs } = this.#deps;
    return new ConnectionLostError(`${server.name} did not answer within ${callTimeoutMs} ms`);
  }

  /**
   * Makes one call with a time limit; a call that exceeds it loses the connection.
   *
   * @param waitMs - how long to wait for a connection while there is none
   * @throws ConnectionLostError when the call may have succeeded, or was not made.
   */
  async call<T>(waitMs: number, work: (connection: C) => Promise<T>): Promise<T> {
    const connection = this.#reconnector.connection ?? (await this.#connected(waitMs));
    try {
      return await withTimeLimit(work(connection), this.#deps.callTimeoutMs, () => this.#silence());
    } catch (error) {
      if (error instanceof ConnectionLostError) this.drop(connection, error);
      throw error;
    }
  }

  /** Connects again if it is connected to another server: after a failover, the former one may still answer. */
  follow(serverId: string): void {
    const { connection } = this.#reconnector;
    if (connection === undefined || connection.serverId === serverId) return;
    this.#reconnector.replace(connection);
    connection.destroy();
  }

  /** Stops using a connection. The next one is made at once, to receive hints of other processes. */
  drop(connection: C, error: Error): void {
    connection.destroy();
    this.#reconnector.lose(connection, error);
  }

  close(): void {
    this.#isClosed = true;
    void this.#reconnector.close();
  }
}

import { clearInterval, setInterval } from '../../../util/timers.ts';
import type { OutageLog } from '../../outage-log.ts';
import { Reconnector } from '../../reconnector.ts';
import { ConnectionLostError } from '../../remote/connection.ts';
import { destroy } from '../dialer.ts';
import type { RedisClient } from '../driver.ts';
import { errorOf } from '../failures.ts';

const BEAT_MS = 1_000;

/** The dependencies of an {@link Endpoint}. */
export interface EndpointDeps {
  /** Connects once. The signal ends the attempt. */
  readonly open: (signal: AbortSignal) => Promise<RedisClient>;
  /** For messages. */
  readonly server: string;
  /** The time limit of an attempt to connect, and of the answer to a ping. */
  readonly timeoutMs: number;
  readonly outages: OutageLog;
  /** A number from 0 to 1. */
  readonly random: () => number;
  readonly onConnected?: (client: RedisClient) => void;
  readonly onFailure?: (error: Error) => void;
}

/** One connection to Redis, whose server must answer pings. */
export class Endpoint {
  readonly #deps: EndpointDeps;
  readonly #reconnector: Reconnector<RedisClient>;
  #beat: NodeJS.Timeout | undefined;
  /** Beats since the last answer. Not a time: a busy process reads answers late. */
  #unanswered = 0;

  constructor(deps: EndpointDeps) {
    this.#deps = deps;
    const { server, timeoutMs, outages, random, onFailure } = deps;
    const error = (): Error => new ConnectionLostError(`${server} did not answer within ${timeoutMs} ms`);
    this.#reconnector = new Reconnector(
      {
        connect: (signal) => this.#connect(signal),
        end: destroy,
        onConnected: (client) => this.#use(client),
        ...(onFailure === undefined ? {} : { onFailure }),
        outages,
        random,
      },
      { attemptLimit: { limitMs: timeoutMs, error } },
    );
    this.#reconnector.start();
  }

  /** The connection, if there is one now. */
  get client(): RedisClient | undefined {
    return this.#reconnector.connection;
  }

  /** Why there is no connection, if that is known. */
  get failure(): Error | undefined {
    return this.#reconnector.failure;
  }

  /** The connection, now or with the next attempt; rejects if that fails. */
  ready(): Promise<RedisClient> {
    return this.#reconnector.ready();
  }

  /** Like {@link ready}, but rejects at once between two attempts. */
  reachable(): Promise<RedisClient> {
    return this.#reconnector.reachable();
  }

  async #connect(signal: AbortSignal): Promise<RedisClient> {
    const { open, server } = this.#deps;
    try {
      const client = await open(signal);
      client.on('end', () => this.drop(client, new ConnectionLostError(`${server} has closed the connection`)));
      client.on('error', (error) => this.drop(client, errorOf(error, server)));
      return client;
    } catch (error) {
      throw errorOf(error, server);
    }
  }

  #use(client: RedisClient): void {
    this.#unanswered = 0;
    this.#beat = setInterval(() => this.#ping(client), BEAT_MS);
    this.#deps.onConnected?.(client);
  }

  /** Drops a connection that no longer answers pings. */
  #ping(client: RedisClient): void {
    const { server, timeoutMs } = this.#deps;
    // A ping has at least one beat for its answer.
    const limitMs = Math.max(timeoutMs, 2 * BEAT_MS);
    if (++this.#unanswered * BEAT_MS > limitMs)
      return this.drop(client, new ConnectionLostError(`${server} has not answered a ping for ${limitMs} ms`));
    const answered = (): void => {
      if (client === this.client) this.#unanswered = 0;
    };
    client.sendCommand(['PING']).then(answered, answered);
  }

  /** Stops using a connection that does not work, and makes a new one. */
  drop(client: RedisClient, error: Error): void {
    if (client === this.client) clearInterval(this.#beat);
    destroy(client);
    this.#reconnector.lose(client, error);
  }

  /** Makes a new connection: this one leads to the wrong node. */
  replace(client: RedisClient): void {
    if (client === this.client) clearInterval(this.#beat);
    this.#reconnector.replace(client);
    destroy(client);
  }

  close(): Promise<void> {
    clearInterval(this.#beat);
    return this.#reconnector.close();
  }
}

import { type Backoff, backoffDelayMs } from '../../../util/backoff.ts';
import { withTimeLimit } from '../../../util/time-limit.ts';
import { clearInterval, clearTimeout, setInterval, setTimeout } from '../../../util/timers.ts';
import type { OutageLog } from '../../broker/outage-log.ts';
import { ConnectionLostError } from '../../remote/connection.ts';
import { destroy } from '../dialer.ts';
import type { RedisClient } from '../driver.ts';
import { errorOf } from '../failures.ts';

const BACKOFF: Backoff = { initialDelayMs: 50, maxDelayMs: 2_000, factor: 2, jitter: 0.2 };
const BEAT_MS = 1_000;
/** A connection that is lost sooner counts as a failed attempt. */
const SHORT_LIFE_MS = 100;

/** The dependencies of an {@link Endpoint}. */
export interface EndpointDeps {
  /** Connects once. The signal ends the attempt. */
  readonly open: (signal: AbortSignal) => Promise<RedisClient>;
  /** For messages. */
  readonly server: string;
  /** The time limit of an attempt to connect, and of the answer to a ping. */
  readonly timeoutMs: number;
  readonly outages: OutageLog;
  readonly onConnected?: (client: RedisClient) => void;
  readonly onFailure?: (error: Error) => void;
}

interface Waiting {
  readonly resolve: (client: RedisClient) => void;
  readonly reject: (error: Error) => void;
}

/** One connection that is made again, with back-off, whenever it is lost or the server does not answer. */
export class Endpoint {
  readonly #deps: EndpointDeps;
  #client: RedisClient | undefined;
  #failure: Error | undefined;
  #failures = 0;
  #connectedAt = 0;
  #waiting: Waiting[] = [];
  #pause: NodeJS.Timeout | undefined;
  #beat: NodeJS.Timeout | undefined;
  /** Beats since the last answer. Not a time: a busy process reads answers late. */
  #unanswered = 0;
  #closed = false;

  constructor(deps: EndpointDeps) {
    this.#deps = deps;
    void this.#attempt();
  }

  /** The connection, if there is one now. */
  get client(): RedisClient | undefined {
    return this.#client;
  }

  /** Why the last attempt to connect failed; `undefined` while connected, and before the first attempt has ended. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** The connection, now or with the next attempt; rejects if that fails. */
  ready(): Promise<RedisClient> {
    if (this.#client !== undefined) return Promise.resolve(this.#client);
    if (this.#closed) return Promise.reject(closedError(this.#deps.server));
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  async #attempt(): Promise<void> {
    const { open, server, timeoutMs } = this.#deps;
    const attempt = new AbortController();
    const opening = open(attempt.signal);
    try {
      const client = await withTimeLimit(
        opening,
        timeoutMs,
        () => new ConnectionLostError(`${server} did not answer within ${timeoutMs} ms`),
      );
      this.#keep(client);
    } catch (error) {
      attempt.abort();
      opening.then(destroy, () => undefined);
      this.#fail(errorOf(error, server));
    }
  }

  #keep(client: RedisClient): void {
    if (this.#closed) return destroy(client);
    const { outages, onConnected } = this.#deps;
    for (const event of ['end', 'error'] as const) client.on(event, () => this.drop(client));
    this.#client = client;
    this.#failure = undefined;
    this.#connectedAt = performance.now();
    this.#unanswered = 0;
    this.#beat = setInterval(() => this.#ping(client), BEAT_MS);
    outages.onConnected(this);
    onConnected?.(client);
    for (const { resolve } of this.#waiting.splice(0)) resolve(client);
  }

  #fail(error: Error): void {
    if (this.#closed) return;
    const { outages, onFailure } = this.#deps;
    outages.onLost(this, error.message);
    this.#failure = error;
    for (const { reject } of this.#waiting.splice(0)) reject(error);
    onFailure?.(error);
    this.#again(++this.#failures);
  }

  #again(retry: number): void {
    if (this.#closed) return;
    this.#pause = setTimeout(() => void this.#attempt(), backoffDelayMs(BACKOFF, retry, Math.random));
  }

  /** A connection over which nothing comes back is lost, even if nobody says so. */
  #ping(client: RedisClient): void {
    // A ping has at least one beat for its answer.
    if (++this.#unanswered * BEAT_MS > Math.max(this.#deps.timeoutMs, 2 * BEAT_MS)) return this.drop(client);
    const answered = (): void => {
      if (client === this.#client) this.#unanswered = 0;
    };
    client.sendCommand(['PING']).then(answered, answered);
  }

  /** Stops using a connection, and makes a new one. */
  drop(client: RedisClient): void {
    if (client !== this.#client) return;
    this.#client = undefined;
    clearInterval(this.#beat);
    destroy(client);
    if (performance.now() - this.#connectedAt >= SHORT_LIFE_MS) this.#failures = 0;
    this.#again(++this.#failures);
  }

  close(): void {
    this.#closed = true;
    this.#deps.outages.onClosed(this);
    clearTimeout(this.#pause);
    clearInterval(this.#beat);
    if (this.#client !== undefined) destroy(this.#client);
    this.#client = undefined;
    for (const { reject } of this.#waiting.splice(0)) reject(closedError(this.#deps.server));
  }
}

/** Nobody waits for a connection any more. */
function closedError(server: string): Error {
  return new Error(`the connection to ${server} is closed`);
}

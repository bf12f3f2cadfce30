import type { Logger } from '../../util/logger.ts';
import { withTimeLimit } from '../../util/time-limit.ts';
import { OutageLog } from '../outage-log.ts';
import { Reconnector } from '../reconnector.ts';
import { ConnectionLostError } from '../remote/connection.ts';
import { firstOf } from '../remote/first-of.ts';
import type { PgHost, PgTarget } from './connection-string.ts';
import type { loadPg, PgClient, PgQuery, PgResult, PgRow } from './driver.ts';
import { errorOf } from './failures.ts';
import { discard, openClient } from './primary.ts';

/** The dependencies of a {@link PgLine}. */
export interface PgLineDeps {
  readonly target: PgTarget;
  readonly load: () => ReturnType<typeof loadPg>;
  /** The time limit of an attempt to connect and of each query. */
  readonly callTimeoutMs: number;
  readonly logger: Logger;
  readonly random: () => number;
  /** Called with every new connection, the first one included. */
  readonly onConnected?: () => void;
  /** Called with the notifications of channels that are listened to. */
  readonly onNotification?: (channel: string, payload: string) => void;
}

/** One connection to the primary of a server, which is made again whenever it is lost. */
export class PgLine {
  readonly #deps: PgLineDeps;
  readonly #reconnector: Reconnector<PgClient>;

  constructor(deps: PgLineDeps) {
    const { target, callTimeoutMs, logger, random, onConnected } = deps;
    this.#deps = deps;
    this.#reconnector = new Reconnector<PgClient>(
      {
        connect: (signal) => this.#connect(signal),
        end: discard,
        onConnected: () => onConnected?.(),
        outages: new OutageLog(logger, target.name),
        random,
      },
      { attemptLimit: { limitMs: callTimeoutMs, error: () => this.#late() } },
    );
    this.#reconnector.start();
  }

  /** Why there is no connection; `undefined` while there is one. */
  get failure(): Error | undefined {
    return this.#reconnector.failure;
  }

  #late(): Error {
    const { target, callTimeoutMs } = this.#deps;
    return new ConnectionLostError(`${target.name} did not answer within ${callTimeoutMs} ms`);
  }

  async #connect(signal: AbortSignal): Promise<PgClient> {
    const { target, callTimeoutMs } = this.#deps;
    try {
      return await firstOf(target.hosts, (host, given) => this.#open(host, given), signal, callTimeoutMs);
    } catch (error) {
      throw errorOf(error, target.name);
    }
  }

  #open({ config }: PgHost, signal: AbortSignal): Promise<PgClient> {
    const { target, load, onNotification } = this.#deps;
    return openClient({ load, config, signal, server: target.name }, async (client) => {
      client.on('end', () => this.#lose(client, 'has closed the connection'));
      client.on('notification', ({ channel, payload }) => onNotification?.(channel, payload ?? ''));
      const { rows } = await client.query({ text: 'SELECT pg_is_in_recovery()', rowMode: 'array' });
      if (rows[0]?.[0] !== true) return client;
      throw new ConnectionLostError('the server is a standby, and only a primary is used');
    });
  }

  #lose(client: PgClient, reason: string): void {
    this.#reconnector.lose(client, new ConnectionLostError(`${this.#deps.target.name} ${reason}`));
  }

  /**
   * Makes one query, on the connection or the one that is being made.
   *
   * @throws ConnectionLostError when there is no connection, or it was lost before the answer.
   */
  async query(text: string, values: readonly unknown[] = []): Promise<readonly PgRow[]> {
    return (await this.run({ text, values, rowMode: 'array' })).rows;
  }

  /** As {@link PgLine.query}, with the columns; a text of several statements has several results. */
  async run(query: PgQuery): Promise<PgResult> {
    const client = await this.#reconnector.reachable();
    const { target, callTimeoutMs } = this.#deps;
    try {
      return await withTimeLimit(client.query(query), callTimeoutMs, () => this.#late());
    } catch (cause) {
      const error = errorOf(cause, target.name);
      if (error instanceof ConnectionLostError) {
        discard(client);
        this.#reconnector.lose(client, error);
      }
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#reconnector.close();
  }
}

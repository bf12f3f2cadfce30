import type { Backoff } from '../../util/backoff.ts';
import type { Logger } from '../../util/logger.ts';
import { withTimeLimit } from '../../util/time-limit.ts';
import { setImmediate } from '../../util/timers.ts';
import type { OutageLog } from '../outage-log.ts';
import { Reconnector, unreachableText } from '../reconnector.ts';
import type { AmqpConnection } from './driver.ts';

// Captured at load time, because tests replace the global functions with fake timers: a broker's time is real time.
const { nextTick } = process;

/** How long the end of a connection may take. */
const CLOSE_LIMIT_MS = 2_000;
const BLOCKED = 'the server takes no messages at the moment, because it is short of memory or disk';

/** The dependencies of a {@link RabbitConnection}. */
export interface RabbitConnectionDeps {
  /** The server, for messages. */
  readonly server: string;
  readonly connect: () => Promise<AmqpConnection>;
  readonly backoff: Backoff;
  readonly random: () => number;
  readonly logger: Logger;
  readonly outages: OutageLog;
}

/** A connection to RabbitMQ, which is made when it is first needed. */
export class RabbitConnection {
  readonly #deps: RabbitConnectionDeps;
  readonly #reconnector: Reconnector<AmqpConnection>;
  #isCollecting = false;
  /** Whether the server takes no messages at the moment. */
  isBlocked = false;
  /** The version of the server, `[3, 10]` for 3.10.8. */
  version: readonly [major: number, minor: number] = [0, 0];
  /** Called when the server takes messages again. */
  onUnblocked: (() => void) | undefined;

  constructor(deps: RabbitConnectionDeps) {
    this.#deps = deps;
    const { backoff, outages, random } = deps;
    this.#reconnector = new Reconnector(
      {
        connect: () => this.#connect(),
        end: endInTime,
        outages,
        random,
      },
      { backoff },
    );
  }

  /** The server, for messages. */
  get server(): string {
    return this.#deps.server;
  }

  /** Why nothing can be sent, if that is known. */
  get failure(): string | undefined {
    return this.isBlocked ? BLOCKED : this.#reconnector.failure?.message;
  }

  /** The connection; rejects if the attempt under way fails, or at once between two attempts. */
  open(): Promise<AmqpConnection> {
    return this.#reconnector.reachable();
  }

  /** The connection, however long it takes; rejects when this object is closed. */
  opened(): Promise<AmqpConnection> {
    return this.#reconnector.connected();
  }

  /**
   * Called when something was sent on a channel: all that is sent in this turn of the event loop goes out in one call of
   * the system. The driver makes one for each frame, which costs more than all else of a small message.
   */
  collect(): void {
    const { connection } = this.#reconnector;
    if (this.#isCollecting || connection === undefined) return;
    const { stream } = connection.connection;
    this.#isCollecting = true;
    stream.cork();
    // The driver hands the frames of its channels to the stream in an immediate that it sets in the next tick.
    nextTick(() =>
      setImmediate(() => {
        this.#isCollecting = false;
        stream.uncork();
      }),
    );
  }

  async #connect(): Promise<AmqpConnection> {
    try {
      const connection = await this.#deps.connect();
      if (!isEnded(connection)) {
        this.isBlocked = false;
        this.version = versionOf(connection);
        this.#watch(connection);
        return connection;
      }
      // One that the server closes with its first answer has emitted its events before there was a listener.
      destroyLater(connection);
      throw new Error('the server has closed the connection at once');
    } catch (error) {
      throw this.#unreachable(error);
    }
  }

  #unreachable(cause: unknown): Error {
    return new Error(unreachableText(this.#deps.server, cause), { cause });
  }

  #watch(connection: AmqpConnection): void {
    let reason: unknown;
    connection.on('error', (error: unknown) => {
      reason = error;
    });
    connection.on('blocked', () => this.#blocked());
    connection.on('unblocked', () => {
      this.isBlocked = false;
      this.onUnblocked?.();
    });
    connection.on('close', (error: unknown) => {
      destroyLater(connection);
      if (connection === this.#reconnector.connection) this.isBlocked = false;
      this.#reconnector.lose(connection, this.#unreachable(error ?? reason ?? 'closed'));
    });
  }

  #blocked(): void {
    this.isBlocked = true;
    const { logger, server } = this.#deps;
    logger.warn({ server }, BLOCKED);
  }

  close(): Promise<void> {
    return this.#reconnector.close();
  }
}

function versionOf({ connection }: AmqpConnection): readonly [number, number] {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(String(connection.serverProperties.version)) ?? [];
  return [Number(major ?? 0), Number(minor ?? 0)];
}

function isEnded({ connection: { stream } }: AmqpConnection): boolean {
  return stream.writableEnded || stream.destroyed;
}

/** A silent server does not close its end. */
function destroyLater({ connection: { stream } }: AmqpConnection): void {
  stream.setTimeout(CLOSE_LIMIT_MS, () => stream.destroy());
}

/** The server may stand still. */
async function endInTime(connection: AmqpConnection): Promise<void> {
  connection.on('error', () => undefined);
  try {
    await withTimeLimit(connection.close(), CLOSE_LIMIT_MS, () => new Error('the broker does not respond'));
  } catch (error) {
    // With the error, or the driver's timers go on.
    connection.connection.stream.destroy(error as Error);
  }
}

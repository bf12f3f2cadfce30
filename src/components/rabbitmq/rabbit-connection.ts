import { messageOf } from '../../errors.ts';
import { type Backoff, backoffDelayMs } from '../../util/backoff.ts';
import type { Logger } from '../../util/logger.ts';
import { withTimeLimit } from '../../util/time-limit.ts';
import { clearTimeout, setImmediate, setTimeout } from '../../util/timers.ts';
import type { OutageLog } from '../broker/outage-log.ts';
import type { AmqpConnection } from './driver.ts';
import { SHORT_LIFE_MS } from './reconnect.ts';

// Captured at load time, because tests replace the global functions with fake timers: a broker's time is real time.
const { performance } = globalThis;
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

interface Waiter {
  readonly resolve: (connection: AmqpConnection) => void;
  readonly reject: (error: Error) => void;
}

/** A connection that is made when it is first needed, and then again whenever it is lost. */
export class RabbitConnection {
  readonly #deps: RabbitConnectionDeps;
  #current: AmqpConnection | undefined;
  #attempt: Promise<AmqpConnection> | undefined;
  /** Why the latest attempt failed. */
  #failure: Error | undefined;
  /** Attempts in a row that failed, or whose connection did not last. */
  #failures = 0;
  #connectedAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #waiters: Waiter[] = [];
  #isClosed = false;
  #isCollecting = false;
  /** Whether the server takes no messages at the moment. */
  isBlocked = false;
  /** The version of the server, `[3, 10]` for 3.10.8. */
  version: readonly [major: number, minor: number] = [0, 0];
  /** Called when the server takes messages again. */
  onUnblocked: (() => void) | undefined;

  constructor(deps: RabbitConnectionDeps) {
    this.#deps = deps;
  }

  /** The server, for messages. */
  get server(): string {
    return this.#deps.server;
  }

  /** Why nothing can be sent, if that is known. */
  get failure(): string | undefined {
    return this.isBlocked ? BLOCKED : this.#failure?.message;
  }

  /** The connection; rejects if the attempt under way fails, or at once if the latest has failed. */
  open(): Promise<AmqpConnection> {
    if (this.#isClosed) return Promise.reject(closedError());
    if (this.#current !== undefined) return Promise.resolve(this.#current);
    if (this.#attempt === undefined && this.#failure !== undefined) return Promise.reject(this.#failure);
    return this.#try();
  }

  /** The connection, however long it takes; rejects when this object is closed. */
  opened(): Promise<AmqpConnection> {
    if (this.#isClosed) return Promise.reject(closedError());
    if (this.#current !== undefined) return Promise.resolve(this.#current);
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      if (this.#timer === undefined) this.#try().catch(() => undefined);
    });
  }

  /**
   * Called when something was sent on a channel: all that is sent in this turn of the event loop goes out in one call of
   * the system. The driver makes one for each frame, which costs more than all else of a small message.
   */
  collect(): void {
    if (this.#isCollecting || this.#current === undefined) return;
    const { stream } = this.#current.connection;
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

  #try(): Promise<AmqpConnection> {
    this.#attempt ??= this.#connect().finally(() => {
      this.#attempt = undefined;
    });
    return this.#attempt;
  }

  async #connect(): Promise<AmqpConnection> {
    const { connect } = this.#deps;
    try {
      const connection = await connect();
      if (this.#isClosed) {
        await end(connection);
        throw closedError();
      }
      // One that the server closes with its first answer has told so before anybody could listen.
      if (isEnded(connection)) {
        destroyLater(connection);
        throw new Error('the server has closed the connection at once');
      }
      this.#use(connection);
      return connection;
    } catch (cause) {
      this.#failures++;
      throw this.#failed(cause);
    }
  }

  /** Tries again later. */
  #failed(cause: unknown): Error {
    const failure = new Error(`${this.#deps.server} cannot be reached: ${reasonOf(cause)}`, { cause });
    this.#failure = failure;
    if (this.#isClosed) return failure;
    this.#deps.outages.onLost(this, reasonOf(cause));
    this.#later();
    return failure;
  }

  #later(): void {
    const { backoff, random } = this.#deps;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#try().catch(() => undefined);
      },
      backoffDelayMs(backoff, this.#failures, random),
    );
  }

  #use(connection: AmqpConnection): void {
    this.#current = connection;
    this.#failure = undefined;
    this.#deps.outages.onConnected(this);
    this.#connectedAt = performance.now();
    this.isBlocked = false;
    this.version = versionOf(connection);
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
      this.#lost(connection, error ?? reason);
    });
    for (const { resolve } of this.#waiters.splice(0)) resolve(connection);
  }

  #blocked(): void {
    this.isBlocked = true;
    const { logger, server } = this.#deps;
    logger.warn({ server }, BLOCKED);
  }

  #lost(connection: AmqpConnection, error: unknown): void {
    if (this.#current !== connection) return;
    this.#current = undefined;
    this.isBlocked = false;
    if (this.#isClosed) return;
    this.#deps.outages.onLost(this, reasonOf(error ?? 'closed'));
    // The first time at once.
    const isShort = performance.now() - this.#connectedAt < SHORT_LIFE_MS;
    this.#failures = isShort ? this.#failures + 1 : 0;
    if (this.#failures > 1) this.#failed(error ?? 'closed');
    else this.#try().catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const { reject } of this.#waiters.splice(0)) reject(closedError());
    const connection = this.#current;
    this.#current = undefined;
    await this.#attempt?.catch(() => undefined);
    if (connection !== undefined) await end(connection);
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
async function end(connection: AmqpConnection): Promise<void> {
  connection.on('error', () => undefined);
  try {
    await withTimeLimit(connection.close(), CLOSE_LIMIT_MS, () => new Error('the broker does not respond'));
  } catch (error) {
    // With the error, or the driver's timers go on.
    connection.connection.stream.destroy(error as Error);
  }
}

/** Errors of sockets have no message when several addresses were tried. */
function reasonOf(error: unknown): string {
  const { code, errors } = Object(error) as { readonly code?: unknown; readonly errors?: unknown };
  const [first] = Array.isArray(errors) ? errors : [];
  return messageOf(error) || (first === undefined ? String(code) : messageOf(first));
}

function closedError(): Error {
  return new Error('the component is closed');
}

import { messageOf as textOf } from '../../errors.ts';
import { backoffDelayMs } from '../../util/backoff.ts';
import { withTimeLimit } from '../../util/time-limit.ts';
import { clearTimeout, setTimeout } from '../../util/timers.ts';
import type { Held, Line, LineOptions, LineReceiver } from '../broker/line.ts';
import { RECONNECT, SHORT_LIFE_MS } from '../reconnector.ts';
import type { AmqpChannel, AmqpMessage } from './driver.ts';
import { attemptsAfterReturn, attemptsOf, keyOf, messageOf, type ReadOptions } from './message-properties.ts';
import type { RabbitConnection } from './rabbit-connection.ts';
import type { PreparedQueue, RabbitQueues } from './rabbit-queues.ts';

// Captured at load time, because tests replace the global functions with fake timers: a broker's time is real time.
const { performance } = globalThis;

/** A delivery: valid as long as its channel. */
export interface RabbitHandle {
  readonly channel: AmqpChannel;
  readonly message: AmqpMessage;
  /** Which consumer of the line has got it. */
  readonly consumer: number;
}

/** The queues of lines. Without more than `prepare`, the number of deliveries is the one that the broker counts. */
export type LineQueues = Pick<RabbitQueues, 'prepare'> & Partial<Pick<RabbitQueues, 'sendLater' | 'sendAgain'>>;

/** The dependencies of a {@link RabbitLine}. */
export interface RabbitLineDeps {
  readonly connection: RabbitConnection;
  readonly queues: LineQueues;
  /** The most messages that the broker hands out ahead. */
  readonly maxPrefetch: number;
  readonly propertiesToMetadata: ReadOptions['propertiesToMetadata'];
  readonly newId: () => string;
  readonly random: () => number;
}

/** Shorter delays are kept in memory. */
const MIN_DELAY_AT_BROKER_MS = 60_000;
/** How long the end of a consumption and of a channel may take. */
const END_LIMIT_MS = 2_000;

const DONE = Promise.resolve();

/** The consumption of a queue on a channel of its own. */
export class RabbitLine implements Line<RabbitHandle> {
  readonly #deps: RabbitLineDeps;
  readonly #options: LineOptions;
  readonly #receiver: LineReceiver<RabbitHandle>;
  #queue: PreparedQueue = { name: '', isAutoDelete: false };
  #channel: AmqpChannel | undefined;
  /** How many messages the broker hands out to the consumer before it has to settle some; 0 without a consumer. */
  #prefetch = 0;
  #wanted = 0;
  /** Whether the consumer has to be replaced by a new one. */
  #isSpent = false;
  #consumerTag: string | undefined;
  #consumers = 0;
  /** Unsettled messages of the present consumer. */
  #out = 0;
  #adjusting: Promise<void> | undefined;
  /** Attempts in a row that failed, or whose channel did not last. */
  #failures = 0;
  #openedAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #hasStopped = false;

  constructor(deps: RabbitLineDeps, options: LineOptions, receiver: LineReceiver<RabbitHandle>) {
    this.#deps = deps;
    this.#options = options;
    this.#receiver = receiver;
  }

  /** Rejects if the broker does not respond or refuses. */
  async open(): Promise<void> {
    const connection = await this.#deps.connection.open();
    this.#queue = await this.#deps.queues.prepare(this.#options);
    const channel = await connection.createChannel();
    let error: unknown;
    channel.on('error', (reason: unknown) => {
      error = reason;
    });
    channel.on('close', () => this.#lost(channel, error));
    this.#channel = channel;
    this.#openedAt = performance.now();
  }

  roomChanged(): void {
    // Without room, the group is paused or has all that it can take. The queue may not be without a consumer, though.
    if (this.#receiver.room === 0) this.#want(this.#queue.isAutoDelete ? 1 : 0, false);
    else this.#want(this.#fitting, false);
  }

  ack({ channel, message, consumer }: RabbitHandle): Promise<void> {
    try {
      channel.ack(message);
      this.#deps.connection.collect();
      if (consumer === this.#consumers) this.#out--;
      return DONE;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  delay(entry: Held<RabbitHandle>, delayMs: number): Promise<void> | undefined {
    if (delayMs < MIN_DELAY_AT_BROKER_MS) return undefined;
    const { handle } = entry;
    const sent = this.#deps.queues.sendLater?.(this.#queue.name, entry, delayMs);
    return sent?.then(
      () => this.ack(handle),
      (error: unknown) => {
        const { topic, logger } = this.#options;
        logger.warn({ topic, error: textOf(error) }, 'a message cannot be delayed at the broker, and comes at once');
        handle.channel.nack(handle.message, false, true);
      },
    );
  }

  /**
   * Held messages count among those that the consumer has to settle before it gets more. A new consumer gets as many as
   * the first one, beside those that are not settled.
   */
  hold(): Promise<void> {
    const { room } = this.#receiver;
    if (room > 0) this.#want(this.#fitting, (this.#prefetch - this.#out) * 2 < room);
    return DONE;
  }

  get #fitting(): number {
    return Math.min(this.#receiver.window, this.#deps.maxPrefetch);
  }

  #want(prefetch: number, isSpent: boolean): void {
    this.#wanted = prefetch;
    this.#isSpent ||= isSpent && this.#deps.maxPrefetch > this.#receiver.window;
    const channel = this.#channel;
    if (this.#isSettled || this.#adjusting !== undefined || channel === undefined) return;
    this.#adjusting = this.#adjust(channel)
      // The channel is lost with what failed.
      .catch((error: unknown) => this.#lost(channel, error))
      .finally(() => {
        this.#adjusting = undefined;
        if (!this.#isSettled) this.#want(this.#wanted, this.#isSpent);
      });
  }

  get #isSettled(): boolean {
    return this.#prefetch === this.#wanted && !this.#isSpent;
  }

  async #adjust(channel: AmqpChannel): Promise<void> {
    while (this.#channel === channel && !this.#isSettled) {
      const former = this.#consumerTag;
      this.#prefetch = this.#wanted;
      this.#isSpent = false;
      this.#consumerTag = this.#prefetch === 0 ? undefined : await this.#consume(channel, this.#prefetch);
      // Not before the new one is there: a queue may be deleted with its last consumer.
      if (former !== undefined && this.#channel === channel) await channel.cancel(former);
    }
  }

  async #consume(channel: AmqpChannel, prefetch: number): Promise<string> {
    await channel.prefetch(prefetch);
    const consumer = ++this.#consumers;
    this.#out = 0;
    const { consumerTag } = await channel.consume(this.#queue.name, (message) =>
      this.#receive(channel, consumer, message),
    );
    return consumerTag;
  }

  #receive(channel: AmqpChannel, consumer: number, received: AmqpMessage | null): void {
    if (this.#channel !== channel || this.#hasStopped) return;
    // The queue is gone, or has moved to another node.
    if (received === null) return this.#lost(channel, new Error('the broker has ended the consumption'));
    const { topic, clock } = this.#options;
    const { newId, propertiesToMetadata } = this.#deps;
    const key = keyOf(received);
    if (consumer === this.#consumers) this.#out++;
    this.#receiver.deliver([
      {
        message: messageOf(received, { topic, newId, propertiesToMetadata, now: () => clock.now() }),
        attempts: attemptsOf(received),
        handle: { channel, message: received, consumer },
        ...(key === undefined ? undefined : { key, isFirst: !received.fields.redelivered }),
      },
    ]);
  }

  #lost(channel: AmqpChannel, error: unknown): void {
    if (this.#channel !== channel) return;
    this.#channel = undefined;
    this.#consumerTag = undefined;
    this.#prefetch = 0;
    this.#wanted = 0;
    this.#isSpent = false;
    this.#receiver.detach();
    channel.close().catch(() => undefined);
    if (this.#hasStopped) return;
    const { topic, logger } = this.#options;
    if (error !== undefined)
      logger.warn(
        { topic, queue: this.#queue.name, error: textOf(error) },
        'the broker has ended the consumption of a queue',
      );
    const isShort = performance.now() - this.#openedAt < SHORT_LIFE_MS;
    this.#failures = isShort ? this.#failures + 1 : 0;
    if (this.#failures > 1) this.#reopenLater();
    // The first time at once, but after the connection is known to be lost, if it is.
    else setImmediate(() => this.#reopen());
  }

  #reopenLater(): void {
    const delayMs = backoffDelayMs(RECONNECT, this.#failures, this.#deps.random);
    this.#timer = setTimeout(() => this.#reopen(), delayMs);
  }

  #reopen(): void {
    if (this.#hasStopped) return;
    const { topic, logger } = this.#options;
    this.#deps.connection
      .opened()
      .then(() => this.open())
      .then(
        () => {
          if (!this.#hasStopped) return this.roomChanged();
          void this.close();
        },
        (error: unknown) => {
          if (this.#hasStopped) return;
          logger.warn({ topic, error: textOf(error) }, 'a queue cannot be consumed, tried again soon');
          this.#failures++;
          this.#reopenLater();
        },
      );
  }

  async stop(): Promise<void> {
    this.#hasStopped = true;
    clearTimeout(this.#timer);
    this.#want(0, false);
    await withTimeLimit(this.#adjusting ?? DONE, END_LIMIT_MS, silent).catch(() => undefined);
  }

  /**
   * The broker gets all back when the channel closes, in order. Those with more deliveries than it knows of are sent
   * again with their number, except where order counts.
   */
  async release(entries: readonly Held<RabbitHandle>[]): Promise<void> {
    const { queues } = this.#deps;
    if (this.#options.ordered || queues.sendAgain === undefined) return;
    const uncounted = entries.filter(
      ({ attempts, handle: { message } }) => attempts > attemptsAfterReturn(message, attemptsOf(message)),
    );
    // The channel closes next: none that is on its way may be left without its acknowledgement.
    const results = await Promise.allSettled(
      uncounted.map(async (entry) => {
        await queues.sendAgain?.(this.#queue.name, entry);
        await this.ack(entry.handle);
      }),
    );
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  async close(): Promise<void> {
    this.#hasStopped = true;
    clearTimeout(this.#timer);
    const channel = this.#channel;
    this.#channel = undefined;
    if (channel !== undefined) await withTimeLimit(channel.close(), END_LIMIT_MS, silent).catch(() => undefined);
  }
}

function silent(): Error {
  return new Error('the broker does not respond');
}

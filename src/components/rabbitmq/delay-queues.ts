import { failureOf } from './failures.ts';
import type { RabbitConnection } from './rabbit-connection.ts';
import type { RabbitTopology } from './rabbit-topology.ts';

/** Since RabbitMQ 3.10, a quorum queue hands expired messages on without losing any. */
const FIRST_VERSION = [3, 10] as const;
const MAX_NAME_BYTES = 255;
/** RabbitMQ limits times to 32 bits, and a delay queue lives longer than its messages. */
const MAX_DELAY_MS = 2_000_000_000;
const SPARE_MS = 600_000;

/**
 * Queues without consumers, in which messages wait until their time is over; they then return to their own queue. One
 * for each queue and delay: with several delays in one queue, messages would wait for those before them. An unused one
 * is deleted by the broker.
 */
export class DelayQueues {
  readonly #topology: RabbitTopology;
  readonly #connection: RabbitConnection;
  /** Whether the server has refused one: the user may lack the permission. */
  #isRefused = false;

  constructor(topology: RabbitTopology, connection: RabbitConnection) {
    this.#topology = topology;
    this.#connection = connection;
  }

  /** The queue from which messages return to `queue` in `delayMs` or a little more; `undefined`: there can be none. */
  queueFor(queue: string, delayMs: number): Promise<string> | undefined {
    const roundMs = rounded(delayMs);
    const name = `${queue}.delay-${roundMs}`;
    const [major, minor] = this.#connection.version;
    const isOld = major < FIRST_VERSION[0] || (major === FIRST_VERSION[0] && minor < FIRST_VERSION[1]);
    if (this.#isRefused || isOld || roundMs > MAX_DELAY_MS || Buffer.byteLength(name) > MAX_NAME_BYTES)
      return undefined;
    return this.#declare(name, queue, roundMs);
  }

  /** At each use, which puts off its deletion. */
  async #declare(name: string, queue: string, ttlMs: number): Promise<string> {
    const declaration = {
      durable: true,
      autoDelete: false,
      arguments: {
        'x-queue-type': 'quorum',
        'x-message-ttl': ttlMs,
        'x-expires': 2 * ttlMs + SPARE_MS,
        'x-dead-letter-exchange': '',
        'x-dead-letter-routing-key': queue,
        'x-dead-letter-strategy': 'at-least-once',
        'x-overflow': 'reject-publish',
      },
    };
    try {
      await this.#topology.declareQueue(name, declaration);
    } catch (error) {
      this.#isRefused = failureOf(error).code !== undefined;
      throw error;
    }
    return name;
  }
}

/** Rounds up to two digits, so that back-off with jitter needs few queues. */
function rounded(delayMs: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(delayMs)) - 1);
  return Math.ceil(delayMs / unit) * unit;
}

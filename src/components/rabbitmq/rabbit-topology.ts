import type { AmqpChannel, Declaration } from './driver.ts';
import { failureOf, isClosed, isRefused, mismatchOf, NOT_FOUND, PRECONDITION_FAILED } from './failures.ts';
import type { RabbitConnection } from './rabbit-connection.ts';

/** An exchange as it is declared if it does not exist. */
export interface ExchangeSpec extends Declaration {
  readonly name: string;
  readonly kind: string;
  /** Whether the kind was asked for: an existing exchange of another kind is an error then. */
  readonly isKindAsked: boolean;
}

/** A queue as it is declared if it does not exist. */
export interface QueueSpec extends Declaration {
  readonly name: string;
  /** By argument that was asked for, the option that did: an existing queue with another value is an error then. */
  readonly asked: ReadonlyMap<string, string>;
}

/** `durable`, `auto_delete` and an argument. */
const MAX_MISMATCHES = 3;

/**
 * Makes what messages need on their way. Looks first whether it is there: other programs may have declared it with other
 * settings, and then it is used as it is. Channels of its own, since a refusal closes a channel.
 */
export class RabbitTopology {
  readonly #connection: RabbitConnection;
  #channel: AmqpChannel | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(connection: RabbitConnection) {
    this.#connection = connection;
  }

  /** @throws Error if there is an exchange of another kind than the one that was asked for, or the server refuses. */
  async ensureExchange({ name, kind, isKindAsked, ...declaration }: ExchangeSpec): Promise<void> {
    const isThere = await this.#isThere((channel) => channel.checkExchange(name));
    if (isThere && !isKindAsked) return;
    try {
      await this.#run((channel) => channel.assertExchange(name, kind, declaration));
    } catch (error) {
      // It is there, or another program has just declared it.
      const mismatch = mismatchOf(error);
      if (mismatch === undefined) throw this.#refusal(`exchange "${name}"`, error);
      if (mismatch.setting === 'type' && isKindAsked)
        throw this.#refusal(
          `exchange "${name}" is not of the kind "${kind}": set exchangeKind to that of the exchange, or delete it`,
          error,
        );
    }
  }

  /**
   * Returns whether the queue is deleted with its last consumer.
   *
   * @throws Error if there is a queue with another argument than one that was asked for, or the server refuses.
   */
  async ensureQueue(spec: QueueSpec): Promise<boolean> {
    const { name, autoDelete } = spec;
    if (await this.#isThere((channel) => channel.checkQueue(name))) return this.#compare(spec);
    try {
      await this.declareQueue(name, spec);
      return autoDelete;
    } catch (error) {
      if (mismatchOf(error) === undefined) throw this.#refusal(`queue "${name}"`, error);
      return this.#compare(spec);
    }
  }

  /** Compares an existing queue with what was asked for. */
  async #compare({ name, asked, ...declaration }: QueueSpec): Promise<boolean> {
    let { durable, autoDelete } = declaration;
    for (let count = 0; count < MAX_MISMATCHES; count++) {
      try {
        await this.declareQueue(name, { ...declaration, durable, autoDelete });
        break;
      } catch (error) {
        const { setting = '', isTrueNow } = mismatchOf(error) ?? {};
        const option = asked.get(setting);
        if (setting === '') throw this.#refusal(`queue "${name}"`, error);
        if (option !== undefined)
          throw this.#refusal(
            `queue "${name}" has another ${setting}: set ${option} to that of the queue, or delete the queue`,
            error,
          );
        if (setting === 'durable') durable = isTrueNow === true;
        else if (setting === 'auto_delete') autoDelete = isTrueNow === true;
        // A setting that the options leave open.
        else break;
      }
    }
    return autoDelete;
  }

  /** Declares a queue without a look before. */
  async declareQueue(
    name: string,
    { durable, autoDelete, exclusive = false, arguments: args = {} }: Declaration,
  ): Promise<void> {
    await this.#run((channel) => channel.assertQueue(name, { durable, autoDelete, exclusive, arguments: args }));
  }

  async bind(queue: string, exchange: string, routingKeys: readonly string[]): Promise<void> {
    for (const routingKey of routingKeys) {
      try {
        await this.#run((channel) => channel.bindQueue(queue, exchange, routingKey));
      } catch (error) {
        throw this.#refusal(`queue "${queue}" cannot be bound to exchange "${exchange}"`, error);
      }
    }
  }

  #refusal(what: string, cause: unknown): Error {
    const { code, text } = failureOf(cause);
    if (code === undefined) return new Error(`${this.#connection.server}: ${text}`, { cause });
    return new Error(`${this.#connection.server}: ${what} (${code}: ${text})`, { cause });
  }

  async #isThere(look: (channel: AmqpChannel) => Promise<unknown>): Promise<boolean> {
    try {
      await this.#run(look);
      return true;
    } catch (error) {
      if (isRefused(error, NOT_FOUND)) return false;
      // Exclusive to another connection, or the like: the declaration tells.
      if (failureOf(error).code !== undefined && !isRefused(error, PRECONDITION_FAILED)) return false;
      throw error;
    }
  }

  /** One operation after the other, so that each gets the error that is its own. */
  #run<T>(operation: (channel: AmqpChannel) => Promise<T>): Promise<T> {
    const turn = this.#turn.then(async () => {
      try {
        return await operation(this.#channel ?? (await this.#open()));
      } catch (error) {
        // It may have closed before it could tell.
        if (isClosed(error)) this.#channel = undefined;
        throw error;
      }
    });
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #open(): Promise<AmqpChannel> {
    const connection = await this.#connection.open();
    const channel = await connection.createChannel();
    // The operation that it belongs to gets the error.
    channel.on('error', () => undefined);
    channel.on('close', () => {
      if (this.#channel === channel) this.#channel = undefined;
    });
    this.#channel = channel;
    return channel;
  }
}

import { messageOf } from '../../errors.ts';
import { Deque } from '../../util/deque.ts';
import { type Link, Linked } from '../../util/linked.ts';
import type { Logger } from '../../util/logger.ts';
import { setTimeout } from '../../util/timers.ts';
import type { Deadline } from '../broker/deadlines.ts';
import type { AmqpConfirmChannel, AmqpMessage, Properties } from './driver.ts';
import { type AmqpFailure, failureOf, isClosed, NO_ROUTE, NOT_FOUND } from './failures.ts';
import { KEY_HEADER } from './message-properties.ts';
import type { RabbitConnection } from './rabbit-connection.ts';

/** Before another channel is asked for, when the server has refused one. */
const REOPEN_DELAY_MS = 200;

/** The most exchanges that are remembered. */
const MAX_OUTLETS = 10_000;

/** A message on its way to the broker. */
export interface Parcel {
  /** Empty for the exchange that leads to each queue by its name. */
  readonly exchange: string;
  readonly routingKey: string;
  readonly data: Uint8Array;
  readonly properties: Properties;
  readonly deadline: Deadline;
  /** Called once; without an error when the broker has confirmed it. */
  readonly settle: (error?: Error) => void;
}

/** The dependencies of a {@link RabbitPublisher}. */
export interface RabbitPublisherDeps {
  readonly connection: RabbitConnection;
  /** Declares an exchange if it does not exist. */
  readonly ensureExchange: (name: string) => Promise<void>;
  /** A message came to no queue, because its exchange has none. */
  readonly noQueue: (exchange: string) => void;
  readonly logger: Logger;
}

/** The way to an exchange. */
interface Outlet {
  /** Parcels that wait for the connection, or until the exchange is known to exist. */
  waiting: Deque<Parcel>;
  state: 'unknown' | 'checking' | 'ready';
}

/** A parcel that is sent and not confirmed. */
interface Sent {
  readonly parcel: Parcel;
  link: Link<Sent> | undefined;
  /** Why the broker has returned it. */
  returned: Error | undefined;
}

/**
 * Publishes with confirmations, any number at a time. Messages that a lost connection leaves unconfirmed are sent again
 * with their keys, if there is time.
 */
export class RabbitPublisher {
  readonly #deps: RabbitPublisherDeps;
  readonly #outlets = new Map<string, Outlet>();
  #unconfirmed = new Linked<Sent>();
  #channel: AmqpConfirmChannel | undefined;
  #isOpening = false;
  #isClosed = false;

  constructor(deps: RabbitPublisherDeps) {
    this.#deps = deps;
    deps.connection.onUnblocked = () => this.#flushAll();
  }

  publish(parcel: Parcel): void {
    const outlet = this.#outlet(parcel.exchange);
    if (outlet.state === 'ready' && this.#canSend && outlet.waiting.length === 0) return this.#send(parcel);
    dropLate(outlet);
    outlet.waiting.push(parcel);
    if (this.#channel === undefined) this.#open();
    else this.#flush(parcel.exchange, outlet);
  }

  get #canSend(): boolean {
    return this.#channel !== undefined && !this.#deps.connection.isBlocked;
  }

  #outlet(exchange: string): Outlet {
    const known = this.#outlets.get(exchange);
    if (known !== undefined) return known;
    if (this.#outlets.size >= MAX_OUTLETS) this.#forgetIdle();
    const outlet: Outlet = { waiting: new Deque(), state: exchange === '' ? 'ready' : 'unknown' };
    this.#outlets.set(exchange, outlet);
    return outlet;
  }

  /** Drops idle exchanges. The next publish to one asks the broker again whether it exists. */
  #forgetIdle(): void {
    for (const [exchange, { waiting, state }] of this.#outlets)
      if (exchange !== '' && state !== 'checking' && waiting.length === 0) this.#outlets.delete(exchange);
  }

  /** Sends what waits, as soon as the exchange exists. */
  #flush(exchange: string, outlet: Outlet): void {
    if (!this.#canSend || outlet.waiting.length === 0) return;
    if (outlet.state === 'unknown') void this.#check(exchange, outlet);
    if (outlet.state !== 'ready') return;
    while (this.#canSend) {
      const parcel = outlet.waiting.shift();
      if (parcel === undefined) return;
      if (!parcel.deadline.isOver) this.#send(parcel);
    }
  }

  #flushAll(): void {
    for (const [exchange, outlet] of this.#outlets) this.#flush(exchange, outlet);
  }

  async #check(exchange: string, outlet: Outlet): Promise<void> {
    const channel = this.#channel;
    outlet.state = 'checking';
    try {
      await this.#deps.ensureExchange(exchange);
      outlet.state = 'ready';
    } catch (error) {
      outlet.state = 'unknown';
      // When the connection is lost, they wait for the next one.
      if (channel === this.#channel && channel !== undefined) return failAll(outlet, error as Error);
    }
    // The exchange may be another one after a reconnection.
    if (channel !== this.#channel) outlet.state = 'unknown';
    this.#flush(exchange, outlet);
  }

  #send(parcel: Parcel): void {
    const channel = this.#channel;
    if (channel === undefined) return;
    const sent: Sent = { parcel, link: undefined, returned: undefined };
    const { exchange, routingKey, data, properties, settle } = parcel;
    try {
      channel.publish(exchange, routingKey, asBuffer(data), properties, (error) => {
        if (sent.link === undefined || !this.#unconfirmed.delete(sent.link)) return;
        if (error) settle(new Error(`${this.#deps.connection.server} refuses the message: ${messageOf(error)}`));
        else settle(sent.returned);
      });
      this.#deps.connection.collect();
    } catch (error) {
      if (isClosed(error)) return this.#closedBefore(channel, parcel);
      return settle(new Error(`the message cannot be sent to RabbitMQ: ${messageOf(error)}`, { cause: error }));
    }
    sent.link = this.#unconfirmed.add(sent);
  }

  /** The channel was closed before it could tell. */
  #closedBefore(channel: AmqpConfirmChannel, parcel: Parcel): void {
    this.#outlet(parcel.exchange).waiting.unshift(parcel);
    this.#lost(channel, undefined);
  }

  /** Opens the channel, and opens it again until it is open. */
  #open(): void {
    if (this.#isOpening || this.#isClosed) return;
    this.#isOpening = true;
    const { connection, logger } = this.#deps;
    connection
      .opened()
      .then((made) => made.createConfirmChannel())
      .then(
        (channel) => {
          this.#isOpening = false;
          this.#use(channel);
        },
        (error: unknown) => {
          this.#isOpening = false;
          if (this.#isClosed) return;
          logger.debug({ error: messageOf(error) }, 'no channel for publishing yet');
          setTimeout(() => this.#open(), REOPEN_DELAY_MS);
        },
      );
  }

  #use(channel: AmqpConfirmChannel): void {
    let error: unknown;
    channel.on('error', (reason: unknown) => {
      error = reason;
    });
    channel.on('return', (message: AmqpMessage) => this.#returned(message));
    // Before the driver tells the same for each message.
    channel.prependListener('close', () => this.#lost(channel, error));
    this.#channel = channel;
    this.#flushAll();
  }

  #returned({ fields, properties }: AmqpMessage): void {
    const { exchange, replyCode, replyText } = fields;
    // An exchange without queues is a topic without subscribers.
    if (replyCode === NO_ROUTE && exchange !== '') return this.#deps.noQueue(exchange);
    const key = properties.headers?.[KEY_HEADER];
    for (const sent of this.#unconfirmed) {
      if (sent.parcel.properties.headers?.[KEY_HEADER] !== key) continue;
      sent.returned = new Error(`${this.#deps.connection.server} has returned the message: ${replyText}`);
    }
  }

  #lost(channel: AmqpConfirmChannel, error: unknown): void {
    if (this.#channel !== channel) return;
    this.#channel = undefined;
    const failure = failureOf(error);
    const isRefusal = error !== undefined && failure.code !== undefined;
    for (const [exchange, outlet] of this.#outlets)
      if (exchange !== '' && (!isRefusal || failure.subject === exchange)) outlet.state = 'unknown';
    const unconfirmed = this.#unconfirmed.take();
    for (const { parcel } of unconfirmed.reverse()) {
      if (this.#isClosed) parcel.settle(new Error('the component is closed'));
      else if (isRefusal && isMeant(parcel, failure)) parcel.settle(this.#refusal(failure));
      else this.#outlet(parcel.exchange).waiting.unshift(parcel);
    }
    if ([...this.#outlets.values()].some(({ waiting }) => waiting.length > 0)) setImmediate(() => this.#open());
  }

  #refusal({ code, text }: AmqpFailure): Error {
    return new Error(`${this.#deps.connection.server} refuses the message (${code}: ${text})`);
  }

  /** Messages without a confirmation fail. */
  close(): void {
    this.#isClosed = true;
    const error = new Error('the component is closed');
    for (const { parcel } of this.#unconfirmed.take()) parcel.settle(error);
    for (const outlet of this.#outlets.values()) failAll(outlet, error);
  }
}

/** Whether a refusal that has closed the channel is about this parcel. A missing exchange is made again. */
function isMeant({ exchange, data }: Parcel, { code, subject, size }: AmqpFailure): boolean {
  if (size !== undefined) return data.byteLength === size;
  if (code === NOT_FOUND && subject !== undefined) return false;
  return subject === undefined || subject === exchange;
}

/** Forgets parcels whose publishers wait no more: there may be no connection for hours. */
function dropLate({ waiting }: Outlet): void {
  while (waiting.peek()?.deadline.isOver === true) waiting.shift();
}

function failAll(outlet: Outlet, error: Error): void {
  const { waiting } = outlet;
  outlet.waiting = new Deque();
  for (let parcel = waiting.shift(); parcel !== undefined; parcel = waiting.shift()) parcel.settle(error);
}

function asBuffer(data: Uint8Array): Buffer {
  return Buffer.isBuffer(data) ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

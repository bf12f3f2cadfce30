import type { EventEmitter } from 'node:events';
import { loadBrokerDriver } from '../broker/load-driver.ts';

/** A value in a table of headers or arguments. */
export type TableValue = string | number | boolean | Buffer | null | undefined | object;
/** Headers of a message, or arguments of a declaration. */
export type Table = Readonly<Record<string, TableValue>>;

/** The properties of a message, as they are sent. */
export interface Properties {
  readonly persistent?: boolean;
  readonly mandatory?: boolean;
  readonly contentType?: string;
  readonly contentEncoding?: string;
  readonly headers?: Table;
  readonly priority?: number;
  readonly correlationId?: string;
  readonly replyTo?: string;
  readonly expiration?: string;
  readonly messageId?: string;
  readonly timestamp?: number;
  readonly type?: string;
  readonly appId?: string;
}

/** A message that the server delivers, or returns to its publisher. */
export interface AmqpMessage {
  readonly content: Buffer;
  readonly fields: {
    readonly deliveryTag: number;
    readonly redelivered: boolean;
    readonly exchange: string;
    /** Of a returned message. */
    readonly replyCode?: number;
    /** Of a returned message. */
    readonly replyText?: string;
  };
  readonly properties: Omit<Properties, 'persistent' | 'mandatory' | 'headers'> & {
    readonly headers?: Table;
    /** The publisher, as the server has checked. */
    readonly userId?: string;
  };
}

/** The settings of a queue or an exchange. */
export interface Declaration {
  readonly durable: boolean;
  readonly autoDelete: boolean;
  /** Whether a queue belongs to its connection, and ends with it. Default: `false`. */
  readonly exclusive?: boolean;
  readonly arguments?: Table;
}

/** The used part of a channel. */
export interface AmqpChannel extends EventEmitter {
  checkExchange(name: string): Promise<unknown>;
  assertExchange(name: string, kind: string, declaration: Declaration): Promise<unknown>;
  checkQueue(name: string): Promise<unknown>;
  assertQueue(name: string, declaration: Declaration): Promise<unknown>;
  bindQueue(queue: string, exchange: string, routingKey: string): Promise<unknown>;
  prefetch(count: number): Promise<unknown>;
  /** `null`: the server has ended the consumption. */
  consume(queue: string, onMessage: (message: AmqpMessage | null) => void): Promise<{ readonly consumerTag: string }>;
  cancel(consumerTag: string): Promise<unknown>;
  ack(message: AmqpMessage): void;
  nack(message: AmqpMessage, allUpTo: boolean, requeue: boolean): void;
  close(): Promise<void>;
}

/** The used part of a channel whose messages the server confirms. */
export interface AmqpConfirmChannel extends AmqpChannel {
  publish(
    exchange: string,
    routingKey: string,
    content: Buffer,
    properties: Properties,
    confirmed: (error: unknown) => void,
  ): boolean;
}

/** The used part of a connection. */
export interface AmqpConnection extends EventEmitter {
  readonly connection: {
    readonly serverProperties: { readonly version?: unknown };
    readonly stream: {
      /** The driver ends it as soon as it closes the connection. */
      readonly writableEnded: boolean;
      readonly destroyed: boolean;
      cork(): void;
      uncork(): void;
      destroy(error?: Error): void;
      setTimeout(idleMs: number, onTimeout: () => void): unknown;
    };
  };
  createChannel(): Promise<AmqpChannel>;
  createConfirmChannel(): Promise<AmqpConfirmChannel>;
  close(): Promise<void>;
}

/** Where and how to connect. */
export interface AmqpTarget {
  readonly protocol: 'amqp' | 'amqps';
  readonly hostname: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
  readonly vhost: string;
  /** In seconds. */
  readonly heartbeat: number;
}

/** The used part of the package `amqplib`: it need not be installed. */
export interface AmqpModule {
  readonly credentials: { external(): object };
  connect(target: AmqpTarget, socket: object): Promise<AmqpConnection>;
}

/**
 * Loads the driver.
 *
 * @throws SidecarError `ERR_CONFIGURATION` naming the package to install.
 */
export function loadAmqp(type = 'pubsub.rabbitmq', name = 'amqplib'): Promise<AmqpModule> {
  return loadBrokerDriver({ name, version: '2' }, type);
}

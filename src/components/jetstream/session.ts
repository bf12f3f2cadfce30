import { randomUUID } from 'node:crypto';
import { clearTimeout, setTimeout } from '../../util/timers.ts';
import type { NatsConnection, NatsMessage, NatsSubscription } from './driver.ts';

/**
 * Called once: with the reply; or with the error if the connection may not use the subject; or with neither if the
 * connection is gone.
 */
export type OnReply = (reply: NatsMessage | undefined, error?: Error) => void;

interface Awaited {
  readonly subject: string;
  readonly onReply: OnReply;
}

/** Called with each message of an inbox. */
export type OnMessage = (message: NatsMessage) => void;

/** One connection to NATS, until it ends. */
export class NatsSession {
  /** Resolves with the reason once the connection has ended. */
  readonly ended: Promise<Error>;
  readonly #connection: NatsConnection;
  readonly #server: string;
  readonly #onError: (error: Error) => void;
  readonly #inbox = `_INBOX.${randomUUID()}`;
  readonly #awaited = new Map<string, Awaited>();
  /** Fails the flushes under way. Waiting for `ended` would keep something of each flush until the connection ends. */
  readonly #flushing = new Set<() => void>();
  #lastNumber = 0;
  #isOpen = true;

  constructor(connection: NatsConnection, server: string, onError: (error: Error) => void) {
    this.#connection = connection;
    this.#server = server;
    this.#onError = onError;
    this.#subscribe(`${this.#inbox}.r`, (message) => this.#replied(message));
    this.ended = this.#watch();
    void this.#observe();
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The largest message that the server accepts, headers included. */
  get maxPayloadBytes(): number {
    return this.#connection.info?.max_payload ?? Number.POSITIVE_INFINITY;
  }

  /** Other servers of the cluster. */
  get otherServers(): readonly string[] {
    return this.#connection.info?.connect_urls ?? [];
  }

  async #watch(): Promise<Error> {
    const reason = await this.#connection.closed();
    this.#isOpen = false;
    const awaited = [...this.#awaited.values()];
    this.#awaited.clear();
    for (const { onReply } of awaited) onReply(undefined);
    for (const fail of this.#flushing) fail();
    return reason instanceof Error ? reason : new Error(`${this.#server} has ended the connection`);
  }

  async #observe(): Promise<void> {
    for await (const { error } of this.#connection.status()) {
      if (error === undefined || !this.#isOpen) continue;
      if (!this.#refuse(error)) this.#onError(error);
    }
  }

  /** Fails the calls whose subject the connection may not use. */
  #refuse(error: Error & { readonly subject?: string }): boolean {
    const refused = [...this.#awaited].filter(([, { subject }]) => subject === error.subject);
    for (const [inbox, { onReply }] of refused) {
      this.#awaited.delete(inbox);
      onReply(undefined, new Error(`${this.#server} reports: ${error.message}`, { cause: error }));
    }
    return refused.length > 0;
  }

  #replied(message: NatsMessage): void {
    const awaited = this.#awaited.get(message.subject);
    if (awaited === undefined) return;
    this.#awaited.delete(message.subject);
    awaited.onReply(message);
  }

  /** Sends a message that is replied to. Returns what `forget` takes. */
  send(subject: string, data: Uint8Array | string, headers: object | undefined, onReply: OnReply): string {
    const reply = `${this.#inbox}.r.${++this.#lastNumber}`;
    if (!this.#isOpen) {
      onReply(undefined);
      return reply;
    }
    this.#awaited.set(reply, { subject, onReply });
    const error = this.#publish(subject, data, headers === undefined ? { reply } : { reply, headers });
    if (error !== undefined && this.#awaited.delete(reply)) onReply(undefined, error);
    return reply;
  }

  /** Returns the error, but not that the connection is about to end: its end fails all requests. */
  #publish(subject: string, data: Uint8Array | string, options: object): Error | undefined {
    try {
      this.#connection.publish(subject, data, options);
      return undefined;
    } catch (error) {
      return this.#connection.isClosed() ? undefined : (error as Error);
    }
  }

  /** Waits no longer for a reply. */
  forget(reply: string): void {
    this.#awaited.delete(reply);
  }

  /** Sends a message without a reply, or one that is replied to at an inbox. */
  publish(subject: string, data: string, reply?: string): void {
    const error = this.#publish(subject, data, reply === undefined ? {} : { reply });
    if (error !== undefined) this.#onError(error);
  }

  /** The reply to a request. */
  request(subject: string, body: string, limitMs: number): Promise<NatsMessage> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.forget(reply);
        reject(new Error(`${this.#server} did not reply to ${subject} within ${limitMs} ms`));
      }, limitMs);
      const reply = this.send(subject, body, undefined, (message, error) => {
        clearTimeout(timer);
        if (message !== undefined) resolve(message);
        else reject(error ?? this.#goneError());
      });
    });
  }

  /** Opens an inbox: what is replied to `<inbox>.<any>` comes there. Nothing does once the connection has ended. */
  subscribe(onMessage: OnMessage): { readonly inbox: string; readonly subscription: NatsSubscription } {
    const inbox = `${this.#inbox}.${++this.#lastNumber}`;
    return { inbox, subscription: this.#subscribe(inbox, onMessage) };
  }

  #subscribe(inbox: string, onMessage: OnMessage): NatsSubscription {
    const callback = (error: Error | null, message: NatsMessage): void => {
      try {
        if (error === null) onMessage(message);
      } catch (failure) {
        // The driver would read no further.
        this.#onError(failure as Error);
      }
    };
    try {
      return this.#connection.subscribe(`${inbox}.*`, { callback });
    } catch (error) {
      if (!this.#connection.isClosed()) throw error;
      return { unsubscribe: () => undefined };
    }
  }

  /** Resolves once the server has processed all that was sent before; rejects if the connection ends first. */
  async flush(): Promise<void> {
    if (!this.#isOpen) throw this.#goneError();
    const flushed = this.#connection.flush();
    await new Promise<void>((resolve, reject) => {
      // The driver may leave it unsettled.
      const fail = (): void => reject(this.#goneError());
      this.#flushing.add(fail);
      flushed.then(resolve, reject).finally(() => this.#flushing.delete(fail));
    });
  }

  #goneError(): Error {
    return new Error(`the connection to ${this.#server} is gone`);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

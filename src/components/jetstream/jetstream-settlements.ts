import { clearTimeout, setImmediate, setTimeout } from '../../util/timers.ts';
import type { NatsLink, NatsLinkUser } from './nats-link.ts';
import type { NatsSession } from './session.ts';

/** The settlements of one tick. */
interface SettlementBatch {
  readonly sent: [subject: string, payload: string][];
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  timer?: NodeJS.Timeout;
}

/**
 * Sends acknowledgements, and confirms those of one tick with one round trip. They are valid on any connection: what was
 * not confirmed is sent again on the next one.
 */
export class JetStreamSettlements implements NatsLinkUser {
  readonly #link: NatsLink;
  readonly #limitMs: number;
  readonly #unconfirmed = new Set<SettlementBatch>();
  #current: SettlementBatch | undefined;

  /** @param limitMs - when the server delivers again what it did not get */
  constructor(link: NatsLink, limitMs: number) {
    this.#link = link;
    this.#limitMs = limitMs;
    link.join(this);
  }

  /** Resolves once the server has it. */
  send(subject: string, payload: string): Promise<void> {
    this.#current ??= this.#open();
    this.#current.sent.push([subject, payload]);
    this.#link.session?.publish(subject, payload);
    return this.#current.promise;
  }

  #open(): SettlementBatch {
    let resolve: () => void = () => undefined;
    let reject: (error: Error) => void = () => undefined;
    const promise = new Promise<void>((fulfil, refuse) => {
      resolve = fulfil;
      reject = refuse;
    });
    const batch: SettlementBatch = { sent: [], promise, resolve, reject };
    const session = this.#link.session;
    this.#unconfirmed.add(batch);
    setImmediate(() => {
      this.#current = undefined;
      // The connection may have changed in between: then it is unknown which of them got there.
      if (session === this.#link.session) this.#confirm(batch, session);
      else this.#sendAgain(batch);
    });
    return batch;
  }

  #sendAgain(batch: SettlementBatch): void {
    const session = this.#link.session;
    for (const [subject, payload] of batch.sent) session?.publish(subject, payload);
    this.#confirm(batch, session);
  }

  #confirm(batch: SettlementBatch, session: NatsSession | undefined): void {
    const flushed = session === undefined ? Promise.reject(new Error('not connected')) : session.flush();
    flushed.then(
      () => this.#end(batch),
      () => {
        batch.timer ??= setTimeout(
          () => this.#end(batch, new Error(`the connection to ${this.#link.server} is gone`)),
          this.#limitMs,
        );
      },
    );
  }

  #end(batch: SettlementBatch, error?: Error): void {
    if (!this.#unconfirmed.delete(batch)) return;
    clearTimeout(batch.timer);
    if (error === undefined) batch.resolve();
    else batch.reject(error);
  }

  connected(): void {
    for (const batch of this.#unconfirmed) if (batch !== this.#current) this.#sendAgain(batch);
  }

  disconnected(): void {
    // Flushes reject by themselves.
  }

  /** Gives up what is not confirmed. */
  close(): void {
    this.#link.leave(this);
    for (const batch of this.#unconfirmed) this.#end(batch, new Error('the component is closed'));
  }
}

import { messageOf } from '../../errors.ts';
import { type Backoff, backoffDelayMs } from '../../util/backoff.ts';
import { withTimeLimit } from '../../util/time-limit.ts';
import { clearInterval, clearTimeout, setInterval, setTimeout } from '../../util/timers.ts';
import type { Held, Line, LineOptions, LineReceiver, Received } from '../broker/line.ts';
import type { JetStreamApi } from './api.ts';
import type { NatsMessage, NatsSubscription } from './driver.ts';
import type { JetStreamSettlements } from './jetstream-settlements.ts';
import type { JetStreamTopology, OpenConsumer } from './jetstream-topology.ts';
import { type Handle, headersOf, receivedOf } from './messages.ts';
import { isWildcard } from './names.ts';
import type { NatsLink, NatsLinkUser } from './nats-link.ts';
import { Pulls } from './pulls.ts';
import type { NatsSession } from './session.ts';
import { NANOSECONDS } from './settings.ts';

/** How long a request for messages waits at the server. A line closes no sooner: on NATS 2.9, a message that goes to a request that is cut is withheld. */
const PULL_MS = 1_000;
/** How much later than `PULL_MS` the server may report the end of a request. */
const PULL_GRACE_MS = 500;
const MAX_BATCH = 1_000;
const MAX_DELAY_MS = 365 * 86_400_000;
const RELEASE_LIMIT_MS = 1_000;
/** The clocks of the server and of this process may differ by this. */
const CLOCK_SKEW_MS = 10_000;
const BACKOFF: Backoff = { initialDelayMs: 250, maxDelayMs: 5_000, factor: 2, jitter: 0.2 };

/** The codes of a request that has found fewer messages than it asked for. */
const ENDED = new Set([404, 408]);
/** The description, with code 409, of a request that is one too many for the consumer, which is well. */
const CROWDED = 'Exceeded MaxWaiting';

/** The dependencies of a {@link JetStreamLine}. */
export interface JetStreamLineDeps {
  readonly link: NatsLink;
  readonly api: JetStreamApi;
  readonly topology: JetStreamTopology;
  readonly settlements: JetStreamSettlements;
  readonly ackWaitMs: number;
  readonly random: () => number;
}

/** The messages of a group, from its durable consumer. */
export class JetStreamLine implements Line<Handle>, NatsLinkUser {
  readonly #deps: JetStreamLineDeps;
  readonly #options: LineOptions;
  readonly #receiver: LineReceiver<Handle>;
  readonly #hasWildcards: boolean;
  readonly #pulls = new Pulls(PULL_MS + PULL_GRACE_MS, () => this.#ask());
  /** Unsettled deliveries, by key: the subject that acknowledges each. */
  readonly #held = new Map<string, string>();
  #consumer: OpenConsumer | undefined;
  #inbox: { readonly inbox: string; readonly subscription: NatsSubscription } | undefined;
  #arrived: Received<Handle>[] = [];
  #isAsking = false;
  #lastPull = 0;
  #isStopped = false;
  #renewal: NodeJS.Timeout | undefined;
  #recovery: NodeJS.Timeout | undefined;
  #failures = 0;
  /** When the consumer was last known to exist. */
  #seenAt = Date.now();

  private constructor(deps: JetStreamLineDeps, options: LineOptions, receiver: LineReceiver<Handle>) {
    this.#deps = deps;
    this.#options = options;
    this.#hasWildcards = isWildcard(options.topic);
    this.#receiver = receiver;
  }

  /** Opens the consumer; rejects if it cannot be opened. */
  static async open(
    deps: JetStreamLineDeps,
    options: LineOptions,
    receiver: LineReceiver<Handle>,
  ): Promise<JetStreamLine> {
    const line = new JetStreamLine(deps, options, receiver);
    line.#consumer = await deps.topology.openConsumer(await deps.link.ready(), options);
    line.#renewal = setInterval(() => line.#renew(), deps.ackWaitMs / 3);
    deps.link.join(line);
    return line;
  }

  connected(session: NatsSession): void {
    this.#inbox = session.subscribe((message) => this.#receive(message));
    if (this.#consumer === undefined) this.#recoverSoon();
    else this.#ask();
  }

  /** Deliveries stay valid: they are acknowledged on the next connection. */
  disconnected(): void {
    this.#inbox = undefined;
    this.#pulls.clear();
  }

  roomChanged(): void {
    this.#ask();
  }

  /** Looks once per tick how many messages to ask for, after those that have come were handed on. */
  #ask(): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    queueMicrotask(() => {
      this.#isAsking = false;
      this.#handOn();
      this.#pull();
    });
  }

  #handOn(): void {
    if (this.#arrived.length === 0) return;
    const arrived = this.#arrived;
    this.#arrived = [];
    this.#receiver.deliver(arrived);
  }

  #pull(): void {
    const { session } = this.#deps.link;
    const [consumer, inbox] = [this.#consumer, this.#inbox?.inbox];
    if (this.#isStopped || session === undefined || consumer === undefined || inbox === undefined) return;
    const batch = Math.min(this.#receiver.room - this.#pulls.outstanding, MAX_BATCH);
    if (batch < 1) return;
    const reply = `${inbox}.${++this.#lastPull}`;
    this.#pulls.add(reply, batch);
    const subject = this.#deps.api.subject(`CONSUMER.MSG.NEXT.${consumer.stream}.${consumer.name}`);
    session.publish(subject, `{"batch":${batch},"expires":${PULL_MS * NANOSECONDS}}`, reply);
  }

  #receive(message: NatsMessage): void {
    const received = receivedOf(message, this.#options.topic, this.#hasWildcards);
    if (received === undefined) return this.#receiveStatus(message);
    this.#held.set(received.handle.key, received.handle.reply);
    this.#arrived.push(received);
    this.#pulls.count();
    this.#ask();
  }

  #receiveStatus(message: NatsMessage): void {
    const { code = 0, description = '' } = headersOf(message) ?? {};
    if (code < 200) return;
    // Its time limit ends it: asked again at once, it would be refused at once.
    if (code === 409 && description === CROWDED) return;
    if (ENDED.has(code)) {
      this.#seenAt = Date.now();
      this.#failures = 0;
    } else {
      // The consumer may be gone, or the server that serves it.
      if (this.#consumer !== undefined)
        this.#warn(
          code === 503 ? 'its consumer does not respond' : `${this.#deps.link.server} reports: ${description}`,
        );
      this.#consumer = undefined;
      this.#recoverSoon();
    }
    this.#pulls.end(message.subject);
  }

  #warn(what: string): void {
    const { topic, group, logger } = this.#options;
    logger.warn({ topic, group }, `the group gets no messages: ${what}`);
  }

  /** Opens the consumer again, with growing delays. */
  #recoverSoon(): void {
    if (this.#isStopped || this.#recovery !== undefined) return;
    const delayMs = backoffDelayMs(BACKOFF, ++this.#failures, this.#deps.random);
    this.#recovery = setTimeout(() => void this.#recover(), delayMs);
  }

  async #recover(): Promise<void> {
    const { topology, link } = this.#deps;
    const { session } = link;
    try {
      if (session === undefined || this.#isStopped) return;
      const since = new Date(this.#seenAt - CLOCK_SKEW_MS);
      this.#consumer = await topology.openConsumer(session, { ...this.#options, since });
      const { topic, group, logger } = this.#options;
      const how = this.#consumer.wasCreated ? 'its consumer was created again' : 'its consumer responds';
      logger.info({ topic, group }, `the group gets messages again: ${how}`);
    } catch (error) {
      if (this.#failures === 1) this.#warn(messageOf(error));
    } finally {
      this.#recovery = undefined;
      if (this.#consumer === undefined && link.session !== undefined) this.#recoverSoon();
    }
    this.#ask();
  }

  /** Tells the server that the messages are still in process. */
  #renew(): void {
    const { session } = this.#deps.link;
    for (const reply of this.#held.values()) session?.publish(reply, '+WPI');
  }

  #settle({ key, reply }: Handle, payload: string): Promise<void> {
    this.#held.delete(key);
    return this.#deps.settlements.send(reply, payload);
  }

  ack(handle: Handle): Promise<void> {
    return this.#settle(handle, '+ACK');
  }

  delay({ handle }: Held<Handle>, delayMs: number): Promise<void> {
    const delay = Math.round(Math.min(delayMs, MAX_DELAY_MS) * NANOSECONDS);
    return this.#settle(handle, delay > 0 ? `-NAK {"delay":${delay}}` : '-NAK');
  }

  /** The server counts deliveries, and a message stays with this process as long as that renews it. */
  hold(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#recovery);
    await this.#pulls.idle();
    this.#handOn();
  }

  async release(entries: readonly Held<Handle>[]): Promise<void> {
    if (entries.length === 0) return;
    const returned = entries.map(({ handle }) => this.#settle(handle, '-NAK'));
    await withTimeLimit(Promise.all(returned), RELEASE_LIMIT_MS, unconfirmedError);
  }

  async close(): Promise<void> {
    clearInterval(this.#renewal);
    this.#deps.link.leave(this);
    this.#inbox?.subscription.unsubscribe();
  }
}

function unconfirmedError(): Error {
  return new Error(`the server did not confirm it within ${RELEASE_LIMIT_MS} ms`);
}

import type { Delivery, Message } from '../../components/pubsub.ts';
import { messageOf } from '../../errors.ts';
import type { DeliveryInfo } from '../../events.ts';
import type { Retry } from '../../resiliency/retry.ts';
import { type Backoff, backoffDelayMs } from '../../util/backoff.ts';
import type { Timer } from '../../util/clock.ts';
import { definedOnly } from '../../util/defined-only.ts';
import type { DeliveryHost, OpenPubSub } from './delivery-host.ts';
import { drop, type Outcome } from './outcome.ts';
import type { SubscriptionSpec } from './subscription.ts';

const RETRY_DEFAULTS = { initialDelayMs: 100, maxDelayMs: 30_000 };
const RETRIES_BEFORE_DEAD_LETTER = 3;

/** A delivery that the application has answered. */
export interface Answered {
  readonly delivery: Delivery;
  readonly route: string;
  /** When it was sent to the application. */
  readonly startedAt: number;
}

/** Settles messages by their outcome: acknowledge, retry with back-off, dead letter. */
export class Settlement {
  readonly #spec: SubscriptionSpec;
  readonly #pubsub: OpenPubSub;
  readonly #host: DeliveryHost;
  readonly #backoff: Backoff;
  /** The policy of the component; a subscription that says how it is retried itself has none. */
  readonly #policy: Retry | undefined;
  readonly #maxRetries: number;
  readonly #timers = new Set<Timer>();
  #stopped = false;

  constructor(spec: SubscriptionSpec, pubsub: OpenPubSub, host: DeliveryHost) {
    this.#spec = spec;
    this.#pubsub = pubsub;
    this.#host = host;
    this.#backoff = { ...RETRY_DEFAULTS, ...definedOnly(spec.retry), factor: 2, jitter: 0.2 };
    this.#policy = Object.keys(definedOnly(spec.retry)).length > 0 ? undefined : pubsub.inbound?.retry;
    this.#maxRetries =
      this.#policy?.maxRetries ??
      spec.retry.maxRetries ??
      (spec.deadLetterTopic === '' ? Number.POSITIVE_INFINITY : RETRIES_BEFORE_DEAD_LETTER);
  }

  /** Does what the outcome asks for. Never rejects. */
  async settle(answered: Answered, outcome: Outcome): Promise<void> {
    const { delivery } = answered;
    try {
      if (outcome.kind === 'success') await this.#succeed(answered);
      else if (outcome.kind === 'drop') await this.#drop(answered, outcome);
      else if (this.#policy !== undefined && outcome.status !== undefined && !this.#policy.includes(outcome.status))
        await this.#drop(answered, drop('error', `${outcome.reason}, which the retry policy does not match`));
      else if (delivery.attempt > this.#maxRetries) await this.#exhaust(answered, outcome.reason);
      else await this.#retry(answered, outcome);
    } catch (error) {
      this.#host.logger.error(
        { ...this.#info(answered), error },
        'message could not be settled: it will be delivered again',
      );
    }
  }

  /** Stops trying; what is not settled stays unsettled. */
  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  async #succeed(answered: Answered): Promise<void> {
    await answered.delivery.ack();
    const { events, clock } = this.#host;
    if (events.listenerCount('delivered') === 0) return;
    events.emit('delivered', { ...this.#info(answered), durationMs: clock.now() - answered.startedAt });
  }

  async #drop(answered: Answered, { level, reason }: Outcome & { kind: 'drop' }): Promise<void> {
    this.#host.logger[level]({ ...this.#info(answered), reason }, 'message not processed');
    if (this.#spec.deadLetterTopic !== '') return this.#deadLetter(answered, reason, 1);
    await answered.delivery.ack();
    this.#tellDropped(answered, reason);
  }

  async #exhaust(answered: Answered, reason: string): Promise<void> {
    if (this.#spec.deadLetterTopic !== '') return this.#deadLetter(answered, reason, 1);
    this.#host.logger.error(
      { ...this.#info(answered), reason },
      'message dropped: its retries are used up and there is no dead-letter topic',
    );
    await answered.delivery.ack();
    this.#tellDropped(answered, reason);
  }

  async #retry(answered: Answered, { level, reason }: Outcome & { kind: 'retry' }): Promise<void> {
    const { events, logger, random } = this.#host;
    const { attempt } = answered.delivery;
    const delayMs = this.#policy?.delayMs(attempt, random) ?? backoffDelayMs(this.#backoff, attempt, random);
    logger[level]({ ...this.#info(answered), reason, delayMs: Math.round(delayMs) }, 'message will be delivered again');
    await answered.delivery.retry(delayMs);
    if (events.listenerCount('retrying') > 0) events.emit('retrying', { ...this.#info(answered), reason, delayMs });
  }

  /**
   * Publishes the original bytes to the dead-letter topic and only then acknowledges. When publishing fails the message
   * stays unacknowledged, in its place in flight, and is tried again: the application is not asked twice.
   */
  async #deadLetter(answered: Answered, reason: string, attempt: number): Promise<void> {
    const { deadLetterTopic } = this.#spec;
    const { events, logger } = this.#host;
    try {
      await this.#publish(deadLetter(answered.delivery.message, deadLetterTopic));
    } catch (error) {
      logger.error(
        { ...this.#info(answered), deadLetterTopic, error: messageOf(error) },
        'dead letter could not be published: will be tried again',
      );
      return this.#deadLetterLater(answered, reason, attempt + 1);
    }
    await answered.delivery.ack();
    logger.warn({ ...this.#info(answered), deadLetterTopic, reason }, 'message dead-lettered');
    if (events.listenerCount('deadLettered') > 0)
      events.emit('deadLettered', { ...this.#info(answered), deadLetterTopic, reason });
  }

  #deadLetterLater(answered: Answered, reason: string, attempt: number): void {
    if (this.#stopped) return;
    const timer = this.#host.clock.setTimeout(
      () => {
        this.#timers.delete(timer);
        const done = this.#host.work.begin(`dead letter of message ${answered.delivery.message.id}`);
        void this.#deadLetter(answered, reason, attempt)
          .catch((error: unknown) =>
            this.#host.logger.error({ ...this.#info(answered), error }, 'message could not be settled'),
          )
          .finally(done);
      },
      backoffDelayMs(this.#backoff, attempt, this.#host.random),
    );
    this.#timers.add(timer);
  }

  async #publish(message: Message): Promise<void> {
    const [failure] = await this.#pubsub.component.publish([message]);
    if (failure !== undefined) throw failure.error;
  }

  #tellDropped(answered: Answered, reason: string): void {
    const { events } = this.#host;
    if (events.listenerCount('dropped') > 0) events.emit('dropped', { ...this.#info(answered), reason });
  }

  #info({ delivery, route }: Answered): DeliveryInfo {
    const { topic, pubsubName } = this.#spec;
    return { pubsubName, topic, messageId: delivery.message.id, route, attempt: delivery.attempt };
  }
}

/** The same bytes on another topic; what has waited long enough to fail must not expire there. */
function deadLetter({ expiresAt: _expired, ...message }: Message, topic: string): Message {
  return { ...message, topic };
}

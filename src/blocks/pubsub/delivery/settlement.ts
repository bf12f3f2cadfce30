import type { DeadLetterOrigin, Delivery, Message } from '../../../components/pubsub.ts';
import { messageOf } from '../../../errors.ts';
import type { DeliveryInfo } from '../../../events.ts';
import { observe, type Settled } from '../../../probe.ts';
import type { Retry } from '../../../resiliency/retry.ts';
import { isConflictError } from '../../../state/errors.ts';
import { backoffDelayMs } from '../../../util/backoff.ts';
import type { Timer } from '../../../util/clock.ts';
import { definedOnly } from '../../../util/defined-only.ts';
import { isWorthRetrying, type RetryPlan, retryPlanOf } from '../../../util/retry-options.ts';
import { type Failure, logged, thrown, told } from '../../failure.ts';
import { deadLetterOf, shortReason } from './dead-letter.ts';
import type { DeliveryDeps, OpenPubSub } from './delivery-deps.ts';
import { type DeliveryOutcome, drop } from './outcome.ts';
import type { SubscriptionSpec } from './subscription.ts';

const UNLIMITED: RetryPlan = {
  maxRetries: Number.POSITIVE_INFINITY,
  initialDelayMs: 100,
  maxDelayMs: 30_000,
  factor: 2,
  jitter: 0.2,
};
const BEFORE_DEAD_LETTER: RetryPlan = { ...UNLIMITED, maxRetries: 3 };

/** A delivery that the application has answered. */
export interface Answered {
  readonly delivery: Delivery;
  readonly route: string;
  /** When it was sent to the application. */
  readonly startedAt: number;
}

/** Dependencies of a {@link DeliverySettlement}. */
export interface SettlementDeps
  extends Pick<DeliveryDeps, 'clock' | 'logger' | 'events' | 'work' | 'random' | 'probe'> {
  readonly spec: SubscriptionSpec;
  readonly pubsub: OpenPubSub;
  readonly group: string;
}

/** Settles messages by their outcome: acknowledge, retry with back-off, dead letter. */
export class DeliverySettlement {
  readonly #spec: SubscriptionSpec;
  readonly #pubsub: OpenPubSub;
  readonly #deps: SettlementDeps;
  readonly #group: string;
  readonly #plan: RetryPlan;
  /** The component's policy; unused when the subscription has retry options. */
  readonly #policy: Retry | undefined;
  readonly #timers = new Set<Timer>();
  #stopped = false;

  constructor(deps: SettlementDeps) {
    const { spec, pubsub, group } = deps;
    this.#spec = spec;
    this.#pubsub = pubsub;
    this.#deps = deps;
    this.#group = group;
    this.#plan = retryPlanOf(spec.retry, spec.deadLetterTopic === '' ? UNLIMITED : BEFORE_DEAD_LETTER);
    this.#policy = Object.keys(definedOnly(spec.retry)).length > 0 ? undefined : pubsub.inbound?.retry;
  }

  /** Acts on the outcome. Never rejects. */
  async settle(answered: Answered, outcome: DeliveryOutcome): Promise<Settled> {
    const { delivery } = answered;
    try {
      if (outcome.kind === 'success') {
        await delivery.ack();
        return this.#emitDelivered(answered);
      }
      if (outcome.kind === 'drop') return await this.#drop(answered, outcome);
      if (this.#policy !== undefined && outcome.status !== undefined && !this.#policy.includes(outcome.status))
        return await this.#drop(answered, drop('error', `${outcome.reason}, which the retry policy does not match`));
      if (!this.#isWorthRetrying(answered, outcome))
        return await this.#drop(answered, {
          ...drop('error', `${outcome.reason}, which retryIf refuses to retry`),
          thrown: outcome.thrown,
        });
      if (delivery.attempt > (this.#policy ?? this.#plan).maxRetries) return await this.#exhaust(answered, outcome);
      return await this.#retry(answered, outcome);
    } catch (error) {
      return this.#unsettled(answered, error);
    }
  }

  #isWorthRetrying(answered: Answered, failure: Failure): boolean {
    const { retryIf } = this.#spec.retry;
    if (retryIf === undefined) return true;
    return isWorthRetrying(retryIf, told(failure).error, (error) => {
      const problem = 'retryIf failed: the message will be delivered again';
      this.#deps.logger.error({ ...this.#info(answered), error }, problem);
    });
  }

  /** A conflict means that another host delivers the group's messages now. */
  #unsettled(answered: Answered, error: unknown): Settled {
    const { logger } = this.#deps;
    const level = isConflictError(error) ? 'warn' : 'error';
    logger[level]({ ...this.#info(answered), error }, 'message could not be settled: it will be delivered again');
    this.leave(answered, thrown(error));
    return 'unsettled';
  }

  /** Tells that an attempt begins. */
  begin(delivery: Delivery, route: string): void {
    const { events } = this.#deps;
    if (events.listenerCount('messageDelivering') > 0)
      events.emit('messageDelivering', this.#info({ delivery, route }), delivery.message);
  }

  /** Tells that an attempt has ended without being settled. */
  leave(answered: Pick<Answered, 'delivery' | 'route'>, failure: Failure): void {
    const { events } = this.#deps;
    if (events.listenerCount('messageUnsettled') > 0)
      events.emit('messageUnsettled', { ...this.#info(answered), ...told(failure) }, answered.delivery.message);
  }

  /** Stops retrying; unsettled messages stay unsettled. */
  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  #emitDelivered(answered: Answered): Settled {
    const { events, clock } = this.#deps;
    if (events.listenerCount('messageDelivered') > 0) {
      const { delivery, route, startedAt } = answered;
      const { message, attempt } = delivery;
      const { topic, pubsubName } = this.#spec;
      const group = this.#group;
      const durationMs = clock.now() - startedAt;
      // Written out: to copy the members of another object took 1 µs.
      const info = { pubsubName, topic, messageId: message.id, group, route, attempt, durationMs };
      events.emit('messageDelivered', info, message);
    }
    return 'delivered';
  }

  async #drop(answered: Answered, outcome: DeliveryOutcome & { kind: 'drop' }): Promise<Settled> {
    this.#deps.logger[outcome.level]({ ...this.#info(answered), ...logged(outcome) }, 'message not processed');
    if (this.#spec.deadLetterTopic !== '') return this.#deadLetter(answered, outcome, 1);
    await answered.delivery.ack();
    return this.#emitDropped(answered, outcome);
  }

  async #exhaust(answered: Answered, failure: Failure): Promise<Settled> {
    if (this.#spec.deadLetterTopic !== '') return this.#deadLetter(answered, failure, 1);
    this.#deps.logger.error(
      { ...this.#info(answered), ...logged(failure) },
      'message dropped: its retries are used up and there is no dead-letter topic',
    );
    await answered.delivery.ack();
    return this.#emitDropped(answered, failure);
  }

  async #retry(answered: Answered, outcome: DeliveryOutcome & { kind: 'retry' }): Promise<Settled> {
    const { events, logger, random } = this.#deps;
    const { attempt } = answered.delivery;
    const delayMs = this.#policy?.delayMs(attempt, random) ?? backoffDelayMs(this.#plan, attempt, random);
    const details = { ...this.#info(answered), ...logged(outcome), delayMs: Math.round(delayMs) };
    logger[outcome.level](details, 'message will be delivered again');
    await answered.delivery.retry(delayMs);
    if (events.listenerCount('messageRetrying') > 0)
      events.emit('messageRetrying', { ...this.#info(answered), ...told(outcome), delayMs }, answered.delivery.message);
    return 'retrying';
  }

  /**
   * Publishes the original bytes to the dead-letter topic and only then acknowledges. When publishing fails the message
   * stays unacknowledged, in its place in flight, and is tried again: the application is not asked twice.
   */
  async #deadLetter(answered: Answered, failure: Failure, attempt: number): Promise<Settled> {
    const { deadLetterTopic } = this.#spec;
    const { events, logger } = this.#deps;
    try {
      await this.#publish(deadLetterOf(answered.delivery.message, deadLetterTopic, this.#origin(answered, failure)));
    } catch (error) {
      logger.error(
        { ...this.#info(answered), deadLetterTopic, error: messageOf(error) },
        'dead letter could not be published: will be tried again',
      );
      return this.#deadLetterLater(answered, failure, attempt + 1);
    }
    await answered.delivery.ack();
    logger.warn({ ...this.#info(answered), deadLetterTopic, ...logged(failure) }, 'message dead-lettered');
    if (events.listenerCount('messageDeadLettered') > 0)
      events.emit(
        'messageDeadLettered',
        { ...this.#info(answered), deadLetterTopic, ...told(failure) },
        answered.delivery.message,
      );
    return 'dead_lettered';
  }

  #origin({ delivery }: Answered, { reason }: Failure): DeadLetterOrigin {
    const { topic } = this.#spec;
    // Whole: the clock of a test may stand between two milliseconds.
    const deadAt = Math.floor(this.#deps.clock.now());
    return { topic, group: this.#group, reason: shortReason(reason), attempts: delivery.attempt, deadAt };
  }

  #deadLetterLater(answered: Answered, failure: Failure, attempt: number): Settled {
    if (this.#stopped) return 'unsettled';
    const timer = this.#deps.clock.setTimeout(
      () => {
        this.#timers.delete(timer);
        const done = this.#deps.work.begin(`dead letter of message ${answered.delivery.message.id}`);
        void this.#deadLetter(answered, failure, attempt)
          .catch((error: unknown) => this.#unsettled(answered, error))
          .finally(done);
      },
      backoffDelayMs(this.#plan, attempt, this.#deps.random),
    );
    this.#timers.add(timer);
    return 'unsettled';
  }

  #publish(message: Message): Promise<void> {
    const { probe } = this.#deps;
    if (probe === undefined) return this.#send(message);
    const { pubsubName } = this.#spec;
    return observe(probe, { type: 'publish', pubsubName, topic: message.topic, trace: undefined }, (observation) => {
      observation.sends(message);
      return this.#send(message);
    });
  }

  async #send(message: Message): Promise<void> {
    const [failure] = await this.#pubsub.component.publish([message]);
    if (failure !== undefined) throw failure.error;
  }

  #emitDropped(answered: Answered, failure: Failure): Settled {
    const { events } = this.#deps;
    if (events.listenerCount('messageDropped') > 0)
      events.emit('messageDropped', { ...this.#info(answered), ...told(failure) }, answered.delivery.message);
    return 'dropped';
  }

  #info({ delivery, route }: Pick<Answered, 'delivery' | 'route'>): DeliveryInfo {
    const { topic, pubsubName } = this.#spec;
    return { pubsubName, topic, messageId: delivery.message.id, group: this.#group, route, attempt: delivery.attempt };
  }
}

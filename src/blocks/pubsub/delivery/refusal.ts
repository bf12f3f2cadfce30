import type { Delivery } from '../../../components/pubsub.ts';
import type { Clock } from '../../../util/clock.ts';
import type { Logger } from '../../../util/logger.ts';
import { type DeliveryOutcome, drop } from './outcome.ts';
import type { SubscriptionSpec } from './subscription.ts';

/** The dependencies of {@link refusalOf}. */
export interface RefusalDeps {
  readonly spec: SubscriptionSpec;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The outcome of a message that is not delivered; `undefined` for all others. */
export function refusalOf(delivery: Delivery, { spec, clock, logger }: RefusalDeps): DeliveryOutcome | undefined {
  const { expiresAt, raw } = delivery.message;
  if (expiresAt !== undefined && expiresAt <= clock.now()) return drop('warn', 'the message has expired');
  if (raw && !spec.rawPayload)
    return drop('warn', 'it is a raw payload and the subscription does not ask for rawPayload');
  return (delivery.interruptions ?? 0) === 0 ? undefined : poison(delivery, spec, logger);
}

/** Without a dead-letter topic it would be lost, so it is delivered again, however often the process has ended. */
function poison(
  { message, attempt, interruptions = 0 }: Delivery,
  { pubsubName, topic, maxCrashes, deadLetterTopic }: SubscriptionSpec,
  logger: Logger,
): DeliveryOutcome | undefined {
  if (deadLetterTopic !== '' && maxCrashes > 0 && interruptions >= maxCrashes)
    return drop('error', `the process ended during ${times(interruptions)}`);
  const details = { pubsubName, topic, messageId: message.id, attempt, interruptions };
  logger.warn(details, 'a message is delivered again: the process ended during its last delivery');
  return undefined;
}

function times(count: number): string {
  return count === 1 ? 'the last delivery' : `${count} deliveries in a row`;
}

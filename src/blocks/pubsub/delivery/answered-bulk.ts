import type { Delivery } from '../../../components/pubsub.ts';
import type { Observation, Operation, OperationFailure } from '../../../probe.ts';
import type { Ending } from '../../../resiliency/breaker.ts';
import type { DeliveryOutcome } from './outcome.ts';
import type { SettlementDeps } from './settlement.ts';

/** The outcomes of one bulk request. */
export interface AnsweredBulk {
  readonly path: string;
  readonly entries: ReadonlyMap<string, Delivery>;
  readonly outcomes: ReadonlyMap<string, DeliveryOutcome>;
  readonly observation: Observation | undefined;
}

/** An attempt as the probe sees it. */
export function operationOf(
  { group, spec }: Pick<SettlementDeps, 'group' | 'spec'>,
  deliveries: readonly Delivery[],
  isBulk: boolean,
): Operation {
  const { pubsubName, topic } = spec;
  const messages = deliveries.map(({ message }) => message);
  return { type: 'process', pubsubName, topic, group, messages, isBulk, attempt: deliveries[0]?.attempt ?? 1 };
}

/** For the circuit breaker, a retry is a failure; a message that the application drops was delivered. */
export function endingOf({ kind }: DeliveryOutcome): Ending {
  return kind === 'retry' ? 'failure' : 'success';
}

export function endingOfBulk(sent: readonly AnsweredBulk[]): Ending {
  if (sent.length === 0) return 'abandoned';
  const isWell = sent.every(({ outcomes }) => [...outcomes.values()].every((one) => endingOf(one) === 'success'));
  return isWell ? 'success' : 'failure';
}

/** Why an attempt has failed; `undefined` if it has not. */
export function failureOf(outcome: DeliveryOutcome): OperationFailure | undefined {
  return outcome.kind === 'success' ? undefined : outcome;
}

/** The first failure of a bulk request. */
export function failureOfBulk(outcomes: Iterable<DeliveryOutcome>): OperationFailure | undefined {
  for (const outcome of outcomes) if (outcome.kind !== 'success') return outcome;
  return undefined;
}

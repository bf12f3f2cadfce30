import { retryInfoOf } from '../../../util/retry-options.ts';
import type { SubscriptionState } from './precedence.ts';
import type { SubscriptionInfo } from './subscription-info.ts';

/** A subscription as operators see it. `active` is the state of its consumer, if it has one. */
export function describe(
  { type, pubsubName, topic, spec, problem }: SubscriptionState,
  group: string,
  active: SubscriptionInfo['state'] | undefined,
): SubscriptionInfo {
  const { rules = [], deadLetterTopic = '', concurrency = 0, retry = {}, bulk } = spec ?? {};
  return {
    ...{ pubsubName, topic, group, type, rules, concurrency, retry: retryInfoOf(retry) },
    state: problem === undefined ? (active ?? 'starting') : 'refused',
    ...(problem === undefined ? {} : { problem }),
    ...(deadLetterTopic === '' ? {} : { deadLetterTopic }),
    ...(bulk === undefined
      ? {}
      : { bulkSubscribe: { maxMessagesCount: bulk.maxMessages, maxAwaitDurationMs: bulk.maxAwaitMs } }),
  };
}

import { messageOf } from '../../../errors.ts';
import { compileMatch } from '../delivery/rules.ts';
import type { RouteRule } from '../delivery/subscription.ts';
import type { SubscriptionInfo } from '../delivery/subscription-info.ts';
import type { ExplainedRule, ExplainedSubscription } from './queue-types.ts';

/** Where a subscription sends an event: the first rule that holds decides. */
export function explain(subscription: SubscriptionInfo, event: unknown): ExplainedSubscription {
  const rules: ExplainedRule[] = [];
  let path: string | undefined;
  for (const rule of subscription.rules) {
    const explained = path === undefined ? evaluated(rule, event) : { ...rule, holds: undefined };
    rules.push(explained);
    if (explained.holds === true) path = rule.path;
  }
  return { ...subscription, rules, ...(path === undefined ? {} : { path }) };
}

function evaluated(rule: RouteRule, event: unknown): ExplainedRule {
  try {
    return { ...rule, holds: compileMatch(rule.match)(event) };
  } catch (error) {
    return { ...rule, holds: false, error: messageOf(error) };
  }
}

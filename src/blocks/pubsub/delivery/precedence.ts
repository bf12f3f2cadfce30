import type { RefusedSubscription, SubscriptionSpec, SubscriptionType } from './subscription.ts';

/** A subscription and its state. */
export interface SubscriptionState {
  readonly type: SubscriptionType;
  readonly pubsubName: string;
  readonly topic: string;
  /** The consumer group within the app ID; empty for the one without a name. */
  readonly group: string;
  readonly spec: SubscriptionSpec | undefined;
  /** Why it was refused; absent when it was not. */
  readonly problem?: string;
}

/** The subscriptions that count and those that do not. */
export interface Chosen {
  /** Refused ones come last. */
  readonly kept: readonly SubscriptionState[];
  readonly ignored: readonly SubscriptionState[];
}

/** Makes the state of a parsed subscription; `problem` says why it is refused. */
export function stateOf(
  parsed: SubscriptionSpec | RefusedSubscription,
  problem: string | undefined = undefined,
): SubscriptionState {
  const { type, pubsubName, topic, group } = parsed;
  const spec = 'problem' in parsed ? undefined : parsed;
  return { type, pubsubName, topic, group, spec, ...(problem === undefined ? {} : { problem }) };
}

/** Equal for subscriptions of the same group of the same topic. */
export function groupKey({ pubsubName, topic, group }: SubscriptionState): string {
  return JSON.stringify([pubsubName, topic, group]);
}

/**
 * Whether a subscription does not share its group. A group has at most one of these, and any number of competing ones.
 */
export function isExclusive({ spec, problem }: SubscriptionState): boolean {
  return problem === undefined && spec?.competing === false;
}

/** Of several exclusive ones in one group, keeps the first or the last. Refused ones replace nothing. */
export function chooseOnePerGroup(states: readonly SubscriptionState[], counts: 'first' | 'last'): Chosen {
  const ignored: SubscriptionState[] = [];
  const byGroup = new Map<unknown, SubscriptionState>();
  const refused: SubscriptionState[] = [];
  for (const state of states) {
    if (state.problem !== undefined) {
      refused.push(state);
      continue;
    }
    const key = isExclusive(state) ? groupKey(state) : state;
    const present = byGroup.get(key);
    if (present === undefined || counts === 'last') byGroup.set(key, state);
    if (present !== undefined) ignored.push(counts === 'last' ? present : state);
  }
  return { kept: [...byGroup.values(), ...refused], ignored };
}

/** Programmatic subscriptions replace declarative ones of the same group; refused ones come last. */
export function mergeSources(
  declarative: readonly SubscriptionState[],
  programmatic: readonly SubscriptionState[],
): Chosen {
  const refused = programmatic.filter(({ problem }) => problem !== undefined);
  const admitted = programmatic.filter(({ problem }) => problem === undefined);
  const replacements = new Map<unknown, SubscriptionState>();
  for (const state of admitted) replacements.set(isExclusive(state) ? groupKey(state) : state, state);
  const ignored: SubscriptionState[] = [];
  const merged = declarative.map((state) => {
    const replacement = isExclusive(state) ? replacements.get(groupKey(state)) : undefined;
    if (replacement === undefined) return state;
    replacements.delete(groupKey(state));
    ignored.push(state);
    return replacement;
  });
  return { kept: [...merged, ...replacements.values(), ...refused], ignored };
}

import type { RefusedSubscription, SubscriptionSpec, SubscriptionType } from './subscription.ts';

/** A subscription as it stands. */
export interface SubscriptionState {
  readonly type: SubscriptionType;
  readonly pubsubName: string;
  readonly topic: string;
  /** The consumer group of the app ID; empty for the one without a name. */
  readonly group: string;
  readonly spec: SubscriptionSpec | undefined;
  /** Why it was refused; absent for one that was not. */
  readonly problem?: string;
}

/** What becomes of the subscriptions of one source. */
export interface Chosen {
  /** Those that count, refused ones last. */
  readonly kept: readonly SubscriptionState[];
  readonly ignored: readonly SubscriptionState[];
}

/** A subscription as it was read, and why it is refused, if it is. */
export function stateOf(
  parsed: SubscriptionSpec | RefusedSubscription,
  problem: string | undefined = undefined,
): SubscriptionState {
  const { type, pubsubName, topic, group } = parsed;
  const spec = 'problem' in parsed ? undefined : parsed;
  return { type, pubsubName, topic, group, spec, ...(problem === undefined ? {} : { problem }) };
}

/** Names what a group of a topic is, so that two that are equal are the same. */
export function groupKey({ pubsubName, topic, group }: SubscriptionState): string {
  return JSON.stringify([pubsubName, topic, group]);
}

/**
 * Whether a subscription wants a group for itself. Of those that do, a group has one: of the others, which say that
 * they compete, it may have any number.
 */
export function isExclusive({ spec, problem }: SubscriptionState): boolean {
  return problem === undefined && spec?.competing === false;
}

/** Of several that want one group, the first or the last counts; one that was refused takes nobody's place. */
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

/** Programmatic subscriptions take the place of declarative ones that want the same group; refused ones come last. */
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

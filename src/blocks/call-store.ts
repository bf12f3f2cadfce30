import type { StoreDefinition } from '../components/component.ts';
import { isApiError } from '../errors.ts';
import { observe, type Probe } from '../probe.ts';
import type { Policy } from '../resiliency/policy.ts';
import { type CancelToken, NEVER } from '../util/cancel-token.ts';
import { outside } from '../util/outside.ts';

/** A store that is called. */
interface Called<Store> {
  readonly definition: StoreDefinition;
  readonly store: Store;
  readonly policy: Policy | undefined;
}

/** The call of a store, for the probe. */
interface About {
  readonly action: string;
  readonly probe: Probe | undefined;
}

/** How a call follows the policy of its store. */
interface CallRules {
  /** Whether it may be made again if it failed: not what another outcome follows from, if the first one was done. */
  readonly mayRepeat: boolean;
  /** Ends the waits between attempts. Default: never. */
  readonly cancel?: CancelToken;
}

/** Calls a store, outside of the context of the request and under the policy of the store, if there is one. */
export function callStore<Store, T>(
  named: Called<Store>,
  { action, probe }: About,
  call: (store: Store) => Promise<T>,
  rules: CallRules = { mayRepeat: true },
): Promise<T> {
  const work = (): Promise<T> => underPolicy(named, () => call(named.store), rules);
  return observeStore(named.definition, { action, probe }, work);
}

/** Does work on a store, which the probe sees. */
export function observeStore<T>(
  { block, name: storeName }: StoreDefinition,
  { action, probe }: About,
  work: () => Promise<T>,
): Promise<T> {
  return probe === undefined ? work() : observe(probe, { type: 'store', block, action, storeName }, work);
}

/** Does what calls a store, outside of the context of the request and under the policy of the store, if there is one. */
export function underPolicy<T>(
  { policy }: Pick<Called<unknown>, 'policy'>,
  work: () => Promise<T>,
  { mayRepeat, cancel = NEVER }: CallRules,
): Promise<T> {
  if (policy === undefined) return outside(work);
  return policy.run(
    cancel,
    () => outside(work),
    (outcome) => {
      if ('value' in outcome) return 'success';
      const isFinal = !mayRepeat || (isApiError(outcome.error) && outcome.error.status < 500);
      return isFinal ? 'failure' : 'retry';
    },
  );
}

import type { StoreDefinition } from '../components/component.ts';
import { isSidecarError } from '../errors.ts';
import { observe, type Probe } from '../probe.ts';
import type { Policy } from '../resiliency/policy.ts';
import { NEVER } from '../util/cancel-token.ts';
import { outside } from '../util/outside.ts';

/** A store that is called. */
interface Called<Store> {
  readonly definition: StoreDefinition;
  readonly store: Store;
  readonly policy: Policy | undefined;
}

/** What is asked of a store, for the probe. */
interface About {
  readonly action: string;
  readonly probe: Probe | undefined;
}

/** Calls a store, outside of the context of the request and under the policy of the store, if there is one. */
export function callStore<Store, T>(
  named: Called<Store>,
  { action, probe }: About,
  call: (store: Store) => Promise<T>,
): Promise<T> {
  if (probe === undefined) return underPolicy(named, call);
  const { block, name: storeName } = named.definition;
  return observe(probe, { type: 'store', block, action, storeName }, () => underPolicy(named, call));
}

function underPolicy<Store, T>({ store, policy }: Called<Store>, call: (store: Store) => Promise<T>): Promise<T> {
  const attempt = (): Promise<T> => outside(() => call(store));
  if (policy === undefined) return attempt();
  return policy.run(NEVER, attempt, (outcome) => {
    if ('value' in outcome) return 'success';
    return isSidecarError(outcome.error) && outcome.error.status < 500 ? 'failure' : 'retry';
  });
}

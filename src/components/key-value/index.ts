import { sharedState } from '../../cluster/shared-state.ts';
import type { StateDefinition } from '../../state/store.ts';
import { field, TEXTS } from '../../util/option-fields.ts';
import type { ComponentContext } from '../component.ts';
import type { KeyValueDefinition, KeyValueStore, StateStoreOptions } from '../key-value.ts';
import { checkStoreOptions, STORE_FIELDS } from '../key-value-options.ts';
import { EngineKeyValue } from './engine-key-value.ts';

/** Options of {@link keyValueStore}. @public */
export interface KeyValueOptions extends StateStoreOptions {
  /** App IDs that may use the store. Default: all. */
  readonly scopes?: readonly string[] | undefined;
  /**
   * Where the values are kept, such as `memoryState()` or `embeddedState({ path })`, closed when the last sidecar with this
   * definition stops. Default: in the sidecar's own state store, beside its jobs, workflows and queues.
   */
  readonly store?: StateDefinition | undefined;
}

const STORE = field(
  (value) => typeof value === 'object' && value !== null && 'open' in value && typeof value.open === 'function',
  'the definition of a state store, such as memoryState()',
);

/**
 * A store for the state API, on the sidecar's own state store or one of its kind: in memory, in a directory, on
 * PostgreSQL or Redis. Values expire by the sidecar's clock, so by the virtual one in tests.
 *
 * @param name - the name used in requests
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options.
 * @example
 * ```ts
 * const sidecar = new Sidecar({ appId: 'orders', state: embeddedState({ path: './.insidecar' }), components: [keyValueStore('orders')] });
 * await sidecar.start();
 * await sidecar.state.set('orders', 'order-1', { total: 5 });
 * ```
 * @public
 */
export function keyValueStore(name: string, options: KeyValueOptions = {}): KeyValueDefinition {
  const { scopes, store, ...own } = options;
  checkStoreOptions(`options of keyValueStore ${JSON.stringify(name)}`, options, {
    ...STORE_FIELDS,
    scopes: TEXTS,
    store: STORE,
  });
  const shared = store && sharedState(store);
  return {
    block: 'state',
    name,
    type: typeOf(store),
    version: 'v1',
    ...(scopes === undefined ? {} : { scopes }),
    options: own,
    isOwnState: store === undefined,
    open: (context) => open(name, shared, context),
  };
}

function typeOf(store: StateDefinition | undefined): string {
  if (store === undefined) return 'state.durable';
  return store.type === 'memory' ? 'state.in-memory' : `state.${store.type}`;
}

async function open(
  name: string,
  definition: StateDefinition | undefined,
  context: ComponentContext,
): Promise<KeyValueStore> {
  if (definition === undefined)
    return new EngineKeyValue({ name, store: context.state, context, closeStore: async () => undefined });
  const store = await definition.open(context);
  return new EngineKeyValue({ name, store, context, closeStore: () => store.close() });
}

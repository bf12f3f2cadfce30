import { SidecarError } from '../../errors.ts';
import type { Sidecar } from '../../sidecar/sidecar.ts';
import type {
  ConfigurationSubscriptionsReply,
  LocksReply,
  SecretScopeInfo,
  StateKeysReply,
  StateValueReply,
  StoreInfo,
  StoresReply,
} from '../api/stores.ts';
import { isSecretKey } from '../mask.ts';
import { hiddenView, type PayloadViews } from '../payload.ts';
import type { Query } from '../query.ts';
import type { ApiRoute } from '../route.ts';
import { given, reads } from './define.ts';

/** The stores of state, locks, configuration and secrets, and bindings: what is in them, and how this process uses them. */
export function storeRoutes(views: PayloadViews): readonly ApiRoute[] {
  return [
    reads('stores', [], async ({ stores }): Promise<StoresReply> => ({ stores: describe(stores) })),
    reads('stores/keys', ['store', 'prefix', 'cursor', 'limit'], listKeys),
    reads('stores/keys/one', ['store', 'key'], (sidecar, query) => readValue(sidecar, query, views)),
    reads('stores/locks', ['store'], listLocks),
    reads('stores/subscriptions', ['store'], listSubscriptions),
  ];
}

type StoreBlocks = Sidecar['stores'];

function describe({ state, locks, configuration, secrets, bindings }: StoreBlocks): readonly StoreInfo[] {
  return [
    ...state.stores.list().map((one): StoreInfo => {
      const { prefix: keyPrefix, isEncrypted } = state.store(one.definition.name);
      const isListed = one.store.list !== undefined || one.store.scan !== undefined;
      return { ...baseOf(one), block: 'state', keyPrefix, isEncrypted, isListed };
    }),
    ...locks.stores.list().map((one): StoreInfo => {
      return { ...baseOf(one), block: 'lock', held: locks.held(one.definition.name).locks.length };
    }),
    ...configuration.stores.list().map((one): StoreInfo => {
      const { length } = configuration.subscriptions(one.definition.name);
      return { ...baseOf(one), block: 'configuration', subscriptions: length };
    }),
    ...secrets.stores.list().map((one): StoreInfo => {
      return { ...baseOf(one), block: 'secrets', ...given({ scope: scopeOf(secrets, one.definition.name) }) };
    }),
    ...bindings.stores.list().map((one): StoreInfo => {
      const input = bindings.input(one.definition.name);
      return { ...baseOf(one), block: 'bindings', operations: bindings.operations(one), ...given({ input }) };
    }),
  ];
}

type AnyStore = ReturnType<
  StoreBlocks['state' | 'locks' | 'configuration' | 'secrets' | 'bindings']['stores']['list']
>[number];
type BaseInfo = Pick<StoreInfo, 'name' | 'type' | 'version' | 'failure'>;

function baseOf({ definition: { name, type, version }, store: { failure } }: AnyStore): BaseInfo {
  return { name, type, version, ...(failure === undefined ? undefined : { failure: failure.message }) };
}

function scopeOf(secrets: StoreBlocks['secrets'], storeName: string): SecretScopeInfo | undefined {
  const scope = secrets.scopeOf(storeName);
  if (scope === undefined) return undefined;
  const { defaultAccess, allowed, denied } = scope;
  return { defaultAccess, allowedSecrets: [...allowed], deniedSecrets: [...denied] };
}

function listKeys({ stores: { state } }: Sidecar, query: Query): Promise<StateKeysReply> {
  const options = { prefix: query.text('prefix'), cursor: query.text('cursor'), limit: query.number('limit') };
  return state.list(query.needed('store'), given(options));
}

async function readValue({ stores: { state } }: Sidecar, query: Query, views: PayloadViews): Promise<StateValueReply> {
  const [name, key] = [query.needed('store'), query.needed('key')];
  const found = await state.stored(name, key);
  if (found === undefined)
    throw new SidecarError('ERR_NOT_FOUND', `there is no key ${JSON.stringify(key)} in state store ${name}`);
  const { bytes, etag, expiresAt } = found;
  const withheld = whyWithheld(key, state.store(name));
  return {
    key: { key, bytes: bytes.length, ...given({ etag, expiresAt }) },
    ...given({ withheld }),
    value: withheld === undefined ? views.long({ bytes }, { kind: 'state', name, key }) : hiddenView(bytes.length),
  };
}

function whyWithheld(key: string, store: { readonly isEncrypted: boolean }): StateValueReply['withheld'] {
  if (store.isEncrypted) return 'encrypted';
  return isSecretKey(key) ? 'secret' : undefined;
}

async function listLocks({ stores: { locks } }: Sidecar, query: Query): Promise<LocksReply> {
  const held = locks.held(query.needed('store'));
  const shown = held.locks.map(({ resource, owner, takenAt, expiresAt }) => {
    return { resource, owner: shortOwner(owner), takenAt, expiresAt };
  });
  return { locks: shown, isComplete: held.isComplete };
}

const MAX_OWNER_LENGTH = 16;

/** An owner that can be recognised by those who know it, and is of no use to others for releasing the lock. */
function shortOwner(owner: string): string {
  return owner.length <= MAX_OWNER_LENGTH ? owner : `${owner.slice(0, 8)}…${owner.slice(-4)}`;
}

async function listSubscriptions(
  { stores: { configuration } }: Sidecar,
  query: Query,
): Promise<ConfigurationSubscriptionsReply> {
  const subscriptions = configuration.subscriptions(query.needed('store'));
  return {
    subscriptions: subscriptions.map(({ id, keys, target, since, told, lastTold }) => {
      return { id, keys, target, since, told, ...given({ lastTold }) };
    }),
  };
}

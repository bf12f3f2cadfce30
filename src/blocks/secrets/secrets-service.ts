import type { Membership } from '../../cluster/membership.ts';
import type { SecretStoreDefinition, SecretValues } from '../../components/secret-store.ts';
import type { Resiliency } from '../../resiliency/policy.ts';
import type { BlockDeps } from '../block-deps.ts';
import type { BlockService } from '../block-service.ts';
import { callStore } from '../call-store.ts';
import { Stores } from '../stores.ts';
import { secretForbidden, secretGetFailed } from './errors.ts';
import type { SecretsOptions } from './options.ts';
import { type CheckedScope, SecretScopes } from './secret-scopes.ts';

/** The dependencies of a {@link SecretsService}. */
export interface SecretsServiceDeps extends Pick<BlockDeps, 'appId' | 'clock' | 'logger' | 'work' | 'probe' | 'admit'> {
  readonly resiliency: Resiliency;
  /** The stores that the application may use. */
  readonly definitions: readonly SecretStoreDefinition[];
  readonly secrets: SecretsOptions;
}

/** The metadata of a request. */
export type RequestMetadata = Readonly<Record<string, string>>;

/** Reads secrets, as far as the application may. The routes and the public class parse its arguments. */
export class SecretsService implements BlockService {
  readonly #deps: SecretsServiceDeps;
  readonly stores: Stores<SecretStoreDefinition>;
  readonly #scopes: SecretScopes;

  /** @throws SidecarError `ERR_CONFIGURATION` for scopes that cannot be used. */
  constructor(deps: SecretsServiceDeps) {
    this.#deps = deps;
    this.#scopes = new SecretScopes(deps.secrets);
    this.stores = new Stores({ ...deps, block: 'secrets' });
  }

  /** Reads one secret; `undefined` if there is none of that name. */
  async get(storeName: string, name: string, metadata: RequestMetadata): Promise<SecretValues | undefined> {
    this.#deps.admit();
    const named = this.stores.find(storeName);
    // Before the store is asked: the answer must not tell whether there is such a secret.
    if (!this.#scopes.allows(storeName, name)) throw secretForbidden(storeName, name);
    try {
      return await callStore(named, { action: 'get', probe: this.#deps.probe }, (store) => store.get(name, metadata));
    } catch (error) {
      throw secretGetFailed(storeName, `secret with key ${name}`, error);
    }
  }

  /** Reads all secrets that the application may read. */
  async all(storeName: string, metadata: RequestMetadata): Promise<Readonly<Record<string, SecretValues>>> {
    this.#deps.admit();
    const named = this.stores.find(storeName);
    try {
      const found = await callStore(named, { action: 'all', probe: this.#deps.probe }, (store) => store.all(metadata));
      return Object.fromEntries(Object.entries(found).filter(([name]) => this.#scopes.allows(storeName, name)));
    } catch (error) {
      throw secretGetFailed(storeName, 'all secrets', error);
    }
  }

  /** Which secrets of a store the application may read; `undefined` for all. */
  scopeOf(storeName: string): CheckedScope | undefined {
    return this.#scopes.of(storeName);
  }

  async open(membership: Membership): Promise<void> {
    await this.stores.open(membership);
    const open = new Set(this.stores.list().map(({ definition }) => definition.name));
    for (const store of this.#scopes.stores)
      if (!open.has(store)) this.#deps.logger.warn({ store }, 'a rule about secrets is for a store that there is not');
  }

  start(): void {}

  async stop(): Promise<void> {}

  /** Closes the stores. */
  close(): Promise<void> {
    return this.stores.close();
  }
}

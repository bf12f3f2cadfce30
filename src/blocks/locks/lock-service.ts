import type { Membership } from '../../cluster/membership.ts';
import type { LockStoreDefinition, UnlockOutcome } from '../../components/lock-store.ts';
import type { Probe } from '../../probe.ts';
import type { Resiliency } from '../../resiliency/policy.ts';
import type { BlockDeps } from '../block-deps.ts';
import type { BlockService } from '../block-service.ts';
import { callStore } from '../call-store.ts';
import { type NamedStore, Stores } from '../stores.ts';
import { tryLockFailed, unlockFailed } from './errors.ts';
import { lockKey } from './lock-key.ts';
import type { LockName, LockRequest } from './parse-lock.ts';

/** A call that failed may have been done: made again, it would find the lock taken by itself, or released. */
const ONCE = { mayRepeat: false } as const;

/** The dependencies of a {@link LockService}. */
export interface LockServiceDeps
  extends Pick<BlockDeps, 'appId' | 'clock' | 'logger' | 'work' | 'newId' | 'probe' | 'admit'> {
  readonly resiliency: Resiliency;
  /** The stores that the application may use. */
  readonly definitions: readonly LockStoreDefinition[];
}

/** An open lock store. */
export type NamedLockStore = NamedStore<LockStoreDefinition>;

/** Takes and releases locks. The routes and the public class parse its arguments. */
export class LockService implements BlockService {
  readonly #deps: LockServiceDeps;
  readonly stores: Stores<LockStoreDefinition>;

  constructor(deps: LockServiceDeps) {
    this.#deps = deps;
    this.stores = new Stores({ ...deps, block: 'lock' });
  }

  /** Finds a store; throws if the sidecar accepts no work now. */
  find(store: string): NamedLockStore {
    this.#deps.admit();
    return this.stores.find(store);
  }

  /** Takes a lock if it is free. */
  async tryLock(named: NamedLockStore, { resource, owner, expiryMs }: LockRequest): Promise<boolean> {
    const key = lockKey(named.definition, this.#deps.appId, resource);
    try {
      return await callStore(named, this.#about('tryLock'), (store) => store.tryLock(key, owner, expiryMs), ONCE);
    } catch (error) {
      throw tryLockFailed(named.definition.name, resource, error);
    }
  }

  /** Releases a lock if the owner holds it. */
  async unlock(named: NamedLockStore, { resource, owner }: LockName): Promise<UnlockOutcome> {
    const key = lockKey(named.definition, this.#deps.appId, resource);
    try {
      return await callStore(named, this.#about('unlock'), (store) => store.unlock(key, owner), ONCE);
    } catch (error) {
      throw unlockFailed(named.definition.name, resource, error);
    }
  }

  #about(action: string): { readonly action: string; readonly probe: Probe | undefined } {
    return { action, probe: this.#deps.probe };
  }

  /** Of the sidecar, for what the public class adds. */
  get deps(): Pick<BlockDeps, 'clock' | 'logger' | 'newId'> {
    return this.#deps;
  }

  open(membership: Membership): Promise<void> {
    return this.stores.open(membership);
  }

  start(): void {}

  async stop(): Promise<void> {}

  /** Closes the stores. Locks stay. */
  close(): Promise<void> {
    return this.stores.close();
  }
}

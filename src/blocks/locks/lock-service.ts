import type { Membership } from '../../cluster/membership.ts';
import type { LockStoreDefinition, UnlockOutcome } from '../../components/lock-store.ts';
import type { Probe } from '../../probe.ts';
import type { Resiliency } from '../../resiliency/policy.ts';
import type { BlockDeps } from '../block-deps.ts';
import type { BlockService } from '../block-service.ts';
import { callStore } from '../call-store.ts';
import { type NamedStore, Stores } from '../stores.ts';
import { tryLockFailed, unlockFailed } from './errors.ts';
import { type HeldLock, HeldLocks } from './held-locks.ts';
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
  readonly #held = new HeldLocks();

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
    const { name: storeName } = named.definition;
    const { appId, clock } = this.#deps;
    const key = lockKey(named.definition, appId, resource);
    const takenAt = clock.now();
    let isTaken: boolean;
    try {
      isTaken = await callStore(named, this.#about('tryLock'), (store) => store.tryLock(key, owner, expiryMs), ONCE);
    } catch (error) {
      throw tryLockFailed(storeName, resource, error);
    }
    if (isTaken) this.#held.add({ storeName, resource, owner, takenAt, expiresAt: takenAt + expiryMs });
    return isTaken;
  }

  /** Releases a lock if the owner holds it. */
  async unlock(named: NamedLockStore, { resource, owner }: LockName): Promise<UnlockOutcome> {
    const { name: storeName } = named.definition;
    const key = lockKey(named.definition, this.#deps.appId, resource);
    let outcome: UnlockOutcome;
    try {
      outcome = await callStore(named, this.#about('unlock'), (store) => store.unlock(key, owner), ONCE);
    } catch (error) {
      throw unlockFailed(storeName, resource, error);
    }
    // Whatever the outcome is, this owner does not hold it.
    this.#held.remove({ storeName, resource, owner });
    return outcome;
  }

  /** The locks of a store that this sidecar has taken, the latest first: neither released through it nor expired. */
  held(storeName: string): { readonly locks: readonly HeldLock[]; readonly isComplete: boolean } {
    return this.#held.list(this.stores.find(storeName).definition.name, this.#deps.clock.now());
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

import type { ComponentContext, OpenStore, StoreDefinition } from './component.ts';
import type { KeyPrefix } from './key-value.ts';

/**
 * The outcome of an unlock: `released`; `missing`, the lock is free; `foreign`, another owner holds it.
 *
 * @public
 */
export type UnlockOutcome = 'released' | 'missing' | 'foreign';

/**
 * A store of locks: the component behind the locks API. A lock belongs to an owner, a text, until it is released or
 * expires; it outlives the process that has taken it. Resources and owners are compared exactly.
 *
 * @public
 */
export interface LockStore extends OpenStore {
  /**
   * Takes the lock if it is free; never waits for a holder. Resolves with whether it was taken: `false` also if the
   * same owner holds it, whose time is then not prolonged. Of several calls at the same time, one gets the lock.
   *
   * @param resource - the whole key of the lock, with the prefix of the application
   * @param expiryMs - after so many milliseconds the lock is free: a whole number of seconds
   */
  tryLock(resource: string, owner: string, expiryMs: number): Promise<boolean>;

  /** Releases the lock if this owner holds it. Compares and releases in one step. */
  unlock(resource: string, owner: string): Promise<UnlockOutcome>;
}

/** Options of the locks API for a lock store of any technology. @public */
export interface LockStoreOptions {
  /**
   * The prefix of resources in the store, behind `lock||` and before `||`: `appid`, the app ID; `name`, the name of the
   * component; `none`, no prefix; any other word stands for itself, in lower case. Default `appid`.
   */
  readonly keyPrefix?: KeyPrefix | undefined;
}

/** An unopened lock store, as passed to a sidecar. @public */
export interface LockStoreDefinition extends StoreDefinition {
  /** The building block. */
  readonly block: 'lock';
  /** The options of the locks API. */
  readonly options: LockStoreOptions;
  /** Makes the store with its locks in the sidecar's own state, for processes that share one. @internal */
  readonly onState?: () => LockStoreDefinition;
  /** Opens the store for one sidecar. */
  open(context: ComponentContext): Promise<LockStore>;
}

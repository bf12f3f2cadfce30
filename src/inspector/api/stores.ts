import type { PayloadView } from './apps.ts';

/** `GET stores`: the stores of state, locks, configuration and secrets, and the bindings, that are open. */
export interface StoresReply {
  readonly stores: readonly StoreInfo[];
}

/** A store of a building block. */
export type StoreInfo = StateStoreInfo | LockStoreInfo | ConfigurationStoreInfo | SecretStoreInfo | BindingInfo;

interface StoreBase {
  readonly name: string;
  readonly type: string;
  readonly version: string;
  /** Why it does not work at present; absent while it works. */
  readonly failure?: string;
}

export interface StateStoreInfo extends StoreBase {
  readonly block: 'state';
  /** The beginning of the keys of the application in the store; may be empty. */
  readonly keyPrefix: string;
  /** Whether its values are encrypted: then they are never shown. */
  readonly isEncrypted: boolean;
  /** Whether its keys can be listed. */
  readonly isListed: boolean;
}

export interface LockStoreInfo extends StoreBase {
  readonly block: 'lock';
  /** How many locks this process holds. */
  readonly held: number;
}

export interface ConfigurationStoreInfo extends StoreBase {
  readonly block: 'configuration';
  /** How many subscriptions this process has. */
  readonly subscriptions: number;
}

export interface SecretStoreInfo extends StoreBase {
  readonly block: 'secrets';
  /** Which secrets the application may read. Absent: all. */
  readonly scope?: SecretScopeInfo;
}

export interface BindingInfo extends StoreBase {
  readonly block: 'bindings';
  /** Its operations; empty if it is not called. */
  readonly operations: readonly string[];
  /** Its events in this process. Absent: it is not read. */
  readonly input?: BindingInputInfo;
}

export interface BindingInputInfo {
  /** Whether the application or code gets them. */
  readonly isRead: boolean;
  /** When the last one was accepted. */
  readonly acceptedAt?: number;
  /** When the last one was not accepted, and why. */
  readonly failedAt?: number;
  readonly reason?: string;
}

/** A rule about the secrets of a store: names, never values. */
export interface SecretScopeInfo {
  /** Whether secrets may be read that neither list names. */
  readonly defaultAccess: 'allow' | 'deny';
  /** If not empty: these may be read, and no others. */
  readonly allowedSecrets: readonly string[];
  readonly deniedSecrets: readonly string[];
}

/**
 * `GET stores/keys?store=&prefix=&cursor=&limit=`: the keys that requests of the application can name, in their order; on
 * Redis each page is ordered by itself, and a key may be on two. A store that cannot list its keys answers 500
 * (`ERR_STATE_STORE_NOT_SUPPORTED`).
 */
export interface StateKeysReply {
  readonly keys: readonly StateKeyInfo[];
  /** A page with a cursor may be empty. */
  readonly cursor?: string;
}

/** A key without its value. */
export interface StateKeyInfo {
  readonly key: string;
  /** The size of the value as it is stored. */
  readonly bytes: number;
  /** Absent: another program has written the value in a form without one. */
  readonly etag?: string;
  /** Absent: never. */
  readonly expiresAt?: number;
}

/** `GET stores/keys/one?store=&key=` */
export interface StateValueReply {
  readonly key: StateKeyInfo;
  /** Why the value is never shown: the store encrypts, or the key is the name of a secret. Absent: it may be shown. */
  readonly withheld?: 'encrypted' | 'secret';
  readonly value: PayloadView;
}

/** `GET stores/locks?store=`: the locks that this process has taken, the latest first. */
export interface LocksReply {
  /** At most 1,000. */
  readonly locks: readonly HeldLockInfo[];
  /** Whether it holds no others. */
  readonly isComplete: boolean;
}

/** A lock that was neither released by this process nor has expired. */
export interface HeldLockInfo {
  readonly resource: string;
  /** The owner may release the lock: of one longer than 16 characters, the first 8 and the last 4 are shown. */
  readonly owner: string;
  readonly takenAt: number;
  readonly expiresAt: number;
}

/** `GET stores/subscriptions?store=`: the subscriptions of this process to a configuration store, the earliest first. */
export interface ConfigurationSubscriptionsReply {
  readonly subscriptions: readonly ConfigurationSubscriptionInfo[];
}

/** A subscription to configuration: keys, never values. */
export interface ConfigurationSubscriptionInfo {
  readonly id: string;
  /** Without keys, all. */
  readonly keys: readonly string[];
  /** Where changes are told: by a request to the application, or in code. */
  readonly target: 'app' | 'code';
  readonly since: number;
  /** How many changes were told, accepted or not. */
  readonly told: number;
  /** The last change that was told; absent if there was none. */
  readonly lastTold?: { readonly key: string; readonly at: number };
}

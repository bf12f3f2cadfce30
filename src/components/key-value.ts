import type { Batch, StateStore } from '../state/store.ts';
import type { Duration } from '../util/duration.ts';
import type { ComponentContext, OpenStore, StoreDefinition } from './component.ts';

/**
 * A store of values by key for applications: the component behind the state API. Not to be confused with
 * {@link StateStore}, the sidecar's own store of jobs, workflows and queues, which has one format and one writer for each
 * part; a key-value store may be shared with programs that know nothing of insidecar.
 *
 * It knows neither HTTP nor JSON rules: the building block checks requests, adds prefixes to keys, encrypts, and folds
 * several operations on one key into one.
 *
 * **Keys** are non-empty strings, compared exactly. **Values** are bytes: the text of a JSON value, or binary.
 *
 * **ETags** are opaque text. Every write of a key gives it an ETag that it never had, not even before a delete.
 *
 * **Expired** values do not exist: no read returns them, no condition sees them.
 *
 * @public
 */
export interface KeyValueStore extends OpenStore {
  /**
   * Reads keys, all of them from one state of the store. Returns as many results as keys, in their order; `undefined`
   * for a key that does not exist. Keys may repeat.
   */
  read(keys: readonly string[]): Promise<readonly (StoredValue | undefined)[]>;

  /**
   * Writes, each key at most once. With `atomic`, all or nothing: if one condition does not hold, nothing is written.
   * Without, each operation by itself. Resolves once the change is as durable as the store can make it, with one outcome
   * for each operation. Rejects if the store failed; without `atomic` a part may then have been written.
   */
  write(operations: readonly KeyValueOperation[], options: WriteOptions): Promise<readonly WriteOutcome[]>;

  /**
   * Returns existing entries whose keys begin with `prefix`, ordered by key, beginning after the key `after`: at least
   * one if there is one, at most `limit`. It may end a page early, where values are large: only an empty page is the end.
   * Absent: the store cannot list its keys, and there are no queries on it.
   */
  list?(prefix: string, page: { readonly after?: string; readonly limit: number }): Promise<readonly KeyedValue[]>;

  /**
   * Finds keys that begin with `prefix`, in no order, for an operator who looks at a store without `list`. Each key that
   * exists all the while is on one page at least. A page has some more keys than `limit` at most, and may be empty although
   * others follow. Resolves to `undefined` for a cursor that this store has not given. Absent: the store cannot.
   */
  scan?(prefix: string, page: { readonly cursor?: string; readonly limit: number }): Promise<KeyScanPage | undefined>;

  /** The events that transactions have left. Absent: the store has no place for them, and there is no outbox on it. */
  readonly outbox?: KeyValueOutbox;

  /** The store of the sidecar's own kind that has the values. Absent: they are elsewhere. @internal */
  readonly stateStore?: StateStore;
}

/** A value as it is stored. @public */
export interface StoredValue {
  /** The text of a JSON value in UTF-8, or other bytes. Not to be changed. */
  readonly bytes: Uint8Array;
  /** The ETag. `undefined`: another program has written the value in a form without one. */
  readonly etag: string | undefined;
  /** When it expires, in milliseconds since 1970. Absent: never. */
  readonly expiresAt?: number;
  /** Whether the bytes are certainly the text of a JSON value, so that nobody need look. Default: false. @internal */
  readonly isJson?: boolean;
}

/** A stored value with its key. @public */
export interface KeyedValue extends StoredValue {
  /** The whole key, prefix included. */
  readonly key: string;
}

/** A key that a scan has found, without its value. @public */
export interface ScannedKey extends Pick<StoredValue, 'etag' | 'expiresAt'> {
  /** The whole key, prefix included. */
  readonly key: string;
  /** The size of the value as it is stored. */
  readonly bytes: number;
}

/** A page of a scan. @public */
export interface KeyScanPage {
  /** The found keys, each once. */
  readonly keys: readonly ScannedKey[];
  /** For the next page; absent on the last one. */
  readonly cursor?: string;
}

/**
 * The condition of an operation: the key has this ETag now, an empty one if it has a value without an ETag; or it does
 * not exist.
 *
 * @public
 */
export type WriteCondition = { readonly etag: string } | 'absent';

/** Writes one key. @public */
export interface PutValue {
  /** A put. */
  readonly kind: 'put';
  /** The key. */
  readonly key: string;
  /** The bytes. */
  readonly value: Uint8Array;
  /** Whether the bytes are no JSON text. Stores that have a form for binary data use it. Default: false. */
  readonly isBinary?: boolean;
  /** How long the value exists, in milliseconds, more than 0. Absent: for ever, even if the key expired before. */
  readonly ttlMs?: number;
  /** Default: none. */
  readonly condition?: WriteCondition;
}

/** Removes one key; one that does not exist is no error. @public */
export interface RemoveValue {
  /** A removal. */
  readonly kind: 'remove';
  /** The key. */
  readonly key: string;
  /** Default: none. With `'absent'`, nothing but the check is done. */
  readonly condition?: WriteCondition;
}

/** A change of one key. @public */
export type KeyValueOperation = PutValue | RemoveValue;

/** Options of a write. @public */
export interface WriteOptions {
  /** All or nothing. */
  readonly atomic: boolean;
  /** Whether to wait for replicas where the store has any. A hint. Default: false. */
  readonly isStrong?: boolean;
  /** Events to leave in the outbox in the same commit. Only with `atomic`, and a store with an outbox. */
  readonly events?: readonly OutboxEvent[];
  /**
   * Commits a batch of {@link KeyValueStore.stateStore} with the messages of the events, which are then not left in the
   * outbox. Resolves with the version, or with `undefined` if they cannot be published so: nothing was written then.
   * Rejects as a commit does. Only with `events`. @internal
   */
  readonly publish?: (batch: Batch) => Promise<number | undefined>;
}

/**
 * The outcome of an operation: `done`, with the new ETag of a put; `refused`, its condition did not hold. With `atomic`
 * and a refused one nothing was written: the others are `skipped`, or refused as well.
 *
 * @public
 */
export type WriteOutcome =
  | { readonly status: 'done'; readonly etag?: string }
  | { readonly status: 'refused' | 'skipped' };

/** An event that a transaction has left to be published. @public */
export interface OutboxEvent {
  /** Unique in the store. Of two transactions of one process, the later one has the greater IDs, and those of one ascend. */
  readonly id: string;
  /** The event, in a form that only the building block knows. */
  readonly bytes: Uint8Array;
}

/** A page of the events of an outbox. @public */
export interface OutboxPage {
  /** In the order in which they are published. */
  readonly events: readonly OutboxEvent[];
  /** From where the next page begins; absent if there are no events. */
  readonly cursor?: string;
}

/**
 * The events that transactions have left, until they are published. They are in the order of the commits, as far as
 * these change the same keys, and those of one commit in the order in which they were given. A store that cannot tell the
 * order of commits has them in the order of their IDs, and `lastId`.
 *
 * @public
 */
export interface KeyValueOutbox {
  /**
   * Reads the first events, or those behind the `cursor` of a page: at least one if there is one, and some hundreds at
   * most. Only an empty page is the end.
   */
  read(cursor?: string): Promise<OutboxPage>;
  /** Removes published events; those that are no more are no error. */
  remove(ids: readonly string[]): Promise<void>;
  /**
   * The greatest ID, in the order of the code points; `undefined` if there are no events. Present: events are in the order
   * of their IDs, so those of a new process must be greater than what is there.
   */
  lastId?(): Promise<string | undefined>;
}

/** How the keys of an application are distinguished from those of others; see `keyPrefix` of {@link StateStoreOptions}. @public */
export type KeyPrefix = 'appid' | 'namespace' | 'name' | 'none' | (string & {});

/** The events that transactions on a state store publish. @public */
export interface OutboxOptions {
  /** The pub/sub component. */
  readonly pubsubName: string;
  /** The topic. */
  readonly topic: string;
}

/** A key that encrypts values. @public */
export interface EncryptionKey {
  /** Its name, stored beside each value: values are read with the key that they name. */
  readonly name: string;
  /** 16, 24 or 32 bytes in hexadecimal. */
  readonly key: string;
}

/** Options of the state API for a state store of any technology. @public */
export interface StateStoreOptions {
  /**
   * The prefix of keys in the database, before `||`: `appid`, the app ID; `namespace`, namespace and app ID with a dot
   * between them if a namespace is set; `name`, the name of the component; `none`, no prefix and no `||`; any other word
   * stands for itself, in lower case. Default `appid`.
   */
  readonly keyPrefix?: KeyPrefix | undefined;
  /** How long values exist that are saved without a TTL; at most 2,147,483,647 seconds. Default: for ever. */
  readonly defaultTtl?: Duration | undefined;
  /** The key that encrypts new values. Default: values are not encrypted. */
  readonly primaryEncryptionKey?: EncryptionKey | undefined;
  /** A former key, for values that are already stored. Default: none. */
  readonly secondaryEncryptionKey?: EncryptionKey | undefined;
  /** Publishes an event for every value that a transaction saves, decided in the same commit. Default: none. */
  readonly outbox?: OutboxOptions | undefined;
}

/** An unopened state store, as passed to a sidecar. @public */
export interface KeyValueDefinition extends StoreDefinition {
  /** The building block. */
  readonly block: 'state';
  /** The options of the state API. */
  readonly options: StateStoreOptions;
  /** Whether the sidecar keeps its own state there, too. Shown in metadata. Default: false. */
  readonly isOwnState?: boolean | undefined;
  /** Makes the store with its values in the sidecar's own state, for processes that share one. @internal */
  readonly onState?: () => KeyValueDefinition;
  /** Opens the store for one sidecar. */
  open(context: ComponentContext): Promise<KeyValueStore>;
}

import type { Clock } from '../util/clock.ts';
import type { Expected } from '../util/expected.ts';
import type { Logger } from '../util/logger.ts';

/** A stored value and its version. @public */
export interface Entry {
  /** The bytes: a copy, so changing them does not change the store. */
  readonly value: Uint8Array;
  /** Identifies this state of the entry; see {@link StateStore.commit}. */
  readonly version: number;
}

/** An entry with its key, as returned by a scan. @public */
export interface KeyedEntry extends Entry {
  /** The key. */
  readonly key: string;
}

/** A condition that must hold for the batch to be written. @public */
export interface Precondition {
  /** The key to check. */
  readonly key: string;
  /** The version that the entry must have now; `'absent'` if the key must have no entry. */
  readonly version: number | 'absent';
}

/** Writes an entry, new or existing. @public */
export interface Put {
  /** The key; see {@link StateStore} for what is valid. */
  readonly key: string;
  /** The bytes. They are copied before `commit` returns. */
  readonly value: Uint8Array;
}

/** One atomic change. Any list may be missing or empty; a batch of preconditions alone is valid. @public */
export interface Batch {
  /** Preconditions. Each key at most once. */
  readonly require?: readonly Precondition[];
  /** Entries to write. Each key at most once, and not one that is also deleted. */
  readonly put?: readonly Put[];
  /** Keys to delete. A key without an entry is not an error. */
  readonly delete?: readonly string[];
  /**
   * The author of the commit. Not stored: passed to watchers in this process, so that they can ignore their own
   * changes.
   */
  readonly by?: object;
}

/** A part of the key space. @public */
export interface KeyRange {
  /** The first key, inclusive. `''` starts at the first key of the store. */
  readonly from: string;
  /** The end, exclusive. Absent: to the last key of the store. */
  readonly to?: string;
}

/** The range and limits of a scan. @public */
export interface Scan extends KeyRange {
  /** Max entries to return. Default: the whole range, so set it where there may be many. */
  readonly limit?: number;
  /** Ends the scan when the values reach this many bytes; the first entry is always returned. Default: no limit. */
  readonly maxBytes?: number;
  /** Scans backwards, greatest key first. Default: false. */
  readonly reverse?: boolean;
}

/** Max length of a key, in bytes of UTF-8. @public */
export const MAX_KEY_BYTES = 1024;

/** Max length of a value, in bytes: 8 MiB. @public */
export const MAX_VALUE_BYTES: number = 8 * 1024 * 1024;

/** Max total size of the keys and values of a batch, in bytes: 64 MiB. @public */
export const MAX_BATCH_BYTES: number = 64 * 1024 * 1024;

/**
 * The failures of its machine that a resolved commit survives.
 *
 * - `synced`: a crash of the machine, power failures included.
 * - `second`: a crash of the process that stores it. A crash of the machine may lose about the last second.
 * - `none`: nothing. A crash loses everything, or everything since the last snapshot.
 * - `unknown`: the engine does not tell.
 *
 * @public
 */
export type StateDurability = 'synced' | 'second' | 'none' | 'unknown';

/**
 * An ordered key-value store with atomic batches. Jobs, workflows, the host registry and the durable queue need nothing
 * else of an engine. This is the contract of every implementation; `stateStoreConformance` of `insidecar/kit` checks it.
 *
 * **Keys** are non-empty strings of at most `MAX_KEY_BYTES` bytes in UTF-8. Every character is allowed, including NUL,
 * except unpaired surrogates. Keys are ordered by the bytes of their UTF-8 form, which is also the order of their code
 * points. JavaScript's `<` differs from it at U+E000 and above.
 *
 * **Values** are bytes, empty to `MAX_VALUE_BYTES`. A batch carries at most `MAX_BATCH_BYTES`.
 *
 * **Versions.** Every successful commit has its own number, which becomes the version of all entries it puts. A number
 * is never reused, not even after a delete, a crash or a restart: the same version means the same entry. Compare
 * versions only for equality.
 *
 * **Reads** see every commit that had resolved when they were called, and may or may not see those in flight. A read
 * never sees half a batch: each `get` and each `scan` shows one state of the whole store.
 *
 * **After a crash** of the process or the machine, a durable store holds every commit that resolved, in full, and each
 * other commit either in full or not at all.
 *
 * **Errors** are `StateError`s with a `kind`. Arguments are checked first; invalid ones also reject instead of
 * throwing.
 *
 * @public
 */
export interface StateStore extends AsyncDisposable {
  /**
   * Why the store does not work at present, such as a full disk; `undefined` while it works. A store that recovers
   * clears it. A sidecar with a failed store is not healthy.
   */
  readonly failure: Error | undefined;

  /**
   * Whether no other process has the store open, or can open it without this one knowing. Hosts that a crashed process
   * left in it are then replaced at once. Default: other processes may have it open, so a silent host is given time to
   * return.
   */
  readonly isExclusive?: boolean;

  /**
   * The authors whose changes `watch` reports. `'all'`: other processes too, except while the connection is lost.
   * `'own'`: this process only, so users poll for the others every second. Default: `'own'`.
   */
  readonly hints?: 'all' | 'own';

  /**
   * The failures that a resolved commit survives. With a server, its settings decide; `'unknown'` before the first
   * connection. Default: `'unknown'`.
   */
  readonly durability?: StateDurability;

  /** Returns the entry of a key, or `undefined`. Calls made at the same time share one round trip to the engine. */
  get(key: string): Promise<Entry | undefined>;

  /**
   * Returns the entries of keys, all of them from one state of the store, in the order of the keys; `undefined` for a key
   * without an entry. Each key at most once. Without this method, entries are read one by one until none of them changes
   * meanwhile.
   */
  getAll?(keys: readonly string[]): Promise<readonly (Entry | undefined)[]>;

  /** Returns the entries of a range in key order. */
  scan(scan: Scan): Promise<readonly KeyedEntry[]>;

  /**
   * Returns the number of entries of a range, at most `limit`: counting ends there. Without this method, entries are
   * counted with `scan`, which reads them.
   */
  count?(range: KeyRange, limit: number): Promise<number>;

  /**
   * Changes the store, all or nothing: checks every precondition against the result of all earlier commits, then puts
   * and deletes. Concurrent commits are applied in some order, each checked against the result of the one before; a
   * rejected commit does not affect the others. Commits of one caller keep the order of their calls; one that is
   * rejected may be checked before the earlier ones of the same moment are written.
   *
   * Resolves to the version of the entries it put, once the change is durable: once it would survive a crash of the
   * machine, where the engine can guarantee that (memory cannot).
   *
   * Rejects with a `ConflictError` if a precondition does not hold. Nothing is written then, nor with any other kind of
   * error except `failed`: after that one, read before you write again.
   */
  commit(batch: Batch): Promise<number>;

  /**
   * Calls back after commits that changed keys beginning with `prefix`, with those keys: commits of this process and,
   * where the engine supports it, of others. The call is a hint to read again: it may be late, merged with others,
   * repeated, or lost with the engine's connection; once that is back, the call has no keys. If you depend on a change,
   * also poll from time to time.
   *
   * A batch's `by` is passed with its keys to the watchers in the same process.
   *
   * Errors of the callback are logged. Dispose of the result to stop; closing the store stops all callbacks.
   */
  watch(prefix: string, onChange: (keys: readonly string[], by?: object) => void): Disposable;

  /**
   * Closes the store: accepts no new calls, waits for those in flight, then releases files, threads and connections.
   * Calling it again waits for the same close. Later calls reject with `closed`; `watch`, which returns no promise,
   * throws it.
   */
  close(): Promise<void>;
}

/** The dependencies that the sidecar passes to the state store it opens. @public */
export interface StateContext {
  /** The source of time. */
  readonly clock: Clock;
  /** The log for problems. */
  readonly logger: Logger;
}

/** The state store that a sidecar uses, such as `embeddedState({ path })`: the option `state`. @public */
export interface StateDefinition {
  /** A short name of the engine, for metadata and messages. */
  readonly type: string;
  /** The location of the state for messages, without credentials. @internal */
  readonly place?: string;
  /** For sidecars that share the store: the sidecars whose subscriptions to a component are not yet known. @internal */
  readonly expectedOn?: (component: string) => Expected;
  /** Opens the store; rejects with a `StateError` that says what is wrong. */
  open(context: StateContext): Promise<StateStore>;
}

import type { Clock } from '../util/clock.ts';
import type { Expected } from '../util/expected.ts';
import type { Logger } from '../util/logger.ts';

/** What is stored under a key. @public */
export interface Entry {
  /** The bytes; the caller's own, changing them changes nothing in the store. */
  readonly value: Uint8Array;
  /** Names this state of the entry: see {@link StateStore.commit}. */
  readonly version: number;
}

/** An entry with its key, as a scan answers it. @public */
export interface KeyedEntry extends Entry {
  /** The key. */
  readonly key: string;
}

/** Something that must hold, or the batch is refused as a whole. @public */
export interface Precondition {
  /** The key it is about. */
  readonly key: string;
  /** The version that the entry must have now; `'absent'` when there must be no entry. */
  readonly version: number | 'absent';
}

/** Writes an entry, whether or not there is one. @public */
export interface Put {
  /** The key, see {@link StateStore} for what it may be. */
  readonly key: string;
  /** The bytes. They are copied before `commit` returns. */
  readonly value: Uint8Array;
}

/** One atomic change. Each list may be missing or empty; preconditions alone are a legal batch. @public */
export interface Batch {
  /** What must hold. No key twice. */
  readonly require?: readonly Precondition[];
  /** What to write. No key twice, and none that is also deleted. */
  readonly put?: readonly Put[];
  /** Which entries to remove. A key without an entry is no error. */
  readonly delete?: readonly string[];
}

/** A part of the key space. @public */
export interface KeyRange {
  /** The first key, inclusive. `''` starts at the very first. */
  readonly from: string;
  /** The end, exclusive. Absent: up to the very last. */
  readonly to?: string;
}

/** What a scan reads. @public */
export interface Scan extends KeyRange {
  /** The most entries to answer; default: all of the range, so give one wherever there may be many. */
  readonly limit?: number;
  /** Ends after the entry with which the values reach this many bytes; the first entry always comes. Default: no end. */
  readonly maxBytes?: number;
  /** From the end of the range backwards: the greatest key first. Default: false. */
  readonly reverse?: boolean;
}

/** The longest key, in bytes of its UTF-8 form. @public */
export const MAX_KEY_BYTES = 1024;

/** The longest value, in bytes: 8 MiB. @public */
export const MAX_VALUE_BYTES: number = 8 * 1024 * 1024;

/** The most that the keys and values of one batch may add up to, in bytes: 64 MiB. @public */
export const MAX_BATCH_BYTES: number = 64 * 1024 * 1024;

/**
 * An ordered key-value store with atomic batches: all that jobs, workflows, the host registry and the durable
 * queue need of an engine. This is the contract of every implementation; `stateStoreSuite` of `insidecar/testing`
 * checks it.
 *
 * **Keys** are non-empty strings of at most `MAX_KEY_BYTES` bytes in UTF-8, of any characters including NUL
 * but without unpaired surrogates. Their order is the byte order of their UTF-8 form, which is also the order of
 * their code points, and not JavaScript's `<` (that differs from U+E000 on).
 *
 * **Values** are bytes, empty to `MAX_VALUE_BYTES`. A batch carries at most `MAX_BATCH_BYTES`.
 *
 * **Versions.** Every successful commit has a number of its own, and all entries that it puts get that number as
 * their version. No number is ever used twice, not even after a delete, a crash or a restart: an entry with the
 * version that you have seen is the entry that you have seen. Compare versions only for equality.
 *
 * **Reads** see every commit that had resolved when they were called, and may or may not see those in flight.
 * One read never sees half a batch: a `get` and a `scan` each show one state of the whole store.
 *
 * **After a crash** of the process or the machine, a durable store holds every commit that resolved, in full, and
 * each other commit either in full or not at all.
 *
 * **Errors** are `StateError`s with a `kind`. Arguments are checked before anything happens and also reject,
 * never throw.
 *
 * @public
 */
export interface StateStore extends AsyncDisposable {
  /**
   * Why the store does not work at present, such as a full disk; `undefined` while it works. A store that can
   * recover clears it by itself. A sidecar with a failed store is not healthy.
   */
  readonly failure: Error | undefined;

  /**
   * Only one process can have it open, so that whatever is not in this process is gone: hosts that a crash has left
   * in it are replaced at once. Default: others may have it open too, and a host that is silent is waited for.
   */
  readonly isExclusive?: boolean;

  /** The entry of a key, or `undefined`. Several calls made at once travel to the engine together. */
  get(key: string): Promise<Entry | undefined>;

  /** The entries of a range in key order. */
  scan(scan: Scan): Promise<readonly KeyedEntry[]>;

  /**
   * Changes the store, all or nothing: checks every precondition against the state that all earlier commits have
   * left, then puts and deletes. Commits made at the same time are put in some order, each is checked against the
   * one before, and a refused one does not touch the others. Commits of one caller keep the order of their calls.
   *
   * Resolves to the version that the entries it put now have, once the change is durable: not before it would
   * survive a crash of the machine, where the engine can give that (memory cannot).
   *
   * Rejects with a `ConflictError` when a precondition does not hold. Nothing is written then, nor with any
   * other kind of error except `failed`: after that one, read before you write again.
   */
  commit(batch: Batch): Promise<number>;

  /**
   * Calls back after commits that touched keys beginning with `prefix` (of this process, and where the engine can
   * tell, of others), with those keys. It is a hint that looking is worthwhile: late, merged with others, repeated,
   * even lost when the engine's connection is. Whoever relies on a change must also look from time to time.
   *
   * Errors of the callback are logged. Dispose of the result to stop; a closed store calls nobody.
   */
  watch(prefix: string, onChange: (keys: readonly string[]) => void): Disposable;

  /**
   * Ends the store: no new calls are taken, those in flight settle first, then its file, threads and connections
   * are released. Calling it again waits for the same end. Everything called later rejects with `closed` (`watch`, which
   * answers no promise, throws it).
   */
  close(): Promise<void>;
}

/** What a state store gets from the sidecar that opens it. @public */
export interface StateContext {
  /** Where time comes from. */
  readonly clock: Clock;
  /** Where to report what needs attention. */
  readonly logger: Logger;
}

/** Which state store a sidecar is to use, such as `embedded({ path })`: the option `state`. @public */
export interface StateDefinition {
  /** The engine in a word, for metadata and messages. */
  readonly type: string;
  /** For sidecars that share it: whose subscriptions on a component are not known yet. @internal */
  readonly expectedOn?: (component: string) => Expected;
  /** Opens it; rejects with a {@link StateError} that says what is wrong. */
  open(context: StateContext): Promise<StateStore>;
}

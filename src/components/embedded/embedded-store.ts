import { changedKeys } from '../../state/changed-keys.ts';
import { checkBatch, checkCount, checkKey, checkScan } from '../../state/checks.ts';
import { ConflictError, closedError, failureFields, type StateError } from '../../state/errors.ts';
import { LocalWatch, type OnChange } from '../../state/local-watch.ts';
import type { Batch, Entry, KeyedEntry, KeyRange, Scan, StateContext, StateStore } from '../../state/store.ts';
import type { Clock, Timer } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import { clearTimeout, setImmediate, setTimeout } from '../../util/timers.ts';
import type { BinaryReader } from './binary-codec.ts';
import { CommitWindow } from './commit-window.ts';
import { canRecover } from './failures.ts';
import { PendingCalls } from './pending-calls.ts';
import {
  errorOf,
  type Failure,
  readEntries,
  readEntry,
  readNumber,
  readOutcome,
  type WorkerReply,
  type WorkerSettings,
  writeBatch,
  writeCount,
  writeGet,
  writeScan,
} from './protocol.ts';
import { Thread } from './thread.ts';

/** How often a failed store is probed. */
const PROBE_INTERVAL_MS = 1000;
/** From this size on, the rest of a write takes longer than its sync: what would save a sync is not worth waiting for. */
const LARGE_GROUP_BYTES = 32 * 1024;
/** Settings for tests and benchmarks only. */
export type EmbeddedInternals = Pick<WorkerSettings, 'syncDelayMs' | 'maxPages'>;

/** Opens the store of a directory (absolute). */
export async function openEmbeddedStore(
  path: string,
  context: StateContext,
  internals: EmbeddedInternals = {},
): Promise<EmbeddedStore> {
  const closed = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  return new EmbeddedStore(await Thread.open({ path, closed, ...internals }), context);
}

/**
 * The state store in a directory. Calls are packed as they come and sent to the thread once per turn of the event loop,
 * commits as a group. No call is cloned, and this thread never waits for a sync.
 */
export class EmbeddedStore implements StateStore {
  readonly isExclusive = true;
  readonly durability = 'synced';
  readonly #thread: Thread;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #watchers: LocalWatch;
  readonly #reads = new PendingCalls();
  readonly #commits = new PendingCalls();
  #isFlushScheduled = false;
  readonly #window = new CommitWindow();
  /** Ends the wait for more commits. */
  #windowTimer: NodeJS.Timeout | undefined;
  #failure: StateError | undefined;
  /** Why calls are no longer accepted. */
  #ended: StateError | undefined;
  #closing: Promise<void> | undefined;
  #probe: Timer | undefined;
  /** Tells the close that no call is pending any more. */
  #settled: () => void = () => undefined;

  constructor(thread: Thread, { clock, logger }: StateContext) {
    this.#thread = thread;
    this.#clock = clock;
    this.#logger = logger;
    this.#watchers = new LocalWatch(logger);
    if (thread.warning !== undefined) logger.warn({}, thread.warning);
    thread.listen({ onReply: (reply) => this.#onReply(reply), onLost: (error) => this.#onLost(error) });
  }

  get failure(): StateError | undefined {
    return this.#failure;
  }

  async get(key: string): Promise<Entry | undefined> {
    this.#checkOpen();
    checkKey(key);
    writeGet(this.#reads.writer(), key);
    return this.#ask(readEntry);
  }

  async getAll(keys: readonly string[]): Promise<readonly (Entry | undefined)[]> {
    this.#checkOpen();
    for (const key of keys) checkKey(key);
    // The reads of a moment go to the thread together, and nothing is written while it answers them.
    return Promise.all(
      keys.map((key) => {
        writeGet(this.#reads.writer(), key);
        return this.#ask(readEntry);
      }),
    );
  }

  async scan(scan: Scan): Promise<readonly KeyedEntry[]> {
    this.#checkOpen();
    checkScan(scan);
    if (scan.limit === 0) return [];
    writeScan(this.#reads.writer(), scan);
    return this.#ask(readEntries);
  }

  async count(range: KeyRange, limit: number): Promise<number> {
    this.#checkOpen();
    checkCount(range, limit);
    writeCount(this.#reads.writer(), range, limit);
    return this.#ask(readNumber);
  }

  #ask<T extends object | number | undefined>(read: (reader: BinaryReader) => T | Failure): Promise<T> {
    this.#scheduleFlush();
    return new Promise((resolve, reject) => {
      const settle = (reader: BinaryReader): void => {
        const answer = read(reader);
        if (isFailure(answer)) reject(errorOf(answer));
        else resolve(answer);
      };
      this.#reads.pending.push({ settle, reject });
    });
  }

  async commit(batch: Batch): Promise<number> {
    this.#checkOpen();
    checkBatch(batch);
    writeBatch(this.#commits.writer(), batch);
    this.#scheduleFlush();
    return new Promise((resolve, reject) => {
      const settle = (reader: BinaryReader): void => {
        const outcome = readOutcome(reader);
        if ('failure' in outcome) return reject(errorOf(outcome.failure));
        if ('conflict' in outcome) return reject(new ConflictError(batch.require?.[outcome.conflict]?.key ?? ''));
        if (this.#watchers.active) this.#watchers.notify(changedKeys(batch), batch.by);
        resolve(outcome.version);
      };
      this.#commits.pending.push({ settle, reject });
    });
  }

  watch(prefix: string, onChange: OnChange): Disposable {
    this.#checkOpen();
    return this.#watchers.add(prefix, onChange);
  }

  #checkOpen(): void {
    if (this.#ended !== undefined) throw this.#ended;
  }

  /** At the end of the turn, so that requests from all readable sockets are sent together. */
  #scheduleFlush(): void {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    setImmediate(() => this.#flush());
  }

  /**
   * Sends pending calls. Commits are sent only when no others are in progress: all that arrive while a group is written
   * form the next one. This makes fewer, larger groups, with fewer syncs and messages.
   */
  #flush(): void {
    this.#isFlushScheduled = false;
    const reads = this.#reads.next();
    const commits = this.#window.isOpen(this.#commits.packed) ? undefined : this.#commits.next();
    if (commits !== undefined) {
      this.#window.onSend();
      clearTimeout(this.#windowTimer);
      this.#windowTimer = undefined;
    }
    if (reads !== undefined || commits !== undefined) {
      this.#thread.setBusy(true);
      this.#thread.send({ ...(reads && { reads }), ...(commits && { commits }) });
    }
    if (this.#reads.packed > 0) this.#scheduleFlush();
    if (this.#commits.packed > 0 && !this.#window.isWriting) this.#awaitMore();
  }

  /** Looks again with the next commit, or when the window closes: a look in every turn would keep an idle process busy. */
  #awaitMore(): void {
    this.#windowTimer ??= setTimeout(() => {
      this.#windowTimer = undefined;
      this.#flush();
    }, Math.ceil(this.#window.leftMs));
  }

  #onReply({ reads, commits, failure }: WorkerReply): void {
    if (failure !== undefined) this.#onFailure(failure);
    if (reads !== undefined) this.#reads.settle(reads);
    if (commits !== undefined) {
      this.#window.onReply(this.#commits.pending.length);
      // A large group that waits is written while the callers of this one go on; a small one waits for what they commit.
      if (this.#commits.hasPacked(LARGE_GROUP_BYTES)) this.#flush();
      else if (this.#commits.packed > 0) this.#scheduleFlush();
      this.#commits.settle(commits);
    }
    if (this.#reads.isIdle && this.#commits.isIdle) this.#onIdle();
  }

  #onIdle(): void {
    if (this.#closing === undefined) this.#thread.setBusy(false);
    else this.#settled();
  }

  #onFailure(failure: Failure | null): void {
    this.#failure = failure === null ? undefined : errorOf(failure);
    if (this.#failure === undefined) this.#logger.warn({}, 'the state store works again');
    else this.#logger.error(failureFields(this.#failure), 'the state store does not work');
    this.#scheduleProbe();
  }

  #scheduleProbe(): void {
    this.#probe?.cancel();
    this.#probe = undefined;
    if (this.#ended !== undefined || this.#failure === undefined || !canRecover(this.#failure.kind)) return;
    this.#probe = this.#clock.setTimeout(() => {
      this.#thread.send({ control: 'probe' });
      this.#scheduleProbe();
    }, PROBE_INTERVAL_MS);
  }

  #onLost(error: StateError): void {
    this.#failure = error;
    this.#logger.error(failureFields(error), 'the state store does not work');
    this.#ended ??= error;
    this.#reads.fail(error);
    this.#commits.fail(error);
    this.#probe?.cancel();
    this.#settled();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#ended ??= closedError();
    this.#probe?.cancel();
    if (!this.#reads.isIdle || !this.#commits.isIdle) {
      await new Promise<void>((resolve) => {
        this.#settled = resolve;
      });
    }
    await this.#thread.close();
    this.#watchers.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function isFailure(answer: object | number | undefined): answer is Failure {
  return typeof answer === 'object' && 'kind' in answer;
}

import { closedError, failureFields, type StateError } from '../../state/errors.ts';
import type { Logger } from '../../util/logger.ts';
import { clearTimeout, setImmediate, setTimeout } from '../../util/timers.ts';
import type { BinaryReader, BinaryWriter } from './binary-codec.ts';
import { CommitWindow } from './commit-window.ts';
import { PendingCalls } from './pending-calls.ts';
import { errorOf, type ThreadFailure, type ThreadNotice, type WorkerReply } from './protocol.ts';
import type { Thread } from './thread.ts';

/** From this size on, the rest of a write takes longer than its sync: what would save a sync is not worth waiting for. */
const LARGE_GROUP_BYTES = 32 * 1024;

/** The dependencies of {@link ThreadCalls}. */
export interface ThreadCallsDeps {
  readonly thread: Thread;
  readonly logger: Logger;
  /** The fields of log lines that name the store. */
  readonly logFields: object;
  /** The store has failed, or works again. */
  readonly onFailureChange?: () => void;
  /** Receives each reply: what it tells of the processes that have joined. */
  readonly onNotice?: (notice: ThreadNotice) => void;
  /** Called before the thread is closed. */
  readonly beforeClose?: () => Promise<void>;
}

/**
 * The calls of a store that its thread answers. They are packed as they come and sent once per turn of the event loop,
 * changes as a group. No call is cloned, and this thread never waits for a sync.
 */
export class ThreadCalls {
  readonly #deps: ThreadCallsDeps;
  readonly #reads = new PendingCalls();
  readonly #changes = new PendingCalls();
  readonly #window = new CommitWindow();
  /** Ends the wait for more changes. */
  #windowTimer: NodeJS.Timeout | undefined;
  #isFlushScheduled = false;
  #failure: StateError | undefined;
  /** Why calls are no longer accepted. */
  #ended: StateError | undefined;
  #closing: Promise<void> | undefined;
  /** Tells the close that no call is pending any more. */
  #settled: () => void = () => undefined;

  constructor(deps: ThreadCallsDeps) {
    this.#deps = deps;
    deps.thread.listen({ onReply: (reply) => this.#onReply(reply), onLost: (error) => this.#onLost(error) });
  }

  /** The present failure of the store; `undefined` while it works. */
  get failure(): StateError | undefined {
    return this.#failure;
  }

  /** Whether calls are no longer accepted. */
  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** @throws StateError when calls are no longer accepted. */
  checkOpen(): void {
    if (this.#ended !== undefined) throw this.#ended;
  }

  /** Makes a read. `unpack` reads its answer, or throws if that is a failure. */
  read<T>(pack: (writer: BinaryWriter) => void, unpack: (reader: BinaryReader) => T): Promise<T> {
    return this.#ask(this.#reads, pack, unpack);
  }

  /** Makes a change. `unpack` reads its answer, or throws if that is a failure. */
  change<T>(pack: (writer: BinaryWriter) => void, unpack: (reader: BinaryReader) => T): Promise<T> {
    return this.#ask(this.#changes, pack, unpack);
  }

  #ask<T>(calls: PendingCalls, pack: (writer: BinaryWriter) => void, unpack: (reader: BinaryReader) => T): Promise<T> {
    pack(calls.writer());
    this.#scheduleFlush();
    return new Promise((resolve, reject) => {
      const settle = (reader: BinaryReader): void => {
        try {
          resolve(unpack(reader));
        } catch (error) {
          reject(error);
        }
      };
      calls.pending.push({ settle, reject });
    });
  }

  /** At the end of the turn, so that requests from all readable sockets are sent together. */
  #scheduleFlush(): void {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    setImmediate(() => this.#flush());
  }

  /**
   * Sends pending calls. Changes are sent only when no others are in progress: all that arrive while a group is written
   * form the next one. This makes fewer, larger groups, with fewer syncs and messages.
   */
  #flush(): void {
    this.#isFlushScheduled = false;
    const { thread } = this.#deps;
    const reads = this.#reads.next();
    const commits = this.#window.isOpen(this.#changes.packed) ? undefined : this.#changes.next();
    if (commits !== undefined) {
      this.#window.onSend();
      clearTimeout(this.#windowTimer);
      this.#windowTimer = undefined;
    }
    if (reads !== undefined || commits !== undefined) {
      thread.setBusy(true);
      thread.send({ ...(reads && { reads }), ...(commits && { commits }) });
    }
    if (this.#reads.packed > 0) this.#scheduleFlush();
    if (this.#changes.packed > 0 && !this.#window.isWriting) this.#awaitMore();
  }

  /** Flushes with the next change, or when the window closes: a check in every turn would keep an idle process busy. */
  #awaitMore(): void {
    this.#windowTimer ??= setTimeout(() => {
      this.#windowTimer = undefined;
      this.#flush();
    }, Math.ceil(this.#window.leftMs));
  }

  #onReply(reply: WorkerReply): void {
    const { reads, commits, failure } = reply;
    this.#deps.onNotice?.(reply);
    if (failure !== undefined) this.#onFailure(failure);
    if (reads !== undefined) this.#reads.settle(reads);
    if (commits !== undefined) {
      this.#window.onReply(this.#changes.pending.length);
      // A large group that waits is written while the callers of this one go on; a small one waits for their next calls.
      if (this.#changes.hasPacked(LARGE_GROUP_BYTES)) this.#flush();
      else if (this.#changes.packed > 0) this.#scheduleFlush();
      this.#changes.settle(commits);
    }
    if (!this.#isIdle) return;
    if (this.#closing === undefined) this.#deps.thread.setBusy(false);
    else this.#settled();
  }

  get #isIdle(): boolean {
    return this.#reads.isIdle && this.#changes.isIdle;
  }

  #onFailure(failure: ThreadFailure | null): void {
    const { logger, logFields, onFailureChange } = this.#deps;
    this.#failure = failure === null ? undefined : errorOf(failure);
    if (this.#failure === undefined) logger.warn(logFields, 'the state store works again');
    else logger.error({ ...logFields, ...failureFields(this.#failure) }, 'the state store does not work');
    onFailureChange?.();
  }

  #onLost(error: StateError): void {
    const { logger, logFields, onFailureChange } = this.#deps;
    this.#failure = error;
    logger.error({ ...logFields, ...failureFields(error) }, 'the state store does not work');
    this.#ended ??= error;
    this.#reads.fail(error);
    this.#changes.fail(error);
    onFailureChange?.();
    this.#settled();
  }

  /** Accepts no more calls; resolves when those in progress are answered and the thread has ended. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#ended ??= closedError();
    if (!this.#isIdle)
      await new Promise<void>((resolve) => {
        this.#settled = resolve;
      });
    await this.#deps.beforeClose?.();
    await this.#deps.thread.close();
  }
}

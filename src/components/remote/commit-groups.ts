import { setTimeout as delay } from 'node:timers/promises';
import { ConflictError, isStateError, StateError } from '../../state/errors.ts';
import type { Batch, Precondition } from '../../state/store.ts';
import { Deque } from '../../util/deque.ts';
import { ConnectionLostError, RetryableError } from './connection.ts';
import type { RemoteLink } from './remote-link.ts';
import { Sessions, type WrittenGroup } from './sessions.ts';

/** A group ends with the batch that reaches one of these. */
const MAX_GROUP_BYTES = 16 * 1024 * 1024;
const MAX_GROUP_BATCHES = 2_000;
/** The delay before retrying a group that conflicted with another process. */
const RETRY_DELAY_MS = 2;

/** An unanswered commit. */
interface WaitingCommit {
  readonly batch: Batch;
  readonly since: number;
  readonly resolve: (version: number) => void;
  readonly reject: (error: StateError) => void;
}

/** The dependencies of {@link CommitGroups}. */
export interface CommitGroupsDeps {
  readonly link: RemoteLink;
  /** A number from 0 to 1. */
  readonly random: () => number;
  /** After this time, an unsuccessful commit rejects. */
  readonly commitTimeoutMs: number;
  /** The message to other processes that goes with a group, if one does. */
  readonly messageOf: (batches: readonly Batch[]) => string | undefined;
  /** Called with the written batches of a group, and whether its message went with it. */
  readonly onWritten: (batches: readonly Batch[], isTold: boolean) => void;
  /** Called after each group with its failure, if it has failed. */
  readonly onOutcome: (failure: StateError | undefined) => void;
}

/**
 * Sends commits to the server in groups, one group at a time: commits during a group wait for the next one. Each group
 * gets exactly one answer, even if the connection is lost meanwhile: the session then shows whether it was written.
 */
export class CommitGroups {
  readonly #deps: CommitGroupsDeps;
  readonly #sessions: Sessions;
  readonly #queue = new Deque<WaitingCommit>();
  readonly #stopped = new AbortController();
  #isFlushScheduled = false;
  #isSending = false;
  #idle: (() => void)[] = [];

  constructor(deps: CommitGroupsDeps) {
    this.#deps = deps;
    this.#sessions = new Sessions(deps.link, deps.random);
  }

  add(batch: Batch): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ batch, since: performance.now(), resolve, reject });
      this.#scheduleFlush();
    });
  }

  /** Flushes at the end of the event loop tick, so that commits from all readable sockets share a group. */
  #scheduleFlush(): void {
    if (this.#isFlushScheduled || this.#isSending) return;
    this.#isFlushScheduled = true;
    setImmediate(() => {
      this.#isFlushScheduled = false;
      if (!this.#isSending) void this.#sendAll();
    });
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true;
    while (this.#queue.length > 0) {
      if (await this.#awaitConnection()) await this.#send(this.#nextGroup());
      if (this.#queue.length > 0) await nextTurn();
    }
    this.#isSending = false;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /**
   * Waits for a connection before commits become a group, since a group has one answer and the time of its oldest one:
   * until then, each commit has its own time. Returns whether there is a connection; else it has rejected commits.
   */
  async #awaitConnection(): Promise<boolean> {
    try {
      await this.#deps.link.open(this.#restMs(this.#queue.peek()?.since ?? 0));
      return true;
    } catch (error) {
      // Any other error than this one says that waiting is useless.
      this.#fail(error instanceof ConnectionLostError ? this.#takeOverdue() : this.#nextGroup(), error);
      return false;
    }
  }

  /** How long a commit may still take. */
  #restMs(since: number): number {
    return Math.max(0, since + this.#deps.commitTimeoutMs - performance.now());
  }

  /** Takes the commits whose time is over: the oldest one at least, since it is what was waited for. */
  #takeOverdue(): readonly WaitingCommit[] {
    const overdue: WaitingCommit[] = [];
    for (;;) {
      const next = this.#queue.peek();
      if (next === undefined || (overdue.length > 0 && this.#restMs(next.since) > 0)) return overdue;
      this.#queue.shift();
      overdue.push(next);
    }
  }

  /** Takes commits in the order of their calls. */
  #nextGroup(): readonly WaitingCommit[] {
    const group: WaitingCommit[] = [];
    const keys = new GroupKeys();
    for (;;) {
      const next = this.#queue.peek();
      if (next === undefined || keys.isFull || keys.dependsOn(next.batch)) return group;
      this.#queue.shift();
      group.push(next);
      keys.add(next.batch);
    }
  }

  async #send(group: readonly WaitingCommit[]): Promise<void> {
    try {
      const written = await this.#written(group);
      this.#deps.onOutcome(undefined);
      this.#answer(group, written);
    } catch (error) {
      this.#fail(group, error);
    }
  }

  #fail(group: readonly WaitingCommit[], error: unknown): void {
    const failure = isStateError(error) ? error : failedError(error);
    this.#deps.onOutcome(failure);
    for (const { reject } of group) reject(failure);
  }

  #answer(group: readonly WaitingCommit[], { firstVersion, refusals, isTold }: WrittenGroup): void {
    const refused = new Map(refusals.map(({ batch, precondition }) => [batch, precondition]));
    const written = group.filter((_waiting, index) => !refused.has(index)).map(({ batch }) => batch);
    if (written.length > 0) this.#deps.onWritten(written, isTold);
    group.forEach(({ batch, resolve, reject }, index) => {
      const precondition = refused.get(index);
      if (precondition === undefined) resolve(firstVersion + index);
      else reject(new ConflictError(batch.require?.[precondition]?.key ?? ''));
    });
  }

  /** Retries until the outcome of the group is known, or the time limit of its oldest commit is exceeded. */
  async #written(group: readonly WaitingCommit[]): Promise<WrittenGroup> {
    const batches = group.map(({ batch }) => batch);
    const since = group[0]?.since ?? 0;
    for (;;) {
      try {
        return await this.#sessions.commit(batches, {
          waitMs: this.#restMs(since),
          message: this.#deps.messageOf(batches),
        });
      } catch (error) {
        const isOver = performance.now() - since > this.#deps.commitTimeoutMs || this.#stopped.signal.aborted;
        if (isOver || !(error instanceof ConnectionLostError || error instanceof RetryableError)) throw error;
        await pause(RETRY_DELAY_MS, this.#stopped.signal);
      }
    }
  }

  /** Resolves when every commit has been answered. */
  idle(): Promise<void> {
    if (this.#queue.length === 0 && !this.#isSending) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Stops retries. */
  stop(): void {
    this.#stopped.abort();
  }

  /** Closes the session on the server. */
  end(): Promise<void> {
    return this.#sessions.end();
  }
}

/**
 * Resolves when what the answers have set off has been asked for: it joins the commits that wait already. Otherwise
 * small and large groups alternate. The callers gather their commits until the end of a turn as well.
 */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

/** The keys of a group. Each batch is checked against the state before the group. */
class GroupKeys {
  readonly #written = new Set<string>();
  readonly #required = new Map<string, Precondition['version']>();
  #batches = 0;
  #bytes = 0;

  get isFull(): boolean {
    return this.#bytes >= MAX_GROUP_BYTES || this.#batches >= MAX_GROUP_BATCHES;
  }

  /** Whether a batch must wait for the next group because it depends on an earlier batch of this one. */
  dependsOn({ require = [], put = [], delete: deleted = [] }: Batch): boolean {
    if (this.#batches === 0) return false;
    const changes = (key: string): boolean => this.#written.has(key) || this.#required.get(key) === 'absent';
    const contradicts = ({ key, version }: Precondition): boolean =>
      this.#written.has(key) || (this.#required.get(key) ?? version) !== version;
    return require.some(contradicts) || put.some(({ key }) => changes(key)) || deleted.some(changes);
  }

  add({ require = [], put = [], delete: deleted = [] }: Batch): void {
    this.#batches++;
    for (const { key, value } of put) {
      this.#written.add(key);
      this.#bytes += value.byteLength;
    }
    for (const key of deleted) this.#written.add(key);
    for (const { key, version } of require) this.#required.set(key, version);
  }
}

function failedError(cause: unknown): StateError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StateError('failed', `The commit failed, and may have been written: ${reason}.`, cause);
}

/** Resolves after some time, or as soon as the signal fires. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
}

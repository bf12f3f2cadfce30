import { isStateError, StateError } from '../../state/errors.ts';
import type { Batch } from '../../state/store.ts';
import {
  type ClosedSession,
  type CommitGroup,
  ConnectionLostError,
  type Refusal,
  type RemoteConnection,
  SessionClosedError,
} from './connection.ts';
import { PendingGroup } from './pending-group.ts';
import type { RemoteLink } from './remote-link.ts';

/** Max commits per session. The session's number forms the higher digits of each version. */
const COMMITS_PER_SESSION = 2 ** 21;
/** The first commit of a session has a random number below this one. */
const FIRST_COMMITS = 2 ** 20;

/** The server's answer to a group. */
export interface WrittenGroup {
  readonly firstVersion: number;
  readonly refusals: readonly Refusal[];
  /** Whether the message went with it. */
  readonly isTold: boolean;
}

/** How a group is written. */
export interface GroupWriteOptions {
  /** How long to wait for a connection. */
  readonly waitMs: number;
  /** The message to other processes in the same round trip. */
  readonly message?: string | undefined;
}

interface WriteSession {
  readonly id: number;
  groups: number;
  commits: number;
}

/**
 * Numbers the commits of this process, and finds out the outcome of a group whose answer was lost.
 *
 * A session is a row on the server that counts its written groups. Versions are `session * 2^21 + commit`: the server
 * issues each session number once, so versions are unique without a call per commit.
 */
export class Sessions {
  readonly #link: RemoteLink;
  readonly #random: () => number;
  #session: WriteSession | undefined;
  /** A group whose answer was lost with its connection. */
  #unanswered: CommitGroup | undefined;

  /** @param random - a number from 0 to 1 */
  constructor(link: RemoteLink, random: () => number) {
    this.#link = link;
    this.#random = random;
  }

  /**
   * Writes a group. After an error that allows a retry, call it again with the same `batches`: the group is not written
   * twice.
   */
  async commit(batches: readonly Batch[], { waitMs, message }: GroupWriteOptions): Promise<WrittenGroup> {
    const earlier = await this.#resolveUnanswered(batches, waitMs);
    if (earlier !== undefined) return earlier;
    const session = await this.#sessionFor(batches.length, waitMs);
    const number = session.groups + 1;
    const firstVersion = session.id * COMMITS_PER_SESSION + session.commits;
    const group = { session: session.id, number, firstVersion, batches, message };
    // Before its outcome is known: one that fails may be written all the same, and the next one must not be taken for it.
    session.groups = number;
    session.commits += batches.length;
    try {
      const refusals = await this.#write(group, waitMs);
      return { firstVersion, refusals, isTold: message !== undefined };
    } catch (error) {
      if (error instanceof ConnectionLostError) this.#unanswered = group;
      this.#session = error instanceof ConnectionLostError || error instanceof SessionClosedError ? undefined : session;
      throw error;
    }
  }

  /** Resolves with the refused batches once the others are written. */
  async #write(group: CommitGroup, waitMs: number): Promise<readonly Refusal[]> {
    const until = performance.now() + waitMs;
    const pending = new PendingGroup(group);
    while (pending.isLeft) {
      const restMs = Math.max(0, until - performance.now());
      // Each round with a time limit of its own, and perhaps another connection: the ones before wrote nothing.
      const failed = await this.#link.call(restMs, (connection) => connection.commit(pending));
      if (failed.length === 0) break;
      pending.refuse(failed);
    }
    return pending.refusals;
  }

  /** Resolves the outcome of the unanswered group, if there is one, by closing its session. */
  async #resolveUnanswered(batches: readonly Batch[], waitMs: number): Promise<WrittenGroup | undefined> {
    const unanswered = this.#unanswered;
    if (unanswered === undefined) return undefined;
    const { session, number, firstVersion } = unanswered;
    const close = (connection: RemoteConnection): Promise<ClosedSession> =>
      connection.closeSession(session, unanswered);
    const { group, refusals } = await this.#link.call(waitMs, close).catch((error: unknown) => {
      // Any other kind than this one says that nothing was written.
      if (!isStateError(error) || error.kind === 'failed' || unanswered.batches !== batches) throw error;
      throw new StateError('failed', `The commit may have been written: ${error.message}`, error);
    });
    this.#unanswered = undefined;
    return group === number && unanswered.batches === batches ? { firstVersion, refusals, isTold: false } : undefined;
  }

  async #sessionFor(commits: number, waitMs: number): Promise<WriteSession> {
    if (this.#session !== undefined && this.#session.commits + commits <= COMMITS_PER_SESSION) return this.#session;
    await this.#close(waitMs);
    const id = await this.#link.call(waitMs, (connection) => connection.openSession());
    // A server that took over may give out a number again, if it lost sessions that were opened in the same second.
    this.#session = { id, groups: 0, commits: Math.floor(this.#random() * FIRST_COMMITS) };
    return this.#session;
  }

  async #close(waitMs: number): Promise<void> {
    const session = this.#session;
    if (session === undefined) return;
    await this.#link.call(waitMs, (connection) => connection.closeSession(session.id, undefined));
    this.#session = undefined;
  }

  /** Closes the session if there is a connection. */
  async end(): Promise<void> {
    await this.#close(0).catch(() => undefined);
  }
}

import { isStateError, type StateErrorKind } from '../../state/errors.ts';
import type { Entry, KeyedEntry, KeyRange, Scan } from '../../state/store.ts';
import type { Logger } from '../../util/logger.ts';
import {
  type ClosedSession,
  type CommitGroup,
  type ConnectionListener,
  ConnectionLostError,
  type RemoteConnection,
  type RemoteServer,
  RetryableError,
} from './connection.ts';
import type { FoundDurability } from './durability.ts';
import type { PendingGroup } from './pending-group.ts';

/** One call of the server of a store, after it has ended. @public */
export interface StateCall {
  /**
   * The kind of the call. `commit` writes all commits of one moment, `get` reads all entries of one moment, `notify`
   * tells other processes of changes (where they are rare, the `commit` does), `session` begins or ends the numbering
   * of commits, `connect` makes a connection.
   */
  readonly kind: 'connect' | 'session' | 'commit' | 'get' | 'scan' | 'count' | 'notify';
  /** How long it took. */
  readonly durationMs: number;
  /** The commits of a `commit`. */
  readonly batches?: number;
  /**
   * The commits of them that were refused because a precondition did not hold. Such a call writes nothing; another one follows
   * for the rest, if there is any.
   */
  readonly conflicts?: number;
  /** The entries that a `commit` puts or deletes, or that a `get` or `scan` returned. */
  readonly entries?: number;
  /** The total size of their values, in bytes. */
  readonly bytes?: number;
  /**
   * Why it failed, absent if it succeeded: `lost` with its connection, `retry` if the store repeats it because of a race
   * with another process, else the kind of the `StateError`.
   */
  readonly error?: 'lost' | 'retry' | StateErrorKind;
}

/** Receives each call. */
export type OnCall = (call: StateCall) => void;

type Sizes = Pick<StateCall, 'batches' | 'conflicts' | 'entries' | 'bytes'>;

/** Tells every call of a server. */
export class ObservedServer implements RemoteServer {
  readonly #server: RemoteServer;
  readonly #observe: Observe;

  constructor(server: RemoteServer, onCall: OnCall, logger: Logger) {
    this.#server = server;
    this.#observe = observer(onCall, logger);
  }

  get name(): string {
    return this.#server.name;
  }

  get place(): string {
    return this.#server.place;
  }

  get listensOn(): RemoteServer['listensOn'] {
    return this.#server.listensOn;
  }

  connect(listener: ConnectionListener, listens: boolean, signal: AbortSignal): Promise<RemoteConnection> {
    return this.#observe('connect', async () => {
      const connection = await this.#server.connect(listener, listens, signal);
      return new ObservedConnection(connection, this.#observe);
    });
  }
}

class ObservedConnection implements RemoteConnection {
  readonly #connection: RemoteConnection;
  readonly #observe: Observe;

  constructor(connection: RemoteConnection, observe: Observe) {
    this.#connection = connection;
    this.#observe = observe;
  }

  get serverId(): string {
    return this.#connection.serverId;
  }

  get durability(): FoundDurability {
    return this.#connection.durability;
  }

  get(keys: readonly string[]): Promise<readonly (Entry | undefined)[]> {
    return this.#observe('get', () => this.#connection.get(keys), sizesOf);
  }

  scan(scan: Scan): Promise<readonly KeyedEntry[]> {
    return this.#observe('scan', () => this.#connection.scan(scan), sizesOf);
  }

  count(range: KeyRange, limit: number): Promise<number> {
    return this.#observe('count', () => this.#connection.count(range, limit));
  }

  openSession(): Promise<number> {
    return this.#observe('session', () => this.#connection.openSession());
  }

  closeSession(session: number, unanswered: CommitGroup | undefined): Promise<ClosedSession> {
    return this.#observe('session', () => this.#connection.closeSession(session, unanswered));
  }

  commit(pending: PendingGroup): Promise<readonly string[]> {
    return this.#observe(
      'commit',
      () => this.#connection.commit(pending),
      (failed) => commitSizes(pending, failed),
    );
  }

  notify(messages: readonly string[]): Promise<void> {
    return this.#observe('notify', () => this.#connection.notify(messages));
  }

  destroy(): void {
    this.#connection.destroy();
  }
}

/** Does a call and reports it; `sizes` gets the result, or `undefined` if the call failed. */
type Observe = <T>(
  kind: StateCall['kind'],
  work: () => Promise<T>,
  sizes?: (result: T | undefined) => Sizes,
) => Promise<T>;

function observer(onCall: OnCall, logger: Logger): Observe {
  let hasFailed = false;
  const tell = (call: StateCall): void => {
    try {
      onCall(call);
    } catch (error) {
      if (!hasFailed) logger.error({ error }, 'onCall of the state store throws; this is logged once');
      hasFailed = true;
    }
  };
  return async (kind, work, sizes) => {
    const since = performance.now();
    try {
      const result = await work();
      tell({ kind, durationMs: performance.now() - since, ...sizes?.(result) });
      return result;
    } catch (error) {
      tell({ kind, durationMs: performance.now() - since, ...sizes?.(undefined), error: errorKindOf(error) });
      throw error;
    }
  };
}

function errorKindOf(error: unknown): NonNullable<StateCall['error']> {
  if (error instanceof ConnectionLostError) return 'lost';
  if (error instanceof RetryableError) return 'retry';
  return isStateError(error) ? error.kind : 'failed';
}

function sizesOf(found: readonly (Entry | undefined)[] | undefined): Sizes {
  if (found === undefined) return {};
  let [entries, bytes] = [0, 0];
  for (const entry of found) {
    if (entry === undefined) continue;
    entries++;
    bytes += entry.value.byteLength;
  }
  return { entries, bytes };
}

/** A call that names keys writes nothing, and decides about the commits that these refuse; the next one has the rest. */
function commitSizes(pending: PendingGroup, failed: readonly string[] | undefined): Sizes {
  if (failed !== undefined && failed.length > 0) {
    const conflicts = pending.refusedBy(failed).length;
    return { batches: conflicts, conflicts, entries: 0, bytes: 0 };
  }
  let [batches, entries, bytes] = [0, 0, 0];
  pending.eachLeft(({ put = [], delete: deleted = [] }) => {
    batches++;
    entries += put.length + deleted.length;
    for (const { value } of put) bytes += value.byteLength;
  });
  return { batches, ...(failed && { conflicts: 0 }), entries, bytes };
}

import { localHostsOf } from '../../cluster/local-hosts.ts';
import { changedKeys } from '../../state/changed-keys.ts';
import { checkBatch, checkCount, checkKey, checkScan } from '../../state/checks.ts';
import { closedError, failureFields, isStateError, StateError } from '../../state/errors.ts';
import { LocalWatch, type OnChange } from '../../state/local-watch.ts';
import type {
  Batch,
  Entry,
  KeyedEntry,
  KeyRange,
  Scan,
  StateContext,
  StateDurability,
  StateStore,
} from '../../state/store.ts';
import { OutageLog } from '../outage-log.ts';
import { CommitGroups } from './commit-groups.ts';
import { ConnectionLostError, type RemoteConnection, type RemoteServer } from './connection.ts';
import { type FoundDurability, logDurability } from './durability.ts';
import { Hints } from './hints.ts';
import { ObservedServer, type OnCall } from './observed-server.ts';
import { RemoteReads } from './reads.ts';
import { RemoteLink } from './remote-link.ts';
import type { RemoteTimeouts } from './store-options.ts';

/** Max time that a start waits for a server that does not respond. */
const OPEN_WAIT_MS = 3_000;
/** Max time that a close waits for calls of a server that is said to work. */
const CLOSE_WAIT_MS = 5_000;

/** The options of a store on a server, whatever the engine. */
export interface RemoteOptions extends RemoteTimeouts {
  /** A number from 0 to 1. */
  readonly random: () => number;
  readonly onCall: OnCall | undefined;
}

/**
 * Opens the store of a server. If the server does not respond within three seconds, the store opens without working
 * yet: it continues to connect, and reports that in `failure`.
 */
export async function openRemoteStore(
  server: RemoteServer,
  context: StateContext,
  { onCall, ...options }: RemoteOptions,
): Promise<RemoteStore> {
  const called = onCall === undefined ? server : new ObservedServer(server, onCall, context.logger);
  const store = new RemoteStore(called, context, options);
  await store.connect();
  localHostsOf(store).storeName = placeOf(server);
  return store;
}

/** Identifies the store of a server, for messages too. */
export function placeOf({ name, place }: RemoteServer): string {
  return `${name}, ${place}`;
}

/** A connection that cannot be made, or calls that the server does not carry out. */
type FailingPart = RemoteLink | 'reads' | 'commits';

/** A state store on a server that other processes may share. */
export class RemoteStore implements StateStore {
  readonly #server: RemoteServer;
  readonly #context: StateContext;
  readonly #watch: LocalWatch;
  readonly #hints: Hints;
  readonly #reads: RemoteReads;
  readonly #commits: CommitGroups;
  readonly #links: readonly RemoteLink[];
  /** The one of them over which messages come and go. */
  readonly #listening: RemoteLink;
  /** The parts that do not work, and why. */
  readonly #failures = new Map<FailingPart, StateError>();
  /** That of the connection for commits. */
  #durability: FoundDurability | undefined;
  #ended: StateError | undefined;
  #closing: Promise<void> | undefined;

  constructor(server: RemoteServer, context: StateContext, options: Omit<RemoteOptions, 'onCall'>) {
    this.#server = server;
    this.#context = context;
    this.#watch = new LocalWatch(context.logger);
    const { operationTimeoutMs, random } = options;
    const outages = new OutageLog(context.logger, server.name);
    const reading = this.#link(server.listensOn === 'reads', options, outages);
    const writing = this.#link(server.listensOn === 'commits', options, outages);
    this.#links = [reading, writing];
    this.#listening = server.listensOn === 'reads' ? reading : writing;
    this.#hints = new Hints({ link: this.#listening, watch: this.#watch });
    this.#reads = new RemoteReads({
      link: reading,
      timeoutMs: operationTimeoutMs,
      onOutcome: (failure) => this.#outcome('reads', failure),
    });
    this.#commits = new CommitGroups({
      link: writing,
      random,
      commitTimeoutMs: operationTimeoutMs,
      messageOf: (batches) => this.#hints.messageWith(batches),
      onWritten: (batches, isTold) => this.#written(batches, isTold),
      onOutcome: (failure) => this.#outcome('commits', failure),
    });
  }

  #link(listens: boolean, { callTimeoutMs, random }: Omit<RemoteOptions, 'onCall'>, outages: OutageLog): RemoteLink {
    const link: RemoteLink = new RemoteLink({
      server: this.#server,
      ...{ listens, callTimeoutMs, outages, random },
      onMessage: (message) => this.#hints.received(message),
      onConnected: (connection) => this.#connected(link, connection),
      onFailure: (error) => this.#outcome(link, this.#unreachable(error)),
    });
    return link;
  }

  /** Waits for the connections up to a limit. */
  async connect(): Promise<void> {
    try {
      await Promise.all(this.#links.map((link) => link.open(OPEN_WAIT_MS)));
    } catch (error) {
      if (error instanceof ConnectionLostError) return this.#noteSilence(error);
      this.#ended = isStateError(error) ? error : new StateError('failed', String(error), error);
      for (const link of this.#links) link.close();
      throw this.#ended;
    }
  }

  /** An attempt to connect takes longer than a start waits. */
  #noteSilence(error: ConnectionLostError): void {
    for (const link of this.#links)
      if (!link.isConnected && !this.#failures.has(link)) this.#outcome(link, this.#unreachable(error));
  }

  get failure(): StateError | undefined {
    for (const failure of this.#failures.values()) return failure;
    return undefined;
  }

  /** `own` while no messages arrive: some proxies never pass on those of other processes. */
  get hints(): 'all' | 'own' {
    return this.#hints.areReceived ? 'all' : 'own';
  }

  get durability(): StateDurability {
    return this.#durability?.durability ?? 'unknown';
  }

  #connected(link: RemoteLink, { serverId, durability }: RemoteConnection): void {
    const isReading = link === this.#links[0];
    if (!isReading) this.#hints.mayBeLost();
    if (link === this.#listening) this.#hints.reconnected();
    if (!isReading && durability.reason !== this.#durability?.reason) {
      // Again after a failover to a server with other settings.
      this.#durability = durability;
      logDurability(this.#context.logger, this.#server.name, durability);
    }
    for (const other of this.#links) other.follow(serverId);
    this.#outcome(link, undefined);
  }

  #unreachable(error: Error): StateError {
    if (isStateError(error)) return error;
    return new StateError('failed', error.message, error);
  }

  /** Something has failed, or works. Outages of the connections have their own lines in the log. */
  #outcome(part: FailingPart, failure: StateError | undefined): void {
    if (this.#ended !== undefined) return;
    if (typeof part === 'string') return this.#callOutcome(part, failure);
    if (failure === undefined) this.#failures.delete(part);
    else this.#failures.set(part, failure);
  }

  /** Logs the first failure of calls, and when all work again. */
  #callOutcome(part: 'reads' | 'commits', failure: StateError | undefined): void {
    const { logger } = this.#context;
    const isFailing = (): boolean => this.#failures.has('reads') || this.#failures.has('commits');
    if (failure !== undefined) {
      // Calls fail while there is no connection, and work as soon as there is.
      if (this.#failures.size > 0) return;
      this.#failures.set(part, failure);
      logger.error(failureFields(failure), 'the state store does not work');
    } else if (this.#failures.delete(part) && !isFailing())
      logger.warn({ server: this.#server.name }, 'the state store works again');
  }

  async get(key: string): Promise<Entry | undefined> {
    this.#checkOpen();
    checkKey(key);
    return this.#reads.get(key);
  }

  async getAll(keys: readonly string[]): Promise<readonly (Entry | undefined)[]> {
    this.#checkOpen();
    for (const key of keys) checkKey(key);
    return keys.length === 0 ? [] : this.#reads.getAll(keys);
  }

  async scan(scan: Scan): Promise<readonly KeyedEntry[]> {
    this.#checkOpen();
    checkScan(scan);
    return scan.limit === 0 ? [] : this.#reads.scan(scan);
  }

  async count(range: KeyRange, limit: number): Promise<number> {
    this.#checkOpen();
    checkCount(range, limit);
    return limit === 0 ? 0 : this.#reads.count(range, limit);
  }

  async commit(batch: Batch): Promise<number> {
    this.#checkOpen();
    checkBatch(batch);
    return this.#commits.add(copyOf(batch));
  }

  watch(prefix: string, onChange: OnChange): Disposable {
    this.#checkOpen();
    return this.#watch.add(prefix, onChange);
  }

  #written(batches: readonly Batch[], isTold: boolean): void {
    if (!isTold) this.#hints.written(batches);
    if (!this.#watch.active) return;
    for (const batch of batches) this.#watch.notify(changedKeys(batch), batch.by);
  }

  #checkOpen(): void {
    if (this.#ended !== undefined) throw this.#ended;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#ended ??= closedError();
    this.#watch.clear();
    // Callers have given up on these calls.
    const stop = setTimeout(() => this.#breakOff(), this.failure === undefined ? CLOSE_WAIT_MS : 0);
    await Promise.all([this.#commits.idle(), this.#reads.idle()]);
    clearTimeout(stop);
    await this.#hints.stop();
    await this.#commits.end();
    for (const link of this.#links) link.close();
  }

  #breakOff(): void {
    this.#commits.stop();
    for (const link of this.#links) link.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Copies the values, since the caller may reuse its bytes at once. */
function copyOf(batch: Batch): Batch {
  if (batch.put === undefined) return batch;
  return { ...batch, put: batch.put.map(({ key, value }) => ({ key, value: new Uint8Array(value) })) };
}

import { isStateError, quote, StateError } from '../../../state/errors.ts';
import { textAfter } from '../../../state/keys.ts';
import type { ComponentContext } from '../../component.ts';
import type {
  KeyedValue,
  KeyValueOperation,
  KeyValueStore,
  StoredValue,
  WriteOptions,
  WriteOutcome,
} from '../../key-value.ts';
import { OutageLog } from '../../outage-log.ts';
import { CallGroups } from '../../remote/call-groups.ts';
import { ConnectionLostError, RetryableError } from '../../remote/connection.ts';
import { RemoteLink } from '../../remote/remote-link.ts';
import { isText, textArray } from '../binary.ts';
import type { PgRow } from '../driver.ts';
import { Cleanup } from './cleanup.ts';
import type { FormatVersion } from './formats.ts';
import type { KvConnection } from './kv-connection.ts';
import type { KvServer } from './kv-server.ts';
import { PgOutbox } from './pg-outbox.ts';
import {
  arePuts,
  argumentsOf,
  keysOf,
  outcomesOf,
  putArgumentsOf,
  putRowsOf,
  sizeOf,
  valueError,
  type WriteCall,
} from './write-arguments.ts';

/** Bounds of what one statement does. */
const MAX_KEYS = 1_000;
/** How often a statement is repeated that has changed nothing, because of a deadlock or a race for a new key. */
const MAX_ATTEMPTS = 10;
/** The code of a statement that has waited too long for a lock. */
const LOCK_NOT_AVAILABLE = '55P03';
/** Beyond all keys. */
const NO_END = '\u{10ffff}'.repeat(8);

/** Settings of a {@link PgKeyValue}. */
export interface PgKeyValueSettings {
  readonly name: string;
  readonly version: FormatVersion;
  readonly server: KvServer;
  readonly callTimeoutMs: number;
  /** The connections that write. There is one more, that reads. */
  readonly writers: number;
  /** The key in the metadata table under which the time of the last cleanup is. */
  readonly cleanupKey: string;
  /** 0: never. */
  readonly cleanupIntervalMs: number;
}

/** Values in PostgreSQL in the form of Dapr's `state.postgresql`. */
export class PgKeyValue implements KeyValueStore {
  readonly outbox: PgOutbox;
  readonly #settings: PgKeyValueSettings;
  readonly #outages: OutageLog;
  readonly #reader: RemoteLink<KvConnection>;
  /** The free connections for writes, the last used one last: they connect when they are used. */
  readonly #writers: RemoteLink<KvConnection>[];
  readonly #links: readonly RemoteLink<KvConnection>[];
  readonly #failures = new Map<RemoteLink<KvConnection>, Error>();
  readonly #reads: CallGroups<readonly string[], readonly (StoredValue | undefined)[]>;
  readonly #writes: CallGroups<WriteCall, readonly WriteOutcome[]>;
  readonly #cleanup: Cleanup;
  #closing: Promise<void> | undefined;

  constructor(settings: PgKeyValueSettings, context: ComponentContext) {
    this.#settings = settings;
    this.#outages = new OutageLog(context.logger, settings.server.name);
    this.#reader = this.#newLink();
    this.#writers = Array.from({ length: settings.writers }, () => this.#newLink());
    this.#links = [this.#reader, ...this.#writers];
    this.#reads = new CallGroups({
      send: (calls) => this.#readAll(calls),
      sizeOf: (keys) => keys.length,
      maxSize: MAX_KEYS,
      maxUnderWay: Number.POSITIVE_INFINITY,
    });
    this.#writes = new CallGroups({
      send: (calls) => this.#writeAll(calls),
      sizeOf,
      keysOf,
      maxSize: MAX_KEYS,
      maxUnderWay: settings.writers,
    });
    this.outbox = new PgOutbox(`${context.appId}||${settings.name}`, (work) => this.#read(work));
    this.#cleanup = new Cleanup({ ...settings, logger: context.logger, run: (work) => this.#read(work) });
  }

  #newLink(): RemoteLink<KvConnection> {
    const { server, callTimeoutMs } = this.#settings;
    const link: RemoteLink<KvConnection> = new RemoteLink({
      server,
      listens: false,
      callTimeoutMs,
      outages: this.#outages,
      random: Math.random,
      onMessage: () => undefined,
      onConnected: () => this.#failures.delete(link),
      onFailure: (error) => {
        this.#failures.set(link, error);
        this.#reportFailure();
      },
    });
    return link;
  }

  /** Waits for the first attempt to connect. */
  async begin(): Promise<void> {
    const failed = new Promise<void>((_resolve, reject) => {
      this.#reportFailure = () => reject(this.failure);
    });
    await Promise.race([this.#reader.open(this.#settings.callTimeoutMs), failed]);
  }

  #reportFailure: () => void = () => undefined;

  get failure(): Error | undefined {
    for (const failure of this.#failures.values()) return failure;
    return undefined;
  }

  async read(keys: readonly string[]): Promise<readonly (StoredValue | undefined)[]> {
    this.#checkOpen();
    return keys.length === 0 ? [] : this.#reads.add(keys);
  }

  async #readAll(calls: readonly (readonly string[])[]): Promise<readonly (readonly (StoredValue | undefined)[])[]> {
    const keys = [...new Set(calls.flat())].filter(isText);
    const rows = await this.#read((connection) => connection.run('read', [textArray(keys)]));
    const found = new Map(rows.map((row) => [row[0], this.#valueOf(row)]));
    return calls.map((own) => own.map((key) => found.get(key)));
  }

  /** Makes a call that can be repeated. */
  async #read<T>(work: (connection: KvConnection) => Promise<T>): Promise<T> {
    const { callTimeoutMs } = this.#settings;
    const until = performance.now() + callTimeoutMs;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#reader.call(Math.max(0, until - performance.now()), work);
      } catch (error) {
        const isPassing = error instanceof ConnectionLostError || error instanceof RetryableError;
        if (!isPassing) throw error;
        if (attempt === MAX_ATTEMPTS || performance.now() >= until) throw this.#failed((error as Error).message, error);
      }
    }
  }

  #failed(reason: string, cause: unknown): StateError {
    const { name } = this.#settings.server;
    return new StateError('failed', reason.startsWith(name) ? reason : `${name}: ${reason}`, cause);
  }

  #valueOf([, value, etag, expiresAt, isBinary]: PgRow): StoredValue {
    const bytes = isBinary === true ? base64Of(String(value)) : typeof value === 'string' ? Buffer.from(value) : value;
    const stored = { bytes: bytes as Uint8Array, etag: String(etag) };
    const at = expiresAt === null ? Number.POSITIVE_INFINITY : Number(expiresAt);
    return Number.isFinite(at) ? { ...stored, expiresAt: Math.round(at) } : stored;
  }

  async list(
    prefix: string,
    page: { readonly after?: string; readonly limit: number },
  ): Promise<readonly KeyedValue[]> {
    this.#checkOpen();
    const end = prefix === '' ? NO_END : textAfter(prefix);
    const { after = '', limit } = page;
    const values = [prefix, after, end, String(limit)];
    const rows = await this.#read((connection) => connection.run('list', values));
    return rows.map((row) => ({ key: String(row[0]), ...this.#valueOf(row) }));
  }

  async write(operations: readonly KeyValueOperation[], options: WriteOptions): Promise<readonly WriteOutcome[]> {
    this.#checkOpen();
    const { atomic, events = [] } = options;
    if (operations.length === 0 && events.length === 0) return [];
    checkKeys(operations, this.#settings.server.name);
    if (atomic || operations.length <= MAX_KEYS) return this.#writes.add({ operations, atomic, events });
    const parts: Promise<readonly WriteOutcome[]>[] = [];
    for (let at = 0; at < operations.length; at += MAX_KEYS)
      parts.push(this.#writes.add({ operations: operations.slice(at, at + MAX_KEYS), atomic, events }));
    return (await Promise.all(parts)).flat();
  }

  /** The groups under way are as many as the writers at most. */
  async #writeAll(calls: readonly WriteCall[]): Promise<readonly (readonly WriteOutcome[] | Error)[]> {
    const link = this.#writers.pop() ?? this.#reader;
    try {
      return await this.#writeWith(link, calls);
    } finally {
      this.#writers.push(link);
    }
  }

  async #writeWith(
    link: RemoteLink<KvConnection>,
    calls: readonly WriteCall[],
  ): Promise<readonly (readonly WriteOutcome[] | Error)[]> {
    await this.#reachable(link);
    try {
      // Not before a write is queued: later ones would overtake it.
      if (calls.some(({ events }) => events.length > 0)) await this.outbox.ensure();
      const rows = calls.length === 1 ? await this.#repeat(link, calls, true) : await this.#attempt(link, calls);
      return outcomesOf(calls, rows);
    } catch (error) {
      if (calls.length === 1 || error instanceof ConnectionLostError) throw this.#refused(calls, error as Error);
      // Nothing was written. One of them may be the cause, such as a value that is not JSON: it must not fail the others.
      const answers: (readonly WriteOutcome[] | Error)[] = [];
      for (const one of calls) {
        const rows = await this.#repeat(link, [one], false).catch((own: Error) => this.#refused([one], own));
        answers.push(...(rows instanceof Error ? [rows] : outcomesOf([one], rows)));
      }
      return answers;
    }
  }

  /** Waits for a connection. Without one nothing is sent, so nothing can have been written. */
  async #reachable(link: RemoteLink<KvConnection>): Promise<void> {
    if (link.isConnected) return;
    try {
      await link.open(this.#settings.callTimeoutMs);
    } catch (error) {
      throw isStateError(error) ? error : this.#failed((error as Error).message, error);
    }
  }

  /**
   * Repeats what has certainly changed nothing.
   *
   * @param isPatient - whether to go on waiting for rows that another transaction holds
   */
  async #repeat(
    link: RemoteLink<KvConnection>,
    calls: readonly WriteCall[],
    isPatient: boolean,
  ): Promise<readonly PgRow[]> {
    const until = performance.now() + this.#settings.callTimeoutMs;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(link, calls);
      } catch (error) {
        if (!(error instanceof RetryableError)) throw error;
        const isHeld = (error.cause as { readonly code?: unknown }).code === LOCK_NOT_AVAILABLE;
        const isOver = isHeld ? !isPatient || performance.now() >= until : attempt === MAX_ATTEMPTS;
        if (isOver) throw this.#failed(error.message, error);
      }
    }
  }

  async #attempt(link: RemoteLink<KvConnection>, calls: readonly WriteCall[]): Promise<readonly PgRow[]> {
    const { version, callTimeoutMs } = this.#settings;
    if (arePuts(calls)) {
      const values = putArgumentsOf(calls, version);
      return putRowsOf(calls, await link.call(callTimeoutMs, (connection) => connection.run('put', values)));
    }
    const hasEvents = calls.some(({ events }) => events.length > 0);
    const values = argumentsOf(calls, version);
    if (hasEvents) values.push(...this.outbox.argumentsOf(calls));
    const statement = hasEvents ? 'writeWithEvents' : 'write';
    return link.call(callTimeoutMs, (connection) => connection.run(statement, values));
  }

  #refused([call]: readonly WriteCall[], error: Error): Error {
    return isStateError(error) && call !== undefined
      ? valueError(call, error, this.#settings)
      : this.#unconfirmed(error);
  }

  /** Never repeated: the change may have been made. */
  #unconfirmed(error: Error): StateError {
    if (isStateError(error)) return error;
    const { name } = this.#settings.server;
    const reason = error.message.startsWith(name) ? error.message : `${name}: ${error.message}`;
    return new StateError('failed', `${reason}; the change is not confirmed, and may have been made.`, error);
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw new StateError('closed', 'The state store is closed.');
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#cleanup.close();
    await Promise.all([this.#reads.idle(), this.#writes.idle()]);
    for (const link of this.#links) link.close();
  }
}

function checkKeys(operations: readonly KeyValueOperation[], server: string): void {
  const wrong = operations.find(({ kind, key }) => kind === 'put' && !isText(key));
  if (wrong !== undefined)
    throw new StateError('invalid', `The key ${quote(wrong.key)} contains U+0000, which ${server} cannot hold.`);
}

/** The bytes of a JSON text in base64. */
function base64Of(json: string): Buffer {
  return Buffer.from(JSON.parse(json) as string, 'base64');
}

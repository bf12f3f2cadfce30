import { closedError, failureFields, type StateError } from '../../state/errors.ts';
import { textAfter } from '../../state/keys.ts';
import { clearInterval, setImmediate, setInterval } from '../../util/timers.ts';
import type { ComponentContext } from '../component.ts';
import type { BinaryReader, BinaryWriter } from '../embedded/binary-codec.ts';
import { PendingCalls } from '../embedded/pending-calls.ts';
import { errorOf, type Failure, type FileSettings, type WorkerReply } from '../embedded/protocol.ts';
import { Thread } from '../embedded/thread.ts';
import type {
  KeyedValue,
  KeyValueOperation,
  KeyValueOutbox,
  KeyValueStore,
  StoredValue,
  WriteOptions,
  WriteOutcome,
} from '../key-value.ts';
import {
  packClaim,
  packList,
  packRead,
  packRemove,
  packWrite,
  unpackEntries,
  unpackEvents,
  unpackFailure,
  unpackOutcomes,
  unpackValues,
} from './protocol.ts';

/** Greater than every text. */
const NO_END = new Uint8Array([0xff]);

/** Settings of a {@link SqliteKeyValue}. */
export interface SqliteKeyValueSettings extends FileSettings {
  readonly name: string;
  /** Absolute. */
  readonly path: string;
}

/** Opens the store of a database file. */
export async function openSqliteKeyValue(
  settings: SqliteKeyValueSettings,
  context: ComponentContext,
): Promise<SqliteKeyValue> {
  const closed = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const { name, path, ...values } = settings;
  const thread = await Thread.open({ path, closed, values });
  return new SqliteKeyValue(thread, settings, context);
}

/**
 * Values in a database file in the form of Dapr's `state.sqlite`. Calls are packed as they come and sent to the thread
 * once per turn of the event loop, changes as a group: one transaction, and one sync.
 */
export class SqliteKeyValue implements KeyValueStore {
  readonly outbox: KeyValueOutbox;
  readonly #thread: Thread;
  readonly #context: ComponentContext;
  readonly #path: string;
  /** Whose events they are. */
  readonly #owner: string;
  readonly #reads = new PendingCalls();
  readonly #writes = new PendingCalls();
  readonly #cleanup: NodeJS.Timeout | undefined;
  #isFlushScheduled = false;
  #isWriting = false;
  #failure: StateError | undefined;
  /** Why calls are no longer accepted. */
  #ended: StateError | undefined;
  #closing: Promise<void> | undefined;
  /** Tells the close that no call is pending any more. */
  #settled: () => void = () => undefined;

  constructor(thread: Thread, settings: SqliteKeyValueSettings, context: ComponentContext) {
    this.#thread = thread;
    this.#context = context;
    this.#path = settings.path;
    this.#owner = `${context.appId}||${settings.name}`;
    if (thread.warning !== undefined) context.logger.info({ store: settings.name }, thread.warning);
    thread.listen({ onReply: (reply) => this.#onReply(reply), onLost: (error) => this.#onLost(error) });
    const clean = (): void => thread.send({ control: 'clean' });
    if (settings.cleanupIntervalMs > 0) this.#cleanup = setInterval(clean, settings.cleanupIntervalMs).unref();
    this.outbox = {
      claim: (limit, leaseMs) => this.#change((writer) => packClaim(writer, this.#owner, limit, leaseMs), unpackEvents),
      remove: async (ids) => {
        await this.#change((writer) => packRemove(writer, this.#owner, ids), unpackOutcomes);
      },
    };
  }

  get failure(): StateError | undefined {
    return this.#failure;
  }

  async read(keys: readonly string[]): Promise<readonly (StoredValue | undefined)[]> {
    this.#checkOpen();
    if (keys.length === 0) return [];
    packRead(this.#reads.writer(), keys);
    return this.#ask(this.#reads, unpackValues);
  }

  async list(
    prefix: string,
    page: { readonly after?: string; readonly limit: number },
  ): Promise<readonly KeyedValue[]> {
    this.#checkOpen();
    const end = prefix === '' ? NO_END : Buffer.from(textAfter(prefix));
    packList(this.#reads.writer(), [prefix, page.after ?? '', end], page.limit);
    return this.#ask(this.#reads, unpackEntries);
  }

  async write(operations: readonly KeyValueOperation[], options: WriteOptions): Promise<readonly WriteOutcome[]> {
    const { atomic, events = [] } = options;
    const extras = { atomic, events, store: this.#owner };
    return this.#change((writer) => packWrite(writer, operations, extras), unpackOutcomes);
  }

  async #change<T>(pack: (writer: BinaryWriter) => void, unpack: (reader: BinaryReader) => T): Promise<T> {
    this.#checkOpen();
    pack(this.#writes.writer());
    return this.#ask(this.#writes, unpack);
  }

  #ask<T>(calls: PendingCalls, unpack: (reader: BinaryReader) => T): Promise<T> {
    this.#scheduleFlush();
    return new Promise((resolve, reject) => {
      const settle = (reader: BinaryReader): void => {
        const failure = unpackFailure(reader);
        if (failure === undefined) resolve(unpack(reader));
        else reject(failure);
      };
      calls.pending.push({ settle, reject });
    });
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

  /** Changes that arrive while a group is written form the next one. */
  #flush(): void {
    this.#isFlushScheduled = false;
    const reads = this.#reads.next();
    const commits = this.#isWriting ? undefined : this.#writes.next();
    if (reads === undefined && commits === undefined) return;
    if (commits !== undefined) this.#isWriting = true;
    this.#thread.setBusy(true);
    this.#thread.send({ ...(reads && { reads }), ...(commits && { commits }) });
    if (this.#reads.packed > 0) this.#scheduleFlush();
  }

  #onReply({ reads, commits, failure }: WorkerReply): void {
    if (failure !== undefined) this.#onFailure(failure);
    if (reads !== undefined) this.#reads.settle(reads);
    if (commits !== undefined) {
      this.#isWriting = false;
      this.#writes.settle(commits);
      if (this.#writes.packed > 0) this.#scheduleFlush();
    }
    if (!this.#reads.isIdle || !this.#writes.isIdle) return;
    if (this.#closing === undefined) this.#thread.setBusy(false);
    else this.#settled();
  }

  #onFailure(failure: Failure | null): void {
    this.#failure = failure === null ? undefined : errorOf(failure);
    const { logger } = this.#context;
    if (this.#failure === undefined) logger.warn({ file: this.#path }, 'the state store works again');
    else logger.error({ file: this.#path, ...failureFields(this.#failure) }, 'the state store does not work');
  }

  #onLost(error: StateError): void {
    this.#failure = error;
    this.#ended ??= error;
    this.#context.logger.error({ file: this.#path, ...failureFields(error) }, 'the state store does not work');
    this.#reads.fail(error);
    this.#writes.fail(error);
    this.#settled();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#ended ??= closedError();
    clearInterval(this.#cleanup);
    if (!this.#reads.isIdle || !this.#writes.isIdle)
      await new Promise<void>((resolve) => {
        this.#settled = resolve;
      });
    await this.#thread.close();
  }
}

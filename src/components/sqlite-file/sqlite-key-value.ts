import type { StateError } from '../../state/errors.ts';
import { textAfter } from '../../state/keys.ts';
import { clearInterval, setInterval } from '../../util/timers.ts';
import type { ComponentContext } from '../component.ts';
import type { BinaryReader, BinaryWriter } from '../embedded/binary-codec.ts';
import type { FileSettings } from '../embedded/protocol.ts';
import { Thread } from '../embedded/thread.ts';
import { ThreadCalls } from '../embedded/thread-calls.ts';
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
  packList,
  packRead,
  packReadEvents,
  packRemove,
  packWrite,
  unpackEntries,
  unpackEvents,
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

/** Values in a database file in the form of Dapr's `state.sqlite`. The changes of a group are one transaction. */
export class SqliteKeyValue implements KeyValueStore {
  readonly outbox: KeyValueOutbox;
  readonly #calls: ThreadCalls;
  /** The owner of the events. */
  readonly #owner: string;
  readonly #cleanup: NodeJS.Timeout | undefined;

  constructor(thread: Thread, settings: SqliteKeyValueSettings, { appId, logger }: ComponentContext) {
    const { name, path, cleanupIntervalMs } = settings;
    this.#owner = `${appId}||${name}`;
    if (thread.warning !== undefined) logger.info({ store: name }, thread.warning);
    this.#calls = new ThreadCalls({ thread, logger, logFields: { file: path } });
    const clean = (): void => thread.send({ control: 'clean' });
    if (cleanupIntervalMs > 0) this.#cleanup = setInterval(clean, cleanupIntervalMs).unref();
    this.outbox = {
      read: (cursor) => this.#change((writer) => packReadEvents(writer, this.#owner, cursor), unpackEvents),
      remove: async (ids) => {
        await this.#change((writer) => packRemove(writer, this.#owner, ids), unpackOutcomes);
      },
    };
  }

  get failure(): StateError | undefined {
    return this.#calls.failure;
  }

  async read(keys: readonly string[]): Promise<readonly (StoredValue | undefined)[]> {
    this.#calls.checkOpen();
    if (keys.length === 0) return [];
    return this.#calls.read((writer) => packRead(writer, keys), unpackValues);
  }

  async list(
    prefix: string,
    page: { readonly after?: string; readonly limit: number },
  ): Promise<readonly KeyedValue[]> {
    this.#calls.checkOpen();
    const end = prefix === '' ? NO_END : Buffer.from(textAfter(prefix));
    const range = [prefix, page.after ?? '', end] as const;
    return this.#calls.read((writer) => packList(writer, range, page.limit), unpackEntries);
  }

  async write(operations: readonly KeyValueOperation[], options: WriteOptions): Promise<readonly WriteOutcome[]> {
    const { atomic, events = [] } = options;
    const extras = { atomic, events, store: this.#owner };
    return this.#change((writer) => packWrite(writer, operations, extras), unpackOutcomes);
  }

  async #change<T>(pack: (writer: BinaryWriter) => void, unpack: (reader: BinaryReader) => T): Promise<T> {
    this.#calls.checkOpen();
    return this.#calls.change(pack, unpack);
  }

  close(): Promise<void> {
    clearInterval(this.#cleanup);
    return this.#calls.close();
  }
}

import type { KeyValueOutbox, OutboxPage } from '../../key-value.ts';
import { byteaArray, int4Array, textArray } from '../binary.ts';
import type { KvConnection } from './kv-connection.ts';
import { partsOf, type WriteCall } from './write-arguments.ts';

/** Makes a call that can be repeated. */
type Run = <T>(work: (connection: KvConnection) => Promise<T>) => Promise<T>;

/** The events of an application's store, in a table beside the state table, which is created with the first use. */
export class PgOutbox implements KeyValueOutbox {
  /** Whose events they are. */
  readonly #store: string;
  readonly #run: Run;
  #ensured: Promise<void> | undefined;

  constructor(store: string, run: Run) {
    this.#store = store;
    this.#run = run;
  }

  /** Creates the table if it is missing. */
  ensure(): Promise<void> {
    this.#ensured ??= this.#create().catch((error: unknown) => {
      this.#ensured = undefined;
      throw error;
    });
    return this.#ensured;
  }

  async #create(): Promise<void> {
    await this.#run((connection) => connection.run('createOutbox', []));
  }

  /** The additional arguments of a statement that leaves events. */
  argumentsOf(calls: readonly WriteCall[]): readonly unknown[] {
    const [parts, ids, bytes]: [number[], string[], Uint8Array[]] = [[], [], []];
    const first = partsOf(calls);
    for (const [index, { events }] of calls.entries())
      for (const event of events) {
        parts.push(first[index] ?? 0);
        ids.push(event.id);
        bytes.push(event.bytes);
      }
    return [this.#store, int4Array(parts), textArray(ids), byteaArray(bytes)];
  }

  async read(cursor = '0'): Promise<OutboxPage> {
    await this.ensure();
    const rows = await this.#run((connection) => connection.run('readEvents', [this.#store, cursor]));
    const events = rows.map(([id, bytes]) => ({ id: String(id), bytes: bytes as Uint8Array }));
    const last = rows.at(-1);
    return last === undefined ? { events } : { events, cursor: String(last[2]) };
  }

  async remove(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.ensure();
    await this.#run((connection) => connection.run('removeEvents', [this.#store, textArray(ids)]));
  }
}

import type { PageSize } from '../../state/page.ts';
import { Deque } from '../../util/deque.ts';

/** How far a queue reads ahead. */
export const READ_AHEAD: PageSize = { limit: 512, maxBytes: 4 * 1024 * 1024 };

/** Loaded messages that wait to be handed out, and their size. */
export class ReadyList<Entry extends { readonly key: string; readonly message: { readonly data: Uint8Array } }> {
  readonly #entries = new Deque<Entry>();
  /** The bytes of their data. */
  #bytes = 0;

  get isShort(): boolean {
    return this.#entries.length < READ_AHEAD.limit / 2 && this.#bytes < READ_AHEAD.maxBytes / 2;
  }

  get isFull(): boolean {
    return this.#entries.length >= READ_AHEAD.limit || this.#bytes >= READ_AHEAD.maxBytes;
  }

  push(entry: Entry): void {
    this.#entries.push(entry);
    this.#bytes += entry.message.data.length;
  }

  unshift(entry: Entry): void {
    this.#entries.unshift(entry);
    this.#bytes += entry.message.data.length;
  }

  shift(): Entry | undefined {
    const entry = this.#entries.shift();
    if (entry !== undefined) this.#bytes -= entry.message.data.length;
    return entry;
  }

  remove(keys: ReadonlySet<string>): void {
    for (const { message } of this.#entries.extract(({ key }) => keys.has(key))) this.#bytes -= message.data.length;
  }

  clear(): void {
    while (this.#entries.shift() !== undefined);
    this.#bytes = 0;
  }
}

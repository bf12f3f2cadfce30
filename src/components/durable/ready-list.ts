import { Deque } from '../../util/deque.ts';

/** How far a queue reads ahead: that many messages, or that many bytes of them. */
export const READ_AHEAD: { readonly messages: number; readonly bytes: number } = {
  messages: 512,
  bytes: 4 * 1024 * 1024,
};

/** Whether a scan of so much has ended before its range did. */
export function isCutOff(entries: readonly { readonly value: Uint8Array }[]): boolean {
  if (entries.length >= READ_AHEAD.messages) return true;
  return entries.reduce((sum, { value }) => sum + value.length, 0) >= READ_AHEAD.bytes;
}

/** Messages that are loaded and wait to be handed out, and how much they take. */
export class ReadyList<Entry extends { readonly message: { readonly data: Uint8Array } }> {
  readonly #entries = new Deque<Entry>();
  /** Of the data of those. */
  #bytes = 0;

  get isShort(): boolean {
    return this.#entries.length < READ_AHEAD.messages / 2 && this.#bytes < READ_AHEAD.bytes / 2;
  }

  get isFull(): boolean {
    return this.#entries.length >= READ_AHEAD.messages || this.#bytes >= READ_AHEAD.bytes;
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

  clear(): void {
    while (this.#entries.shift() !== undefined);
    this.#bytes = 0;
  }
}

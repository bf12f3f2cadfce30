import { randomUUID } from 'node:crypto';
import type { LocalWatch } from '../../state/local-watch.ts';
import type { Batch } from '../../state/store.ts';
import type { Link } from './link.ts';

/** For so long the keys of commits are gathered into one message. */
const GATHER_MS = 5;
/** PostgreSQL's limit of a message is 8,000 bytes. */
const MAX_MESSAGE_BYTES = 7_500;
/** Beyond it hints are left out: whoever waits for changes also looks from time to time. */
const MAX_GATHERED = 5_000;

/** A message that takes longer to come back to its sender counts as lost. */
const MAX_ECHO_MS = 5_000;

/** What hints depend on. */
export interface HintsDeps {
  readonly link: Link;
  readonly watch: LocalWatch;
}

/** Tells the watchers of other processes which keys have changed. A hint may be lost. */
export class Hints {
  readonly #deps: HintsDeps;
  /** Names this store in its messages, so that it leaves its own out. */
  readonly #id = randomUUID();
  #keys: string[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** When a message was sent, until one has come back. Before the first one it is not known whether any will. */
  #sentAt: number | undefined = Number.NEGATIVE_INFINITY;

  constructor(deps: HintsDeps) {
    this.#deps = deps;
  }

  /** Whether messages arrive: this process receives its own as well. */
  get areReceived(): boolean {
    return this.#sentAt === undefined || performance.now() - this.#sentAt < MAX_ECHO_MS;
  }

  /** Messages may have been missed. */
  reconnected(): void {
    this.#sentAt = Number.NEGATIVE_INFINITY;
    this.#deps.watch.notifyMissed();
  }

  /** These batches were written by this process. */
  written(batches: readonly Batch[]): void {
    for (const { put = [], delete: deleted = [] } of batches) {
      if (this.#keys.length > MAX_GATHERED) break;
      for (const { key } of put) this.#keys.push(key);
      for (const key of deleted) this.#keys.push(key);
    }
    if (this.#keys.length > 0) this.#timer ??= setTimeout(() => this.#send(), GATHER_MS).unref();
  }

  #send(): void {
    this.#timer = undefined;
    const keys = [...new Set(this.#keys)];
    this.#keys = [];
    this.#sentAt ??= performance.now();
    const messages = messagesOf(this.#id, keys);
    this.#deps.link.call(0, (connection) => connection.notify(messages)).catch(() => undefined);
  }

  /** A message of any process has come, perhaps of this one. */
  received(message: string): void {
    const { watch } = this.#deps;
    const at = message.indexOf(' ');
    const isOwn = message.slice(0, at) === this.#id;
    if (isOwn) this.#sentAt = undefined;
    if (isOwn || !watch.active) return;
    try {
      const keys: unknown = JSON.parse(message.slice(at + 1));
      if (Array.isArray(keys)) watch.notify(keys.filter((key) => typeof key === 'string'));
    } catch {
      // Somebody else sends on the same channel.
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

function messagesOf(id: string, keys: readonly string[]): readonly string[] {
  const messages: string[] = [];
  let texts: string[] = [];
  let bytes = 0;
  for (const key of keys) {
    const text = JSON.stringify(key);
    const size = Buffer.byteLength(text) + 1;
    if (bytes + size > MAX_MESSAGE_BYTES) {
      messages.push(`${id} [${texts.join()}]`);
      texts = [];
      bytes = 0;
    }
    texts.push(text);
    bytes += size;
  }
  if (texts.length > 0) messages.push(`${id} [${texts.join()}]`);
  return messages;
}

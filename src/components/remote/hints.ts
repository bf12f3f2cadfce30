import { randomUUID } from 'node:crypto';
import { changedKeys } from '../../state/changed-keys.ts';
import type { LocalWatch } from '../../state/local-watch.ts';
import type { Batch } from '../../state/store.ts';
import type { RemoteConnection } from './connection.ts';

/** How long keys of commits are collected into one message. */
const GATHER_MS = 5;
/** After such a pause, the keys of a group go with it: an idle host then makes one call per commit, not two. */
const PAUSE_MS = 100;
/** When keys that could not be sent are sent again, unless the connection is there before. */
const RETRY_MS = 1_000;
/** Larger groups have their keys sent apart. */
const MAX_ATTACHED = 10;
/** PostgreSQL's limit of a message is 8,000 bytes. */
const MAX_MESSAGE_BYTES = 7_500;
/** Max collected keys; hints beyond it are dropped, since watchers also poll. */
const MAX_GATHERED = 5_000;

/** A message that takes longer to come back to its sender counts as lost. */
const MAX_ECHO_MS = 5_000;

/** The way to the other processes. */
export interface HintLink {
  call<T>(waitMs: number, work: (connection: Pick<RemoteConnection, 'notify'>) => Promise<T>): Promise<T>;
}

/** The dependencies of {@link Hints}. */
export interface HintsDeps {
  readonly link: HintLink;
  readonly watch: LocalWatch;
}

/** Notifies the watchers of other processes of changed keys. A hint may be lost. */
export class Hints {
  readonly #deps: HintsDeps;
  /** Identifies this store in its messages, so that it ignores its own. */
  readonly #id = randomUUID();
  #keys: string[] = [];
  /** The keys of the hint that went with the last such group. */
  #attached: readonly string[] = [];
  #lastAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  /** One message at a time: a reader of a queue takes what it hears of first, and later keys may not overtake. */
  #isSending = false;
  #isStopped = false;
  /** The time of a sent message until one comes back. Minus infinity before the first: delivery is unproven. */
  #sentAt: number | undefined = Number.NEGATIVE_INFINITY;

  constructor(deps: HintsDeps) {
    this.#deps = deps;
  }

  /** Whether messages arrive: this process receives its own as well. */
  get areReceived(): boolean {
    return this.#sentAt === undefined || performance.now() - this.#sentAt < MAX_ECHO_MS;
  }

  /** Messages may have been missed, and others wait for the keys that could not be sent. */
  reconnected(): void {
    this.#sentAt = Number.NEGATIVE_INFINITY;
    this.#deps.watch.notifyMissed();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sendAfter(GATHER_MS);
  }

  /** The connection for commits was lost, perhaps with the message that went with one. */
  mayBeLost(): void {
    this.#keys.push(...this.#attached);
    this.#attached = [];
    this.#sendAfter(GATHER_MS);
  }

  /** The message that goes with a group of commits; `undefined` while messages are frequent, or for a large group. */
  messageWith(batches: readonly Batch[]): string | undefined {
    if (this.#isSending || this.#keys.length > 0 || performance.now() - this.#lastAt < PAUSE_MS) return undefined;
    if (batches.length > MAX_ATTACHED) return undefined;
    const keys = batches.flatMap(changedKeys);
    const [message, ...more] = messagesOf(this.#id, keys);
    if (message === undefined || more.length > 0) return undefined;
    this.#attached = keys;
    this.#sends();
    return message;
  }

  /** This process wrote these batches. */
  written(batches: readonly Batch[]): void {
    for (const batch of batches) {
      if (this.#keys.length > MAX_GATHERED) break;
      for (const key of changedKeys(batch)) this.#keys.push(key);
    }
    this.#sendAfter(GATHER_MS);
  }

  #sends(): void {
    this.#lastAt = performance.now();
    this.#sentAt ??= this.#lastAt;
  }

  #sendAfter(delayMs: number): void {
    if (this.#keys.length === 0 || this.#isSending || this.#isStopped) return;
    this.#timer ??= setTimeout(() => void this.#send(), delayMs).unref();
  }

  async #send(): Promise<void> {
    this.#timer = undefined;
    const keys = [...new Set(this.#keys)];
    this.#keys = [];
    this.#sends();
    this.#isSending = true;
    const messages = messagesOf(this.#id, keys);
    const isSent = await this.#deps.link
      .call(0, (connection) => connection.notify(messages))
      .then(
        () => true,
        () => false,
      );
    this.#isSending = false;
    if (!isSent) this.#keys = [...keys, ...this.#keys].slice(0, MAX_GATHERED);
    this.#sendAfter(isSent ? GATHER_MS : RETRY_MS);
  }

  /** A message of any process arrived, perhaps of this one. */
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
      // Another program sends on the same channel.
    }
  }

  /** Sends what was gathered: the last commits of a host that leaves are those that others wait for. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    if (this.#keys.length > 0) await this.#send();
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

import { messageOf as textOfError } from '../../../errors.ts';
import type { Held, Line, LineOptions, LineReceiver } from '../../broker/line.ts';
import { ConnectionLostError } from '../../remote/connection.ts';
import { Acknowledgements } from './acknowledgements.ts';
import { messageOf, type RawEntry } from './entries.ts';
import type { GroupReader, StreamWatcher } from './group-reader.ts';
import { Neighbours, type Source } from './neighbours.ts';
import type { StreamGroup } from './stream-group.ts';

/** Pending entries that one command reads. */
const PAGE = 1_000;
/** A lease is renewed after this share of its time. */
const RENEWALS = 3;
/** A reply that is under way is here sooner. */
const OVERDUE_MS = 1_500;

/** Settings of all lines of a component. */
export interface StreamSettings {
  /** After this time, the messages of consumers that are not insidecar's are taken over. */
  readonly processingTimeoutMs: number;
  /** How often such messages are looked for. */
  readonly redeliverIntervalMs: number;
}

/** The dependencies of a {@link StreamLine}. */
export interface StreamLineDeps extends StreamSettings {
  readonly stream: StreamGroup;
  readonly reader: GroupReader;
  readonly receiver: LineReceiver<string>;
  readonly logger: LineOptions['logger'];
  /** When the server was restarted last, by `performance.now()`. */
  readonly restartedAt: () => number;
  readonly onClose: (line: StreamLine) => void;
}

/**
 * The consumption of a stream for a group. A handle is the ID of an entry. Delivered entries stay with this consumer,
 * even if its connections are lost, so a handle is valid until another process believes that this one is dead.
 */
export class StreamLine implements Line<string>, StreamWatcher {
  readonly #deps: StreamLineDeps;
  readonly #stream: StreamGroup;
  readonly #receiver: LineReceiver<string>;
  readonly #acknowledgements: Acknowledgements;
  readonly #neighbours: Neighbours;
  /** The entries here that are not acknowledged. */
  readonly #held = new Set<string>();
  /** Consumers whose entries may be taken over. */
  #sources: readonly Source[] = [];
  /** Entries that came after the end, with the number of their deliveries. */
  readonly #late = new Map<string, number>();
  #work: Promise<void> | undefined;
  /** There may be more to do since it works. */
  #isAsked = false;
  /** Replies were lost: entries that have been pending for this time may be ours, but not here. */
  #missingForMs: number | undefined;
  #renewedAt = performance.now();
  #reviewing: Promise<void> | undefined;
  #isStopped = false;
  #lastFailure: string | undefined;

  constructor(deps: StreamLineDeps) {
    this.#deps = deps;
    this.#stream = deps.stream;
    this.#receiver = deps.receiver;
    this.#acknowledgements = new Acknowledgements(deps.stream, (ids) => {
      for (const id of ids) this.#held.delete(id);
    });
    this.#neighbours = new Neighbours(deps);
  }

  get topic(): string {
    return this.#stream.topic;
  }

  get room(): number {
    return this.#receiver.room;
  }

  /** Creates the group, and takes what others have left before new entries. */
  async start(): Promise<void> {
    await this.#stream.create();
    this.#sources = (await this.#neighbours.find(0)).sources;
    this.#wake();
  }

  roomChanged(): void {
    if (this.room > 0) this.#wake();
    else if (this.#deps.reader.isWatching(this)) void this.#deps.reader.unwatch(this);
  }

  /** Works, unless it does. */
  #wake(): void {
    this.#isAsked = true;
    if (this.#work !== undefined || this.#isStopped) return;
    this.#isAsked = false;
    this.#work = this.#fill().finally(() => {
      this.#work = undefined;
      if (this.#isAsked) this.#wake();
    });
  }

  async #fill(): Promise<void> {
    try {
      while (this.room > 0 && !this.#isStopped) {
        if (this.#missingForMs !== undefined) await this.#recover(this.#missingForMs);
        else if (this.#sources.length > 0) await this.#takeOver();
        else if (this.#deps.reader.isWatching(this) || !(await this.#readNew())) return;
      }
    } catch (error) {
      this.#missingForMs = 0;
      await this.#onFailure(error);
    }
  }

  /** Returns whether there may be more. */
  async #readNew(): Promise<boolean> {
    const asked = this.room;
    const entries = await this.#stream.read(asked);
    this.#lastFailure = undefined;
    this.#deliver(entries, () => 0);
    if (entries.length === asked) return true;
    if (!this.#isStopped && this.room > 0) this.#deps.reader.watch(this);
    return false;
  }

  received(entries: readonly RawEntry[], asked: number): void {
    this.#deliver(entries, () => 0);
    if (this.#isStopped || this.room === 0) return;
    if (entries.length < asked && this.#work === undefined) this.#deps.reader.watch(this);
    else this.#wake();
  }

  readFailed(): void {
    this.#missingForMs = 0;
    this.#wake();
  }

  /** Entries that were sent to this consumer over a connection that is lost. */
  async #recover(minIdleMs: number): Promise<void> {
    this.#missingForMs = undefined;
    const { consumer } = this.#stream;
    let from = '-';
    for (;;) {
      const pending = await this.#stream.pending(consumer, minIdleMs, PAGE, from);
      const missing = pending.filter(({ id }) => !this.#held.has(id));
      const deliveries = new Map(missing.map((entry) => [entry.id, entry.deliveries]));
      const entries = await this.#stream.entries([...deliveries.keys()]);
      this.#deliver(entries, (id) => Math.max(0, (deliveries.get(id) ?? 1) - 1));
      await this.#forgetDeleted([...deliveries.keys()], entries);
      const last = pending.at(-1);
      if (last === undefined || pending.length < PAGE) break;
      from = `(${last.id}`;
    }
  }

  /** Entries of consumers that are gone, oldest first. */
  async #takeOver(): Promise<void> {
    const [source, ...others] = this.#sources;
    if (source === undefined) return;
    const pending = await this.#stream.pending(source.consumer, source.minIdleMs, Math.max(1, this.room));
    if (pending.length === 0) {
      this.#sources = others;
      return;
    }
    const deliveries = new Map(pending.map((entry) => [entry.id, entry.deliveries]));
    const entries = await this.#stream.claim(source.minIdleMs, [...deliveries.keys()]);
    this.#deliver(entries, (id) => deliveries.get(id) ?? 0);
  }

  /** A deleted entry cannot be delivered; it would stay pending for ever. */
  async #forgetDeleted(ids: readonly string[], entries: readonly RawEntry[]): Promise<void> {
    const found = new Set(entries.map(([id]) => String(id)));
    const deleted = ids.filter((id) => !found.has(id));
    if (deleted.length > 0) await this.#stream.acknowledge(deleted);
  }

  #deliver(entries: readonly RawEntry[], attemptsOf: (id: string) => number): void {
    const received = [];
    const deleted: string[] = [];
    for (const [rawId, fields] of entries) {
      const id = String(rawId);
      if (this.#held.has(id)) continue;
      const attempts = attemptsOf(id);
      if (fields === null) deleted.push(id);
      else if (this.#isStopped) this.#late.set(id, attempts);
      else {
        this.#held.add(id);
        received.push({ message: messageOf(this.topic, id, fields), attempts, handle: id, key: id });
      }
    }
    if (deleted.length > 0) this.#stream.acknowledge(deleted).catch(() => undefined);
    if (received.length > 0) this.#receiver.deliver(received);
  }

  ack(id: string): Promise<void> {
    return this.#acknowledgements.add(id);
  }

  hold({ handle, attempts }: Held<string>): Promise<void> {
    return this.#stream.record(handle, attempts);
  }

  /** Called every second: reviews the entries here and those of others. */
  tick(): void {
    if (this.#isStopped || this.#reviewing !== undefined) return;
    this.#reviewing = this.#review().finally(() => {
      this.#reviewing = undefined;
    });
  }

  async #review(): Promise<void> {
    try {
      this.#acknowledgements.sendAgain();
      const { sources, isIncomplete } = await this.#neighbours.find(this.#held.size);
      if (sources.length > 0) this.#sources = sources;
      if (isIncomplete) this.#missingForMs ??= OVERDUE_MS;
      await this.#renew();
      this.#wake();
    } catch (error) {
      await this.#onFailure(error);
    }
  }

  /** Other programs take over what is pending for the processing time. */
  async #renew(): Promise<void> {
    const now = performance.now();
    if (now - this.#renewedAt < this.#deps.processingTimeoutMs / RENEWALS) return;
    this.#renewedAt = now;
    if (this.#held.size > 0) await this.#stream.renew([...this.#held]);
  }

  /** The connection has been made again. */
  reconnected(): void {
    this.#missingForMs = 0;
    this.#acknowledgements.sendAgain();
    this.#wake();
  }

  /** The next tick, or the next connection, goes on. */
  async #onFailure(error: unknown): Promise<void> {
    if (this.#isStopped || error instanceof ConnectionLostError) return;
    const message = textOfError(error);
    const isGone = message.includes('NOGROUP') || message.includes('no such key');
    const { logger } = this.#deps;
    if (message !== this.#lastFailure) {
      const what = isGone ? 'the stream or its group was deleted, and is created again' : 'messages cannot be read';
      logger.warn({ topic: this.topic, group: this.#stream.group, error: message }, what);
    }
    this.#lastFailure = message;
    if (!isGone) return;
    try {
      await this.#stream.create();
      this.#missingForMs = undefined;
      setImmediate(() => this.#wake());
    } catch (cause) {
      logger.warn({ topic: this.topic, error: textOfError(cause) }, 'the group cannot be created');
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#deps.reader.unwatch(this);
    await Promise.all([this.#work, this.#reviewing]);
  }

  async release(entries: readonly Held<string>[]): Promise<void> {
    const byAttempts = new Map<number, string[]>();
    const all = [...entries.map(({ handle, attempts }) => [handle, attempts] as const), ...this.#late];
    for (const [id, attempts] of all) {
      this.#held.delete(id);
      const ids = byAttempts.get(attempts);
      if (ids === undefined) byAttempts.set(attempts, [id]);
      else ids.push(id);
    }
    await Promise.all([...byAttempts].map(([attempts, ids]) => this.#stream.giveBack(ids, attempts)));
  }

  async close(): Promise<void> {
    await this.#acknowledgements.close();
    this.#deps.onClose(this);
    try {
      await this.#stream.removeConsumer(this.#stream.consumer);
    } catch {
      // Others remove it once they believe that it is dead.
    }
  }
}

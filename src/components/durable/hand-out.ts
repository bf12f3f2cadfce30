import { isConflict } from '../../state/errors.ts';
import { SUSPECT_AFTER } from '../../util/crashes.ts';
import { Deque } from '../../util/deque.ts';
import { encodeQueued } from './codec.ts';
import type { HeldBack } from './held-back.ts';
import type { ReadAhead } from './read-ahead.ts';
import type { Settlement } from './settlements.ts';
import type { StoredMessage } from './stored-message.ts';

/** The dependencies of {@link HandOut}. */
export interface HandOutDeps {
  readonly ahead: ReadAhead;
  readonly heldBack: HeldBack;
  /** Writes what is to be known after a crash. */
  readonly record: (settlement: Settlement, entry: StoredMessage) => Promise<void>;
  /** How many messages the consumers could take now. */
  readonly room: () => number;
  /** How many messages are handed out and not settled. */
  readonly out: () => number;
  /** Notes work that a test waits for; call the returned function at its end. */
  readonly track: (what: string) => () => void;
  /** There may be something to hand out. */
  readonly wake: () => void;
  /** Resolves after a while; rejects when the tenure of a message has ended. */
  readonly pause: (entry: StoredMessage | undefined) => Promise<void>;
  /** What could not be written may be in the store: reads all messages again. */
  readonly readAnew: () => void;
}

/**
 * Which message of a queue is handed out next.
 *
 * Messages that may have been in flight when a process ended are recorded as handed out before they are: the first ones
 * that are read from the store, since messages are handed out in order. So a message that ends the process is known by
 * the count of such deliveries. All others cost nothing: if one of them ends the process, it is among the first ones
 * that the next process reads.
 */
export class HandOut {
  readonly #deps: HandOutDeps;
  /** Recorded, and to be handed out. */
  readonly #recorded = new Deque<StoredMessage>();
  /** Being recorded. The ones behind wait, so that the order stays. */
  #recording: readonly StoredMessage[] = [];
  #writing: Promise<void> | undefined;
  /** A suspect that is handed out. */
  #alone: StoredMessage | undefined;
  /** Whether a suspect waits until nothing else is in flight. */
  #waitsAlone = false;
  /** Delivers one message at a time: a message that waits blocks those behind it. */
  isOrdered = false;

  constructor(deps: HandOutDeps) {
    this.#deps = deps;
  }

  next(): StoredMessage | undefined {
    if (this.#alone !== undefined || this.#recording.length > 0) return undefined;
    const recorded = this.#recorded.shift();
    if (recorded !== undefined) return this.#handOut(recorded);
    const entry = this.#free();
    if (entry === undefined || !entry.isCareful) return entry;
    if (!isSuspect(entry)) this.#writing = this.#record(this.#batchOf(entry));
    else if (this.#deps.out() === 0) this.#writing = this.#record([entry]);
    else {
      this.#waitsAlone = true;
      this.#deps.ahead.unshift(entry);
    }
    return undefined;
  }

  /** The next message of which no earlier delivery goes on. */
  #free(): StoredMessage | undefined {
    const { ahead, heldBack } = this.#deps;
    let entry: StoredMessage | undefined;
    do entry = this.isOrdered && heldBack.waitsElsewhere ? undefined : ahead.shift();
    while (entry !== undefined && heldBack.keeps(entry));
    return entry;
  }

  /** As many messages as the consumers could take. */
  #batchOf(first: StoredMessage): readonly StoredMessage[] {
    const batch = [first];
    for (const room = this.#deps.room(); batch.length < room; ) {
      const entry = this.#free();
      if (entry === undefined) break;
      if (entry.isCareful && !isSuspect(entry)) batch.push(entry);
      else {
        this.#deps.ahead.unshift(entry);
        break;
      }
    }
    return batch;
  }

  /** Resolves when what is being recorded has been, and is being taken back if the tenure has ended meanwhile. */
  async recorded(): Promise<void> {
    await this.#writing;
  }

  async #record(batch: readonly StoredMessage[]): Promise<void> {
    const { ahead, wake, pause, readAnew } = this.#deps;
    this.#recording = batch;
    const failure = await this.#tryRecord(batch);
    // Another host has the group now, or will be seen not to have it.
    if (isConflict(failure)) await pause(batch[0]).catch(() => undefined);
    this.#recording = [];
    if (isConflict(failure)) return readAnew();
    const isOver = !ahead.isOn || batch.some((entry) => ahead.isOutdated(entry));
    if (isOver) this.#takeBack(batch.filter(({ isRecorded }) => isRecorded));
    else for (const entry of batch) this.#recorded.push(entry);
    wake();
  }

  /** Returns why it has failed. */
  async #tryRecord(batch: readonly StoredMessage[]): Promise<unknown> {
    const done = this.#deps.track('recording deliveries that begin');
    try {
      await this.#write(batch, (entry) => ({
        message: entry.message,
        attempts: entry.attempts + 1,
        interruptions: entry.interruptions + 1,
      }));
      for (const entry of batch) entry.isRecorded = true;
      return undefined;
    } catch (error) {
      return error;
    } finally {
      done();
    }
  }

  async #write(
    batch: readonly StoredMessage[],
    content: (entry: StoredMessage) => Parameters<typeof encodeQueued>[0],
  ): Promise<void> {
    const [first] = batch;
    const put = batch.map((entry) => ({ key: entry.key, value: encodeQueued(content(entry)) }));
    if (first !== undefined) await this.#deps.record({ put }, first);
  }

  #handOut(entry: StoredMessage): StoredMessage {
    if (isSuspect(entry)) this.#alone = entry;
    return entry;
  }

  /** Messages are not being delivered after all, and no process has ended. */
  #takeBack(batch: readonly StoredMessage[]): void {
    if (batch.length === 0) return;
    for (const entry of batch) entry.isRecorded = false;
    // Otherwise one more interruption is counted than there was.
    this.#write(batch, (entry) => entry).catch(() => undefined);
  }

  /** A message comes back unsettled. */
  returned(entry: StoredMessage): void {
    if (entry.isRecorded) this.#takeBack([entry]);
  }

  /** A delivery has ended. */
  ended(entry: StoredMessage): void {
    const wasAlone = this.#alone === entry;
    if (wasAlone) this.#alone = undefined;
    if (!wasAlone && !(this.#waitsAlone && this.#deps.out() === 0)) return;
    this.#waitsAlone = false;
    this.#deps.wake();
  }

  /** The tenure has ended. */
  clear(): void {
    this.#takeBack(this.#recorded.extract(() => true));
    this.#deps.heldBack.clear();
  }

  /** The numbers of messages that are about to be handed out, or wait for an earlier delivery to end. */
  numbers(): readonly number[] {
    const soon = [...this.#recording, ...this.#recorded.values()].map(({ number }) => number);
    return [...soon, ...this.#deps.heldBack.numbers()];
  }
}

function isSuspect({ interruptions }: StoredMessage): boolean {
  return interruptions >= SUSPECT_AFTER;
}

import { isConflictError } from '../../state/errors.ts';
import { sleep } from '../../util/clock.ts';
import { SUSPECT_AFTER } from '../../util/crashes.ts';
import { Deque } from '../../util/deque.ts';
import type { Dispatcher } from '../dispatcher.ts';
import { encodeQueued } from './codec.ts';
import type { GroupLease } from './group-lease.ts';
import type { ReadAhead } from './read-ahead.ts';
import type { RedeliveryGuard } from './redelivery-guard.ts';
import { type Settlements, STORE_RETRY_MS } from './settlements.ts';
import type { StoredMessage } from './stored-message.ts';

/** The dependencies of {@link HandOutGate}. */
export interface HandOutGateDeps {
  readonly ahead: ReadAhead;
  readonly guard: RedeliveryGuard;
  readonly settlements: Settlements;
  readonly dispatcher: Dispatcher<StoredMessage>;
  readonly lease: GroupLease;
  /** Notes work that a test waits for; call the returned function at its end. */
  readonly track: (what: string) => () => void;
}

/**
 * Decides which message of a queue is handed out next, and knows those that are handed out.
 *
 * Messages that may have been in flight when a process ended are recorded as handed out before they are: the first ones
 * that are read from the store, since messages are handed out in order. So a message that ends the process is known by
 * the count of such deliveries. All others cost nothing: if one of them ends the process, it is among the first ones
 * that the next process reads.
 */
export class HandOutGate {
  readonly #deps: HandOutGateDeps;
  /** Messages handed out and not settled. */
  readonly #inFlight = new Set<StoredMessage>();
  /** Recorded, and to be handed out. */
  readonly #recorded = new Deque<StoredMessage>();
  /** Being recorded. Messages behind these wait, so that the order stays. */
  #recording: readonly StoredMessage[] = [];
  #writing: Promise<void> | undefined;
  /** A suspect that is handed out. */
  #alone: StoredMessage | undefined;
  /** Whether a suspect waits until nothing else is in flight. */
  #waitsAlone = false;
  /** Delivers one message at a time: a message that waits blocks those behind it. */
  isOrdered = false;

  constructor(deps: HandOutGateDeps) {
    this.#deps = deps;
  }

  /** How many messages are handed out and not settled. */
  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** Begins a tenure, unless there is one: loads messages if the group has consumers and this host hands them out. */
  begin(): void {
    const { ahead, guard, settlements, dispatcher, lease } = this.#deps;
    if (!dispatcher.hasConsumers || !lease.isHere) return;
    if (ahead.start(settlements.clock))
      for (const entry of this.#inFlight) if (ahead.isOutdated(entry)) guard.addEarly(entry);
    dispatcher.wake();
  }

  /** Ends the tenure. Messages handed out stay in flight. */
  end(): void {
    this.#deps.ahead.stop();
    this.#takeBack(this.#recorded.extract(() => true));
    this.#deps.guard.clear();
  }

  /** Reads again what this host hands out, and forgets what it does not hand out any more. */
  repartition(): void {
    const { ahead, guard, lease } = this.#deps;
    const isDropped = (entry: StoredMessage): boolean => !lease.handsOut(entry);
    const dropped = this.#recorded.extract(isDropped);
    this.#takeBack(dropped);
    // Forgotten, so that they are read again when their partition comes back.
    for (const entry of [...dropped, ...guard.drop(isDropped)]) ahead.unshift(entry);
    ahead.repartition(isDropped);
  }

  /** Whether such a message is handed out and not settled. */
  hasInFlight(isMeant: (entry: StoredMessage) => boolean): boolean {
    for (const entry of this.#inFlight) if (isMeant(entry)) return true;
    return false;
  }

  /** Hands the next message out. */
  next(): StoredMessage | undefined {
    const entry = this.#next();
    if (entry !== undefined) this.#inFlight.add(entry);
    return entry;
  }

  #next(): StoredMessage | undefined {
    if (this.#alone !== undefined || this.#recording.length > 0) return undefined;
    const recorded = this.#recorded.shift();
    if (recorded !== undefined) {
      if (isSuspect(recorded)) this.#alone = recorded;
      return recorded;
    }
    const entry = this.#free();
    if (entry === undefined || !entry.isCareful) return entry;
    if (!isSuspect(entry)) this.#writing = this.#record(this.#batchOf(entry));
    else if (this.#inFlight.size === 0) this.#writing = this.#record([entry]);
    else {
      this.#waitsAlone = true;
      this.#deps.ahead.unshift(entry);
    }
    return undefined;
  }

  /** The next message of which no earlier delivery goes on. */
  #free(): StoredMessage | undefined {
    const { ahead, guard } = this.#deps;
    let entry: StoredMessage | undefined;
    do entry = this.isOrdered && guard.waitsElsewhere ? undefined : ahead.shift();
    while (entry !== undefined && guard.keeps(entry));
    return entry;
  }

  /** As many messages as the consumers have room for. */
  #batchOf(first: StoredMessage): readonly StoredMessage[] {
    const { ahead, dispatcher } = this.#deps;
    const batch = [first];
    for (const { room } = dispatcher; batch.length < room; ) {
      const entry = this.#free();
      if (entry === undefined) break;
      if (entry.isCareful && !isSuspect(entry)) batch.push(entry);
      else {
        ahead.unshift(entry);
        break;
      }
    }
    return batch;
  }

  /** Resolves when the pending record is written, or its rollback has begun because the tenure ended. */
  async recorded(): Promise<void> {
    await this.#writing;
  }

  async #record(batch: readonly StoredMessage[]): Promise<void> {
    const { ahead, settlements, dispatcher, lease } = this.#deps;
    this.#recording = batch;
    const failure = await this.#tryRecord(batch);
    // Another host has the group now, or this one will be seen to have it no longer.
    if (isConflictError(failure))
      await sleep(settlements.clock, STORE_RETRY_MS, batch[0]?.tenure.signal).catch(() => undefined);
    this.#recording = [];
    if (isConflictError(failure)) {
      // The store may have entries that could not be written: all messages are read again.
      this.end();
      return this.begin();
    }
    const isOver = !ahead.isOn || batch.some((entry) => ahead.isOutdated(entry));
    const stays = batch.filter((entry) => !isOver && lease.handsOut(entry));
    for (const entry of stays) this.#recorded.push(entry);
    const goes = batch.filter((entry) => !stays.includes(entry));
    this.#takeBack(goes.filter(({ isRecorded }) => isRecorded));
    for (const entry of goes) ahead.unshift(entry);
    dispatcher.wake();
  }

  /** Returns the error if it has failed. */
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
    if (first !== undefined) await this.#deps.settlements.record({ put }, first, batch);
  }

  /** Messages are not being delivered after all, and no process has ended. */
  #takeBack(batch: readonly StoredMessage[]): void {
    if (batch.length === 0) return;
    for (const entry of batch) entry.isRecorded = false;
    // Otherwise one more interruption is counted than there was.
    this.#write(batch, (entry) => entry).catch(() => undefined);
  }

  /** A message comes back unsettled. */
  onReturn(entry: StoredMessage): void {
    if (entry.isRecorded) this.#takeBack([entry]);
    this.#deps.ahead.unshift(entry);
  }

  /** A delivery has ended. Returns whether the message was handed out until now. */
  onEnd(entry: StoredMessage): boolean {
    if (!this.#inFlight.delete(entry)) return false;
    this.#deps.guard.onEnd(entry);
    const wasAlone = this.#alone === entry;
    if (wasAlone) this.#alone = undefined;
    if (wasAlone || (this.#waitsAlone && this.#inFlight.size === 0)) {
      this.#waitsAlone = false;
      this.#deps.dispatcher.wake();
    }
    return true;
  }

  /** The numbers of messages that are handed out, are about to be, or wait for an earlier delivery to end. */
  atWork(): ReadonlySet<number> {
    const entries = [...this.#recording, ...this.#recorded.values(), ...this.#inFlight];
    return new Set([...entries.map(({ number }) => number), ...this.#deps.guard.numbers()]);
  }
}

function isSuspect({ interruptions }: StoredMessage): boolean {
  return interruptions >= SUSPECT_AFTER;
}

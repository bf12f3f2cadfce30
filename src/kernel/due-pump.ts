import { Alarm } from '../util/alarm.ts';
import type { Clock } from '../util/clock.ts';
import type { DueIndex } from './due-index.ts';

/** What a pump is made of. */
export interface DuePumpDeps<E extends { readonly at: number }> {
  readonly clock: Clock;
  readonly index: DueIndex<E>;
  /** Notes that the store is read, as work that a stop and a test wait for; call what it returns at its end. */
  readonly trackRead: () => () => void;
  /** Whether something may be begun now. Without room, whoever makes some pumps again. */
  readonly hasRoom: () => boolean;
  /** Begins what is to be done for an entry. Must not throw. */
  readonly begin: (entry: E, now: number) => void;
  /** The store could not be read. */
  readonly onFailure: (error: unknown) => void;
}

/** Begins what is due, in order, with one timer for the next entry of the index; reads on when that runs low. */
export class DuePump<E extends { readonly at: number }> {
  readonly #deps: DuePumpDeps<E>;
  readonly #alarm: Alarm;
  #isReading = false;
  #isStopped = false;

  constructor(deps: DuePumpDeps<E>) {
    this.#deps = deps;
    this.#alarm = new Alarm(deps.clock, () => this.pump());
  }

  /** Begins whatever is due, as far as there is room. */
  pump(): void {
    const { index, clock, hasRoom, begin } = this.#deps;
    if (this.#isStopped) return;
    const now = clock.now();
    let entry = index.first();
    while (entry !== undefined && entry.at <= now && hasRoom()) {
      index.shift();
      begin(entry, now);
      entry = index.first();
    }
    this.setAlarm();
    if (index.isLow) void this.#read();
  }

  /** What is due next has changed. */
  setAlarm(): void {
    const { index, hasRoom } = this.#deps;
    this.#alarm.set(!this.#isStopped && hasRoom() ? index.first()?.at : undefined);
  }

  /** Reads everything anew: for when it is not certain what has been written. */
  readAnew(): void {
    this.#deps.index.reset();
    void this.#read();
  }

  stop(): void {
    this.#isStopped = true;
    this.#alarm.off();
  }

  /** Reads ahead, one page at a time. */
  async #read(): Promise<void> {
    const { index, trackRead, onFailure } = this.#deps;
    if (this.#isReading || this.#isStopped) return;
    this.#isReading = true;
    const done = trackRead();
    try {
      while (index.isLow && !this.#isStopped) await index.read();
    } catch (error) {
      return onFailure(error);
    } finally {
      this.#isReading = false;
      done();
    }
    this.pump();
  }
}

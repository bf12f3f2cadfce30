import { Alarm } from '../util/alarm.ts';
import { type Clock, LAST_INSTANT } from '../util/clock.ts';
import { outside } from '../util/outside.ts';
import type { DueIndex } from './due-index.ts';

/** The dependencies of a {@link DuePump}. */
export interface DuePumpDeps<E extends { readonly at: number }> {
  readonly clock: Clock;
  readonly index: DueIndex<E>;
  /** Notes a read of the store as work that a stop and a test wait for; call the returned function at its end. */
  readonly trackRead: () => () => void;
  /** Whether something may begin now. Code that makes room later has to call `pump`. */
  readonly hasRoom: () => boolean;
  /** Begins the work of an entry. Must not throw. */
  readonly begin: (entry: E, now: number) => void;
  /** Called when the store could not be read. */
  readonly onFailure: (error: unknown) => void;
}

/** Begins entries when they are due, in order, with one timer for the next one. Reads more when the index runs low. */
export class DuePump<E extends { readonly at: number }> {
  readonly #deps: DuePumpDeps<E>;
  readonly #alarm: Alarm;
  #isReading = false;
  /** Whether everything is to be read once more after the read under way. */
  #isOutdated = false;
  #isStopped = false;

  constructor(deps: DuePumpDeps<E>) {
    this.#deps = deps;
    this.#alarm = new Alarm(deps.clock, () => this.pump());
  }

  /** Begins entries that are due, as long as there is room. */
  pump(): void {
    const { index, clock, hasRoom, begin } = this.#deps;
    if (this.#isStopped) return;
    const now = clock.now();
    let entry = index.first();
    while (entry !== undefined && entry.at <= now && hasRoom()) {
      index.shift();
      const due = entry;
      outside(() => begin(due, now));
      entry = index.first();
    }
    this.setAlarm();
    if (index.isLow) void this.#read();
  }

  /** Sets the timer for the entry that is due next. Call it when that has changed. */
  setAlarm(): void {
    const { index, hasRoom } = this.#deps;
    const at = !this.#isStopped && hasRoom() ? index.first()?.at : undefined;
    this.#alarm.set(at === undefined || at >= LAST_INSTANT ? undefined : at);
  }

  /**
   * Reads everything again: for when it is uncertain what was written. A read under way is not dropped: if polls were
   * faster than the reads of a slow store, none would ever count.
   */
  readAnew(): void {
    this.#isOutdated = this.#isReading;
    if (this.#isReading) return;
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
    if (this.#isOutdated) this.readAnew();
  }
}

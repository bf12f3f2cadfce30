import { Alarm } from '../../../util/alarm.ts';
import type { Clock } from '../../../util/clock.ts';
import type { WorkflowsHost } from '../model/workflows-host.ts';
import type { Wakeups } from './due-instances.ts';

/** What a pump is made of. */
export interface DuePumpParts {
  readonly clock: Clock;
  readonly work: WorkflowsHost['work'];
  readonly wakeups: Wakeups;
  /** Whether an instance concerns this host and is not in memory. */
  readonly isOurs: (id: string) => boolean;
  readonly isLive: (id: string) => boolean;
  /** Does what is to be done for an instance. Must not reject. */
  readonly look: (id: string) => Promise<void>;
  readonly onFailure: (error: unknown) => void;
}

/** So many instances are read at a time because they are due. */
const MAX_LOOKING = 256;

/** Has instances looked after when they are due, with one timer for the next of them. */
export class DuePump {
  readonly #parts: DuePumpParts;
  readonly #alarm: Alarm;
  #isReading = false;
  #isStopped = false;
  /** How many instances are being read. */
  #looking = 0;

  constructor(parts: DuePumpParts) {
    this.#parts = parts;
    this.#alarm = new Alarm(parts.clock, () => this.#pump());
  }

  /** Reads everything anew. */
  readAnew(): void {
    this.#parts.wakeups.reset();
    void this.#read();
  }

  /** What is due has changed. */
  setAlarm(): void {
    // Without room, the end of a look goes on.
    const mayRing = !this.#isStopped && this.#looking < MAX_LOOKING;
    this.#alarm.set(mayRing ? this.#parts.wakeups.nextAt : undefined);
  }

  stop(): void {
    this.#isStopped = true;
    this.#alarm.off();
  }

  /** Reads ahead, one scan at a time. */
  async #read(): Promise<void> {
    const { wakeups, work, isOurs, onFailure } = this.#parts;
    if (this.#isReading || this.#isStopped) return;
    this.#isReading = true;
    const done = work.begin('reading workflows that are due');
    try {
      while (wakeups.isLow && !this.#isStopped) await wakeups.read(isOurs);
    } catch (error) {
      return onFailure(error);
    } finally {
      this.#isReading = false;
      done();
    }
    this.#pump();
  }

  #pump(): void {
    const { wakeups, clock } = this.#parts;
    if (this.#isStopped) return;
    const now = Math.floor(clock.now());
    while (this.#looking < MAX_LOOKING) {
      const id = wakeups.shiftDue(now);
      if (id === undefined) break;
      void this.#look(id);
    }
    this.setAlarm();
    if (wakeups.isLow) void this.#read();
  }

  async #look(id: string): Promise<void> {
    const { isLive, look } = this.#parts;
    if (isLive(id)) return look(id);
    this.#looking++;
    await look(id);
    this.#looking--;
    if (this.#looking === MAX_LOOKING - 1) this.#pump();
  }
}

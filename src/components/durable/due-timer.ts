import { Alarm } from '../../util/alarm.ts';
import type { Clock } from '../../util/clock.ts';

/** One timer, for the earliest instant that is expected. */
export class DueTimer {
  readonly #onDue: () => void;
  #alarm: Alarm | undefined;
  #at = Number.POSITIVE_INFINITY;

  constructor(onDue: () => void) {
    this.#onDue = onDue;
  }

  expect(at: number, clock: Clock): void {
    if (at >= this.#at) return;
    this.#at = at;
    this.#alarm ??= new Alarm(clock, () => this.#ring(clock));
    this.#alarm.set(at);
  }

  /** The alarm may ring early. */
  #ring(clock: Clock): void {
    if (clock.now() < this.#at) return this.#alarm?.set(this.#at);
    this.#at = Number.POSITIVE_INFINITY;
    this.#onDue();
  }

  cancel(): void {
    this.#alarm?.off();
    this.#at = Number.POSITIVE_INFINITY;
  }
}

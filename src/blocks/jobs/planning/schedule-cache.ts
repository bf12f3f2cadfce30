import { parseSchedule, type Schedule } from './schedule.ts';

/** Reading one costs 23 µs and more, and many jobs have the same. */
const MOST_KEPT = 1_000;

/** Schedules that were read lately, by their text. */
export class Schedules {
  readonly #kept = new Map<string, Schedule>();
  readonly #defaultZone: () => string;

  /** @param defaultZone - the zone of schedules that name none; asked whenever one is read. */
  constructor(defaultZone: () => string) {
    this.#defaultZone = defaultZone;
  }

  /** @throws Error with what was expected. */
  get(text: string): Schedule {
    const kept = this.#kept.get(text);
    if (kept !== undefined) return kept;
    const schedule = parseSchedule(text, this.#defaultZone());
    if (this.#kept.size >= MOST_KEPT) this.#dropOldest();
    this.#kept.set(text, schedule);
    return schedule;
  }

  #dropOldest(): void {
    for (const oldest of this.#kept.keys()) {
      this.#kept.delete(oldest);
      return;
    }
  }
}

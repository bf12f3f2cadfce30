import { LruCache } from '../../../util/lru.ts';
import { parseSchedule, type Schedule } from './schedule.ts';

/** Reading one costs 23 µs and more, and many jobs have the same. */
const MAX_KEPT = 1_000;

/** Schedules that were read lately, by their text. */
export class Schedules {
  readonly #kept = new LruCache<Schedule>(MAX_KEPT);
  readonly #defaultZone: () => string;

  /** @param defaultZone - the zone of schedules that name none; asked whenever one is read. */
  constructor(defaultZone: () => string) {
    this.#defaultZone = defaultZone;
  }

  /** @throws Error with what was expected. */
  get(text: string): Schedule {
    return this.#kept.getOrMake(text, () => parseSchedule(text, this.#defaultZone()));
  }
}

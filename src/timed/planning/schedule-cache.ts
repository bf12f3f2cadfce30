import { LruCache } from '../../util/lru.ts';
import { isZeroInterval, oneByOne, parseSchedule, type Schedule } from './schedule.ts';
import { Zones } from './zone.ts';

/** Parsing a schedule costs at least 23 µs, and many jobs share one. */
const MAX_KEPT = 1_000;

/** Recently parsed schedules, by their text. */
export class Schedules {
  readonly #kept = new LruCache<Schedule>(MAX_KEPT);
  /** Made with the first schedule: a start without jobs loads no plans. */
  #zones: Zones | undefined;
  readonly #defaultZone: () => string;

  /** @param defaultZone - the zone of schedules that name none; asked whenever one is read. */
  constructor(defaultZone: () => string) {
    this.#defaultZone = defaultZone;
  }

  /** @throws Error with what was expected. */
  get(text: string): Schedule {
    this.#zones ??= new Zones();
    const zones = this.#zones;
    return this.#kept.getOrMake(text, () => parseSchedule(text, this.#defaultZone(), zones));
  }

  /** The schedule of a job for which an interval of zero is, or was, accepted. @throws Error with what was expected. */
  getStored(text: string): Schedule {
    return isZeroInterval(text) ? oneByOne() : this.get(text);
  }
}

import { addIsoDuration, type IsoDuration, parseIsoDuration } from '../../../timed/planning/instants.ts';
import { every, LONGEST_INTERVAL_MS, type Schedule, SHORTEST_INTERVAL_MS } from '../../../timed/planning/schedule.ts';
import { LAST_INSTANT } from '../../../util/clock.ts';
import { parseGoDuration } from '../../../util/duration.ts';
import { LruCache } from '../../../util/lru.ts';

/** The time between two calls of a reminder or timer. */
export interface Period {
  readonly schedule: Schedule;
  /** How many calls there are in all; `undefined` without an end. */
  readonly repeats: number | undefined;
  /** The time between two calls in milliseconds; `undefined` if months, which differ in length, are a part of it. */
  readonly ms: number | undefined;
}

const REPEATED = /^R(\d+)\/(P.*)$/;
const DAY_MS = 86_400_000;
/** Shorter than any month. */
const MONTH_MS = 28 * DAY_MS;
/** Many reminders share a period. */
const MAX_KEPT = 1_000;

const EXPECTED =
  'a Go duration such as 1h30m, an ISO 8601 duration such as PT1H, or a count of calls and an ISO 8601 duration such as R5/PT1H';

/**
 * Reads a period: a Go duration, an ISO 8601 duration, or `R<n>/` and an ISO 8601 duration for `n` calls in all.
 *
 * @throws Error with what was expected.
 */
export function parsePeriod(text: string): Period {
  const [, count, iso] = REPEATED.exec(text) ?? [];
  const ms = parseGoDuration(text);
  if (ms !== undefined) return { schedule: everyChecked(ms), repeats: undefined, ms };
  const parts = parseIsoDuration(iso ?? text);
  const repeats = count === undefined ? undefined : Number(count);
  if (parts === undefined) throw new Error(`expected ${EXPECTED}`);
  if (repeats !== undefined && !(repeats >= 1 && Number.isSafeInteger(repeats)))
    throw new Error(`the count of calls is ${count}: expected 1 or more`);
  const rest = parts.days * DAY_MS + parts.ms;
  if (parts.months === 0) return { schedule: everyChecked(rest), repeats, ms: rest };
  if (parts.months < 0 || rest < 0 || !Number.isSafeInteger(parts.months))
    throw new Error('expected a positive duration');
  return { schedule: new CalendarSchedule(parts), repeats, ms: undefined };
}

function everyChecked(ms: number): Schedule {
  if (ms >= SHORTEST_INTERVAL_MS && ms < LONGEST_INTERVAL_MS) return every(ms);
  throw new Error('expected a positive duration, of 1ms to 292 years');
}

/** Steps of months and years, counted from the anchor: the 31st of January, March and so on, whatever lies between. */
class CalendarSchedule implements Schedule {
  readonly #step: IsoDuration;

  constructor(step: IsoDuration) {
    this.#step = step;
  }

  next(after: number, anchor: number): number | undefined {
    const { months, days, ms } = this.#step;
    const longestMs = months * (MONTH_MS + 4 * DAY_MS) + days * DAY_MS + ms;
    // Never too far, and at most an eighth too near.
    let step = Math.max(1, Math.floor((after - anchor) / longestMs));
    for (let at = this.#at(anchor, step); ; at = this.#at(anchor, ++step)) {
      if (Number.isNaN(at) || at >= LAST_INSTANT) return undefined;
      if (at > after) return Math.ceil(at);
    }
  }

  #at(anchor: number, times: number): number {
    const { months, days, ms } = this.#step;
    return addIsoDuration({ months: months * times, days: days * times, ms: ms * times }, anchor);
  }
}

/** Recently read periods, by their text. */
export class Periods {
  readonly #kept = new LruCache<Period>(MAX_KEPT);

  /** @throws Error with what was expected. */
  get(text: string): Period {
    return this.#kept.getOrMake(text, () => parsePeriod(text));
  }

  /** The schedule of a stored reminder. */
  getStored(text: string): Schedule {
    return this.get(text).schedule;
  }
}

import { createRequire } from 'node:module';
import type { Cron } from 'croner';
import { messageOf } from '../../errors.ts';
import { LAST_INSTANT } from '../../util/clock.ts';
import { parseGoDuration } from '../../util/duration.ts';
import { unextended } from '../../util/unextended.ts';
import { parseCronFields } from './cron-fields.ts';
import type { Zone, Zones } from './zone.ts';

const require = createRequire(import.meta.url);
const croner = unextended(() => require('croner') as typeof import('croner'));

/** The recurring instants of a job. */
export interface Schedule {
  /**
   * The first instant after `after`, in milliseconds; `undefined` if none follows. `anchor` is where an interval
   * is counted from; clock times do not need it.
   */
  next(after: number, anchor: number): number | undefined;
}

/** `@` periods and what they stand for. */
const PERIODS: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 0 1 1 *'],
  ['@annually', '0 0 0 1 1 *'],
  ['@monthly', '0 0 0 1 * *'],
  ['@weekly', '0 0 0 * * 0'],
  ['@daily', '0 0 0 * * *'],
  ['@midnight', '0 0 0 * * *'],
  ['@hourly', '0 0 * * * *'],
]);

const ZONE_PREFIX = /^(?:CRON_)?TZ=(\S*)(?:\s+(.*))?$/s;
const EVERY = '@every ';
/** The shortest interval between two runs. */
export const SHORTEST_INTERVAL_MS = 1;
/** The longest duration of Go. */
export const LONGEST_INTERVAL_MS: number = 2 ** 63 / 1e6;

/**
 * Reads a schedule: six cron fields, an `@` period, or `@every` with a Go duration; the first two may have a zone
 * in front (`TZ=` or `CRON_TZ=`).
 *
 * @param defaultZone - the zone of a schedule that names none
 * @throws Error with what was expected.
 */
export function parseSchedule(text: string, defaultZone: string, zones: Zones): Schedule {
  const prefixed = ZONE_PREFIX.exec(text);
  if (prefixed === null) return parsePlain(text, () => zones.get(defaultZone));
  const [, zone = '', rest = ''] = prefixed;
  if (rest.trim() === '') throw new Error(`the zone ${JSON.stringify(zone)} is not followed by a schedule`);
  if (rest.trimStart().startsWith('@every')) throw new Error('@every runs by elapsed time: expected no zone before it');
  return parsePlain(rest.trim(), () => namedZone(zone, zones));
}

/** Whether it is `@every` with a duration of zero: as soon as possible. */
export function isZeroInterval(text: string): boolean {
  return text.startsWith(EVERY) && parseGoDuration(text.slice(EVERY.length)) === 0;
}

function parsePlain(text: string, zone: () => Zone): Schedule {
  if (text.startsWith(EVERY)) return every(parseInterval(text.slice(EVERY.length)));
  const fields = text.startsWith('@') ? PERIODS.get(text) : text;
  if (fields === undefined) {
    throw new Error(`expected one of ${[...PERIODS.keys()].join(', ')} or @every <duration>, in lower case`);
  }
  const { pattern, isFixed } = parseCronFields(fields);
  return cronSchedule(pattern, isFixed, zone());
}

function namedZone(name: string, zones: Zones): Zone {
  // Node accepts offsets as zones, the API does not.
  if (!/^[A-Za-z]/.test(name)) throw unknownZone(name);
  try {
    return zones.get(name);
  } catch (error) {
    throw unknownZone(name, error);
  }
}

function unknownZone(name: string, cause?: unknown): Error {
  return new Error(`unknown time zone ${JSON.stringify(name)}: expected an IANA name such as Europe/Rome`, { cause });
}

function parseInterval(text: string): number {
  const intervalMs = parseGoDuration(text);
  if (intervalMs === undefined || intervalMs >= LONGEST_INTERVAL_MS)
    throw new Error(`${JSON.stringify(text)} is not a duration: expected such as 1h30m after @every and one space`);
  if (intervalMs < SHORTEST_INTERVAL_MS) throw new Error(`@every ${text} is too short: expected at least 1ms`);
  return intervalMs;
}

/** Equal steps from an anchor: a late run does not delay the next one. */
class IntervalSchedule implements Schedule {
  readonly #intervalMs: number;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  next(after: number, anchor: number): number | undefined {
    let step = Math.max(1, Math.floor((after - anchor) / this.#intervalMs) + 1);
    // A fraction of a millisecond is rounded up: never early.
    while (this.#at(anchor, step) <= after) step++;
    const at = this.#at(anchor, step);
    return Number.isSafeInteger(at) ? at : undefined;
  }

  #at(anchor: number, step: number): number {
    return Math.ceil(anchor + step * this.#intervalMs);
  }
}

/** The runs of an interval of zero, one right after the other. */
export function oneByOne(): Schedule {
  return every(SHORTEST_INTERVAL_MS);
}

/** Runs in equal steps from the anchor. */
export function every(intervalMs: number): Schedule {
  return new IntervalSchedule(intervalMs);
}

function cronSchedule(pattern: string, isFixed: boolean, zone: Zone): Schedule {
  // croner's fixed offset is three times faster than its zones, even than its zone UTC.
  const inUtc = (): Cron => new croner.Cron(pattern, { mode: '6-part', paused: true, utcOffset: 0 });
  try {
    if (zone.name === 'UTC') return new CronSchedule(inUtc());
    if (isFixed) return new WallTimeSchedule(inUtc(), zone);
    return new CronSchedule(new croner.Cron(pattern, { mode: '6-part', paused: true, timezone: zone.name }));
  } catch (error) {
    throw new Error(`cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

/** Steps, ranges and wildcards follow elapsed time across a time change. */
class CronSchedule implements Schedule {
  readonly #cron: Cron;

  constructor(cron: Cron) {
    this.#cron = cron;
  }

  next(after: number): number | undefined {
    return nextOf(this.#cron, after);
  }
}

/** Fixed wall times: in a spring gap they run at its end, in an autumn overlap once. */
class WallTimeSchedule implements Schedule {
  readonly #cron: Cron;
  readonly #zone: Zone;

  constructor(cron: Cron, zone: Zone) {
    this.#cron = cron;
    this.#zone = zone;
  }

  next(after: number): number | undefined {
    let wall: number | undefined = this.#zone.wallOf(after);
    for (;;) {
      wall = nextOf(this.#cron, wall);
      if (wall === undefined) return undefined;
      const at = this.#zone.instantOf(wall);
      if (at > after) return at;
    }
  }
}

function nextOf(cron: Cron, after: number): number | undefined {
  if (after >= LAST_INSTANT) return undefined;
  return cron.nextRun(new Date(after))?.getTime();
}

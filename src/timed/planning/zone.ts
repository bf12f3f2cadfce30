import { LruCache } from '../../util/lru.ts';

const DAY_MS = 86_400_000;
const SECOND_MS = 1_000;
/** Zones that are kept: each has a formatter of some 100 KB. */
const MAX_KEPT = 50;

/** Time zones by name, in any case: schedules of one zone share it. */
export class Zones {
  readonly #kept = new LruCache<Zone>(MAX_KEPT);
  /** By name in small letters, of which there are some 600. */
  readonly #names = new Map<string, string>();

  /** @throws RangeError when there is no such zone. */
  get(name: string): Zone {
    const known = this.#kept.get(name);
    if (known !== undefined) return known;
    const canonical = this.#canonicalName(name);
    return this.#kept.getOrMake(canonical, () => new Zone(canonical));
  }

  /** The name as the time zone database writes it. croner keeps a formatter for every spelling that it sees, for ever. */
  #canonicalName(name: string): string {
    const lowerCased = name.toLowerCase();
    const known = this.#names.get(lowerCased);
    if (known !== undefined) return known;
    const { timeZone } = new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions();
    this.#names.set(lowerCased, timeZone);
    return timeZone;
  }
}

/** A time zone. Local times are milliseconds since 1970, as if the zone were UTC. */
export class Zone {
  /** Its IANA name, in its own case. */
  readonly name: string;
  readonly #format: Intl.DateTimeFormat | undefined;

  constructor(name: string) {
    this.name = name;
    this.#format = name === 'UTC' ? undefined : formatOf(name);
  }

  /** The local time of an instant. */
  wallOf(at: number): number {
    return at + this.#offsetAt(at);
  }

  /** First instant of a local time; after a gap, its end. */
  instantOf(wall: number): number {
    // Zones change less than twice in two days.
    const before = this.#offsetAt(wall - DAY_MS);
    const after = this.#offsetAt(wall + DAY_MS);
    if (before === after) return wall - before;
    if (this.#offsetAt(wall - before) === before) return wall - before;
    if (this.#offsetAt(wall - after) === after) return wall - after;
    return this.#changeBetween(wall - DAY_MS, wall + DAY_MS, after);
  }

  /** The first instant with the new offset. */
  #changeBetween(from: number, to: number, offset: number): number {
    let [low, high] = [from, to];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.#offsetAt(middle) === offset) high = middle;
      else low = middle;
    }
    return high;
  }

  #offsetAt(at: number): number {
    if (this.#format === undefined) return 0;
    const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = (
      this.#format.format(at).match(/\d+/g) ?? []
    ).map(Number);
    const wall = Date.UTC(year, month - 1, day, hour, minute, second);
    return wall - Math.floor(at / SECOND_MS) * SECOND_MS;
  }
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
}

/** The server's own zone. */
export function localZoneName(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

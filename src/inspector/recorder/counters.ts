import type { Series } from '../api/live.ts';

type SeriesName = Series['name'];

/** The seconds of a series. */
const SECONDS = 120;

const PLACES: Readonly<Record<SeriesName, number>> = {
  published: 0,
  delivered: 1,
  retrying: 2,
  dropped: 3,
  deadLettered: 4,
  jobsDone: 5,
  jobsFailed: 6,
  workflowsStarted: 7,
  workflowsCompleted: 8,
  workflowsFailed: 9,
  calls: 10,
  callsFailed: 11,
};
const NAMES = Object.keys(PLACES) as readonly SeriesName[];

/** Durations to 7 ms have a bucket each, longer ones four for each doubling: the last begins at 15 minutes. */
const BUCKETS = 80;

/**
 * Counts by the second what happens, in integers. They are always on: a timer tells the second, since to ask for the time
 * would take longer than the rest.
 */
export class Counters {
  readonly #now: () => number;
  readonly #totals = new Float64Array(NAMES.length);
  readonly #perSecond = new Uint32Array(NAMES.length * SECONDS);
  readonly #durations = new Uint32Array(BUCKETS * SECONDS);
  readonly #timer: NodeJS.Timeout;
  #second: number;

  constructor(now: () => number) {
    this.#now = now;
    this.#second = Math.floor(now() / 1_000);
    this.#timer = setInterval(() => this.#tick(), 1_000).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  count(name: SeriesName): void {
    const place = PLACES[name];
    this.#totals[place] = (this.#totals[place] ?? 0) + 1;
    add(this.#perSecond, place * SECONDS + (this.#second % SECONDS));
  }

  /** Counts a delivery that took so long. */
  delivered(durationMs: number): void {
    this.count('delivered');
    add(this.#durations, (this.#second % SECONDS) * BUCKETS + bucketOf(durationMs));
  }

  series(): readonly Series[] {
    this.#tick();
    const next = (this.#second + 1) % SECONDS;
    return NAMES.map((name, place) => {
      const all = this.#perSecond.subarray(place * SECONDS, (place + 1) * SECONDS);
      return { name, total: this.#totals[place] ?? 0, perSecond: [...all.subarray(next), ...all.subarray(0, next)] };
    });
  }

  /** The time in which 95 of 100 deliveries were done; `undefined` if there were none. */
  p95Ms(): number | undefined {
    this.#tick();
    const counts = new Float64Array(BUCKETS);
    for (const [index, count] of this.#durations.entries())
      counts[index % BUCKETS] = (counts[index % BUCKETS] ?? 0) + count;
    let rest = counts.reduce((sum, count) => sum + count, 0) * 0.95;
    if (rest === 0) return undefined;
    const bucket = counts.findIndex((count) => {
      rest -= count;
      return rest <= 0;
    });
    return upperEndOf(bucket);
  }

  /** Goes to the present second, and clears those that have passed. */
  #tick(): void {
    const second = Math.floor(this.#now() / 1_000);
    // The system's clock may be set back: what is counted then goes to the last second.
    if (second <= this.#second) return;
    const from = Math.max(this.#second + 1, second - SECONDS + 1);
    for (let passed = from; passed <= second; passed++) {
      const slot = passed % SECONDS;
      for (let place = 0; place < NAMES.length; place++) this.#perSecond[place * SECONDS + slot] = 0;
      this.#durations.fill(0, slot * BUCKETS, (slot + 1) * BUCKETS);
    }
    this.#second = second;
  }
}

function add(counts: Uint32Array, index: number): void {
  counts[index] = (counts[index] ?? 0) + 1;
}

function bucketOf(durationMs: number): number {
  const whole = Math.max(0, Math.floor(durationMs));
  if (whole < 8) return whole;
  const power = 31 - Math.clz32(whole);
  return Math.min(8 + (power - 3) * 4 + ((whole >> (power - 2)) & 3), BUCKETS - 1);
}

/** The longest duration of a bucket; of the last one, its shortest. */
function upperEndOf(bucket: number): number {
  if (bucket < 8) return bucket;
  const next = bucket === BUCKETS - 1 ? bucket : bucket + 1;
  const power = Math.floor((next - 8) / 4) + 3;
  const start = 2 ** (power - 2) * (4 + ((next - 8) % 4));
  return next === bucket ? start : start - 1;
}

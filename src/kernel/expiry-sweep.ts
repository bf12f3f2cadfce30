import { isConflictError } from '../state/errors.ts';
import { keyAfter } from '../state/keys.ts';
import { readTogether } from '../state/read-together.ts';
import type { Entry, KeyedEntry, KeyRange, Precondition, StateStore } from '../state/store.ts';
import { Alarm } from '../util/alarm.ts';
import { type Clock, LAST_INSTANT } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { outside } from '../util/outside.ts';

/** Values that are removed in one commit. */
const PAGE = 200;
/** How long after a failure or a conflict it is tried again. */
const RETRY_MS = 60_000;

/**
 * When a value that ends at an instant is looked at. Not at once: a value that is written again and again shares such
 * entries within a step, and would else leave one for each write.
 */
export function lookAt(endsAt: number, stepMs: number): number {
  return Math.min(Math.ceil(endsAt / stepMs) * stepMs, LAST_INSTANT);
}

/** Values that end, and the entries from which those that have ended are found. */
export interface EndingValues {
  /** The entries, by the instant at which a value is looked at. */
  readonly range: KeyRange;
  /** What the key of such an entry says: when a value is looked at, and the key of the value's own entry. */
  readonly placeOf: (key: string) => { readonly at: number; readonly entry: string };
  /** When a value ends; `undefined` for never. */
  readonly endOf: (key: string, entry: Entry) => number | undefined;
  /** Whether this host removes what an entry names. Default: it removes everything. */
  readonly isOwn?: (key: string) => boolean;
}

/** The dependencies of an {@link ExpirySweep}. */
export interface ExpirySweepDeps {
  readonly store: StateStore;
  readonly values: EndingValues;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Begins work that a stop waits for; call the result at its end. */
  readonly track: () => () => void;
}

/** Removes values after they have ended, in portions; reads leave them out before that. Several hosts may do so on one store. */
export class ExpirySweep {
  readonly #deps: ExpirySweepDeps;
  readonly #alarm: Alarm;
  #isStopped = false;
  #sweeping: Promise<void> | undefined;
  /** Whether there was a reason to look while it was looked. */
  #isAskedAgain = false;

  constructor(deps: ExpirySweepDeps) {
    this.#deps = deps;
    this.#alarm = new Alarm(deps.clock, () => this.start());
  }

  /** Looks for values that have ended. */
  start(): void {
    if (this.#isStopped) return;
    this.#isAskedAgain = this.#sweeping !== undefined;
    this.#sweeping ??= outside(() => this.#sweep()).finally(() => {
      this.#sweeping = undefined;
      if (this.#isAskedAgain) this.start();
    });
  }

  /** A value has been written that is to be looked at then. */
  expect(at: number): void {
    if (!this.#isStopped) this.#alarm.expect(at);
  }

  async #sweep(): Promise<void> {
    const { clock, logger, track } = this.#deps;
    const done = track();
    try {
      const next = await this.#removeEnded();
      if (next !== undefined) this.expect(next);
    } catch (error) {
      logger.debug({ error }, 'values that have ended could not be removed: it is tried again');
      this.expect(clock.now() + RETRY_MS);
    } finally {
      done();
    }
  }

  /** Removes what has ended, in pages. Returns when the next value is to be looked at. */
  async #removeEnded(): Promise<number | undefined> {
    const { store, clock, values } = this.#deps;
    const { isOwn = () => true } = values;
    let { from } = values.range;
    while (!this.#isStopped) {
      const now = clock.now();
      const entries = await store.scan({ ...values.range, from, limit: PAGE });
      const later = entries.findIndex(({ key }) => values.placeOf(key).at > now);
      const due = (later < 0 ? entries : entries.slice(0, later)).filter(({ key }) => isOwn(key));
      if (due.length > 0) await this.#remove(due, now);
      const [next] = later < 0 ? [] : entries.slice(later);
      if (next !== undefined) return values.placeOf(next.key).at;
      const last = entries.at(-1);
      if (last === undefined || entries.length < PAGE) return undefined;
      from = keyAfter(last.key);
    }
    return undefined;
  }

  async #remove(due: readonly KeyedEntry[], now: number): Promise<void> {
    const { store, values } = this.#deps;
    const keys = [...new Set(due.map(({ key }) => values.placeOf(key).entry))];
    const entries = await readTogether(store, keys);
    const require: Precondition[] = [];
    for (const [index, key] of keys.entries()) {
      const entry = entries[index];
      const endsAt = entry && values.endOf(key, entry);
      if (entry !== undefined && endsAt !== undefined && endsAt <= now) require.push({ key, version: entry.version });
    }
    try {
      await store.commit({ require, delete: [...require.map(({ key }) => key), ...due.map(({ key }) => key)] });
    } catch (error) {
      // A value was written again, or another host was first.
      if (!isConflictError(error)) throw error;
      this.expect(now + RETRY_MS);
    }
  }

  /** Waits for what is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#alarm.off();
    await this.#sweeping;
  }
}

import { isConflictError } from '../../state/errors.ts';
import { readTogether } from '../../state/read-together.ts';
import type { KeyedEntry, Precondition, StateStore } from '../../state/store.ts';
import { Alarm } from '../../util/alarm.ts';
import { LAST_INSTANT } from '../../util/clock.ts';
import { outside } from '../../util/outside.ts';
import type { ComponentContext } from '../component.ts';
import type { KeyValueLayout } from './layout.ts';
import { expiryOf } from './stored-form.ts';

/** Values that are removed in one commit. */
const PAGE = 200;
/** How long after a failure it is tried again. */
const RETRY_MS = 60_000;
const MIN_STEP_MS = 60_000;
const STEPS_PER_TTL = 8;

/**
 * When a value is to be looked at that expires at an instant. Not at once: a value that is saved again and again shares
 * a few such entries, and would else leave one for each save.
 */
export function dueAtOf(expiresAt: number, ttlMs: number): number {
  const stepMs = 2 ** Math.ceil(Math.log2(Math.max(MIN_STEP_MS, ttlMs / STEPS_PER_TTL)));
  return Math.min(Math.ceil(expiresAt / stepMs) * stepMs, LAST_INSTANT);
}

/** The dependencies of an {@link ExpirySweep}. */
export interface ExpirySweepDeps {
  readonly store: StateStore;
  readonly layout: KeyValueLayout;
  readonly context: ComponentContext;
}

/** Removes values after they have expired, in portions. Several hosts may do so on one store. */
export class ExpirySweep {
  readonly #deps: ExpirySweepDeps;
  readonly #alarm: Alarm;
  #nextAt = Number.POSITIVE_INFINITY;
  #isStopped = false;
  #sweeping: Promise<void> | undefined;

  constructor(deps: ExpirySweepDeps) {
    this.#deps = deps;
    this.#alarm = new Alarm(deps.context.clock, () => this.#begin());
  }

  /** Looks for values that have expired before. */
  start(): void {
    this.#begin();
  }

  /** A value has been written that is to be looked at then. */
  expect(at: number): void {
    if (at >= this.#nextAt || this.#isStopped) return;
    this.#nextAt = at;
    this.#alarm.set(at);
  }

  #begin(): void {
    if (this.#isStopped || this.#sweeping !== undefined) return;
    this.#sweeping = outside(() => this.#sweep()).finally(() => {
      this.#sweeping = undefined;
    });
  }

  async #sweep(): Promise<void> {
    const { context } = this.#deps;
    const done = context.track('removing expired values');
    let next: number | undefined;
    try {
      this.#nextAt = Number.POSITIVE_INFINITY;
      do next = await this.#removePage();
      while (next !== undefined && next <= context.clock.now() && !this.#isStopped);
    } catch (error) {
      next = context.clock.now() + RETRY_MS;
      context.logger.debug({ error }, 'expired values could not be removed: it is tried again');
    } finally {
      done();
    }
    if (next !== undefined) this.expect(next);
  }

  /** Removes the values of a page that have expired. Returns when the next one is to be looked at. */
  async #removePage(): Promise<number | undefined> {
    const { store, layout, context } = this.#deps;
    const now = context.clock.now();
    const entries = await store.scan({ ...layout.allDue, limit: PAGE });
    const due = entries.filter(({ key }) => layout.dueOf(key).at <= now);
    if (due.length > 0) await this.#remove(due, now);
    const [first] = due.length > 0 ? entries.slice(due.length) : entries;
    if (first !== undefined) return layout.dueOf(first.key).at;
    return entries.length < PAGE ? undefined : now;
  }

  async #remove(due: readonly KeyedEntry[], now: number): Promise<void> {
    const { store, layout } = this.#deps;
    const keys = [...new Set(due.map(({ key }) => layout.dueOf(key).entry))];
    const values = await readTogether(store, keys);
    const require: Precondition[] = [];
    for (const [index, key] of keys.entries()) {
      const value = values[index];
      const expiresAt = value && expiryOf(value);
      if (value !== undefined && expiresAt !== undefined && expiresAt <= now)
        require.push({ key, version: value.version });
    }
    const removed = [...require.map(({ key }) => key), ...due.map(({ key }) => key)];
    try {
      await store.commit({ require, delete: removed });
    } catch (error) {
      // A value was saved again, or another host was first: the page is read again.
      if (!isConflictError(error)) throw error;
    }
  }

  /** Waits for what is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#alarm.off();
    await this.#sweeping;
  }
}

import type { OwnedShards } from '../../../kernel/owned-shards.ts';
import { isConflictError } from '../../../state/errors.ts';
import { readTogether } from '../../../state/read-together.ts';
import type { KeyedEntry, Precondition, StateStore } from '../../../state/store.ts';
import { Alarm } from '../../../util/alarm.ts';
import { type Clock, LAST_INSTANT } from '../../../util/clock.ts';
import type { Logger } from '../../../util/logger.ts';
import { outside } from '../../../util/outside.ts';
import type { Work } from '../../../util/work.ts';
import type { ActorStateLayout } from './layout.ts';
import { decodeActorValue } from './stored-value.ts';

/** Values that are removed in one commit. */
const PAGE = 200;
/** How long after a failure it is tried again. */
const RETRY_MS = 60_000;
const STEP_MS = 60_000;

/**
 * When a value that ends at an instant is looked at. Not at once: a value that is written again and again shares such
 * entries within a minute.
 */
export function dueAtOf(expiresAt: number): number {
  return Math.min(Math.ceil(expiresAt / STEP_MS) * STEP_MS, LAST_INSTANT);
}

/** The dependencies of {@link ValueExpiry}. */
export interface ValueExpiryDeps {
  readonly store: StateStore;
  readonly layout: ActorStateLayout;
  readonly owned: OwnedShards;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly work: Work;
}

/** Removes values after they have ended. Reads leave them out before that. */
export class ValueExpiry {
  readonly #deps: ValueExpiryDeps;
  readonly #alarm: Alarm;
  #nextAt = Number.POSITIVE_INFINITY;
  #isStopped = false;
  #sweeping: Promise<void> | undefined;

  constructor(deps: ValueExpiryDeps) {
    this.#deps = deps;
    this.#alarm = new Alarm(deps.clock, () => this.start());
    deps.owned.onChange(({ gained }) => gained.size > 0 && this.start());
  }

  /** Looks for values that have ended. */
  start(): void {
    if (this.#isStopped || this.#sweeping !== undefined) return;
    this.#sweeping = outside(() => this.#sweep()).finally(() => {
      this.#sweeping = undefined;
    });
  }

  /** A value has been written that is to be looked at then. */
  expect(at: number): void {
    if (at >= this.#nextAt || this.#isStopped) return;
    this.#nextAt = at;
    this.#alarm.set(at);
  }

  async #sweep(): Promise<void> {
    const { work, clock, logger } = this.#deps;
    const done = work.begin('removing state of actors that has ended');
    let next: number | undefined;
    try {
      this.#nextAt = Number.POSITIVE_INFINITY;
      next = await this.#removeDue();
    } catch (error) {
      next = clock.now() + RETRY_MS;
      logger.debug({ error }, 'state of actors that has ended could not be removed: it is tried again');
    } finally {
      done();
    }
    if (next !== undefined) this.expect(next);
  }

  /** Removes what has ended, in pages. Returns when the next one is to be looked at. */
  async #removeDue(): Promise<number | undefined> {
    const { store, layout, clock, owned } = this.#deps;
    let { from } = layout.expiryRange;
    while (!this.#isStopped) {
      const entries = await store.scan({ ...layout.expiryRange, from, limit: PAGE });
      const later = entries.find(({ key }) => layout.expiryOf(key).at > clock.now());
      const due = later === undefined ? entries : entries.slice(0, entries.indexOf(later));
      const own = due.filter(({ key }) => owned.owns(layout.expiryOf(key).actor));
      if (own.length > 0) await this.#remove(own);
      if (later !== undefined) return layout.expiryOf(later.key).at;
      const last = entries.at(-1);
      if (last === undefined || entries.length < PAGE) return undefined;
      from = `${last.key}\u0000`;
    }
    return undefined;
  }

  async #remove(due: readonly KeyedEntry[]): Promise<void> {
    const { store, layout, clock } = this.#deps;
    const keys = [...new Set(due.map(({ key }) => layout.expiryOf(key).state))];
    const values = await readTogether(store, keys);
    const require: Precondition[] = [];
    for (const [index, key] of keys.entries()) {
      const value = values[index];
      const expiresAt = value && decodeActorValue(key, value.value).expiresAt;
      if (value !== undefined && expiresAt !== undefined && expiresAt <= clock.now())
        require.push({ key, version: value.version });
    }
    try {
      await store.commit({ require, delete: [...require.map(({ key }) => key), ...due.map(({ key }) => key)] });
    } catch (error) {
      // A value was written again, or another host was first: the next look finds the rest.
      if (!isConflictError(error)) throw error;
      this.expect(clock.now() + STEP_MS);
    }
  }

  /** Waits for what is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#alarm.off();
    await this.#sweeping;
  }
}

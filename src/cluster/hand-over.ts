import { isConflictError } from '../state/errors.ts';
import type { StateStore } from '../state/store.ts';
import { type Clock, sleep } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import type { ShardTable } from './shard-table.ts';

/** The dependencies of a {@link Handover}. */
export interface HandoverDeps {
  readonly store: StateStore;
  readonly table: ShardTable;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly track: (what: string) => () => void;
  /** How long to wait for work in flight. */
  readonly gracePeriodMs: number;
  /** Fires when the host leaves, which releases all shards. */
  readonly leaving: AbortSignal;
  /** Called after a hand-over, successful or not. The hosts may have changed meanwhile. */
  readonly onEnd: (hasFailed: boolean) => void;
}

/** Hands shards over: no new work begins, work in flight ends, and then the entries of their owner are deleted. */
export class Handover {
  readonly #deps: HandoverDeps;
  readonly #running = new Map<number, Promise<void>>();

  constructor(deps: HandoverDeps) {
    this.#deps = deps;
  }

  /** Starts handing over the shards, except those already being handed over. */
  release(shards: readonly number[]): void {
    const begun = shards.filter((shard) => !this.#running.has(shard));
    if (begun.length === 0) return;
    const released = this.#handOver(begun).then((hasFailed) => {
      for (const shard of begun) this.#running.delete(shard);
      this.#deps.onEnd(hasFailed);
    });
    for (const shard of begun) this.#running.set(shard, released);
  }

  /** Whether a shard is being handed over. */
  has(shard: number): boolean {
    return this.#running.has(shard);
  }

  /** Resolves when nothing is being handed over. */
  async ended(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  /** Returns whether it failed. */
  async #handOver(shards: readonly number[]): Promise<boolean> {
    const { store, table, logger, track, leaving } = this.#deps;
    await this.#drained(shards);
    if (leaving.aborted) return false;
    const done = track('handing shards over');
    const held = shards.filter((shard) => table.versionOf(shard) !== undefined);
    try {
      const require = held.map((shard) => table.fence(shard));
      await store.commit({ require, delete: require.map(({ key }) => key) });
      table.drop(held);
      return false;
    } catch (error) {
      // Another host took them meanwhile.
      if (isConflictError(error)) return false;
      logger.warn({ error }, 'shards could not be handed over: will be tried again');
      return true;
    } finally {
      done();
    }
  }

  /** Waits for work in flight, but no longer than the grace period. */
  async #drained(shards: readonly number[]): Promise<void> {
    const { table, clock, leaving, gracePeriodMs } = this.#deps;
    const drained = table.drain(shards);
    const ended = new AbortController();
    const gracePeriod = sleep(clock, gracePeriodMs, AbortSignal.any([ended.signal, leaving])).catch(() => undefined);
    await Promise.race([drained, gracePeriod]);
    ended.abort();
  }
}

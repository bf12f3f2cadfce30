import { isConflictError } from '../state/errors.ts';
import type { StateStore } from '../state/store.ts';
import { type Clock, sleep } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { setImmediate } from '../util/timers.ts';
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

/**
 * Hands shards over: no new work begins, work in flight ends, and then the entry of their owner is deleted. A shard does
 * not wait for the work of others.
 */
export class Handover {
  readonly #deps: HandoverDeps;
  readonly #running = new Map<number, Promise<void>>();
  /** Shards whose work has ended. */
  readonly #drained: number[] = [];
  #deleting: Promise<void> | undefined;

  constructor(deps: HandoverDeps) {
    this.#deps = deps;
  }

  /** Starts handing over the shards, except those already being handed over. */
  release(shards: readonly number[]): void {
    for (const shard of shards) if (!this.#running.has(shard)) this.#running.set(shard, this.#handOver(shard));
  }

  /** Whether a shard is being handed over. */
  has(shard: number): boolean {
    return this.#running.has(shard);
  }

  /** Resolves when nothing is being handed over. */
  async ended(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  async #handOver(shard: number): Promise<void> {
    await this.#drain(shard);
    this.#drained.push(shard);
    this.#deleting ??= this.#deleteAll();
    await this.#deleting;
  }

  /** Deletes the entries of shards whose work has ended: of all that were idle from the start in one commit. */
  async #deleteAll(): Promise<void> {
    const done = this.#deps.track('handing shards over');
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#drained.length > 0) {
      const shards = this.#drained.splice(0);
      const hasFailed = await this.#delete(shards);
      for (const shard of shards) this.#running.delete(shard);
      this.#deps.onEnd(hasFailed);
    }
    this.#deleting = undefined;
    done();
  }

  /** Returns whether it failed. */
  async #delete(shards: readonly number[]): Promise<boolean> {
    const { store, table, logger, leaving } = this.#deps;
    if (leaving.aborted) return false;
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
    }
  }

  /** Waits for work in flight, but no longer than the grace period. */
  async #drain(shard: number): Promise<void> {
    const { table, clock, leaving, gracePeriodMs } = this.#deps;
    const drained = table.drain([shard]);
    const ended = new AbortController();
    const gracePeriod = sleep(clock, gracePeriodMs, AbortSignal.any([ended.signal, leaving])).catch(() => undefined);
    await Promise.race([drained, gracePeriod]);
    ended.abort();
  }
}

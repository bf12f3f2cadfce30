import { isFinished } from '../model/instance.ts';
import type { InstanceStore } from '../storage/instance-store.ts';
import type { WorkflowsDeps } from './workflows-deps.ts';

/** The dependencies of {@link Surplus}. */
export interface SurplusDeps extends Pick<WorkflowsDeps, 'retention' | 'work' | 'logger'> {
  readonly store: InstanceStore;
}

/** How many finished instances are read at a time. */
const PAGE = 1_000;
/** After how many ends the surplus is removed: this share of the instances that are kept, and not fewer than the other. */
const SHARE = 0.1;
const MIN_ENDS = 100;

/**
 * Removes the instances that finished longest ago when there are more than are to be kept. It reads all instances: so it
 * does that at the start, and then after some have ended. Other hosts do the same; what one has removed is gone for all.
 */
export class Surplus {
  readonly #deps: SurplusDeps;
  readonly #maxCount: number;
  #ends = 0;
  #isRemoving = false;
  #isStopped = false;

  constructor(deps: SurplusDeps, maxCount: number) {
    this.#deps = deps;
    this.#maxCount = maxCount;
  }

  /** Begins at once; `undefined` if all instances are kept. */
  static of(deps: SurplusDeps): Surplus | undefined {
    const { maxCount } = deps.retention;
    if (maxCount === undefined) return undefined;
    const surplus = new Surplus(deps, maxCount);
    void surplus.remove();
    return surplus;
  }

  /** An instance has finished. */
  ended(): void {
    if (++this.#ends >= Math.max(MIN_ENDS, this.#maxCount * SHARE)) void this.remove();
  }

  /** Removes what is too much; logs failures. */
  async remove(): Promise<void> {
    if (this.#isRemoving || this.#isStopped) return;
    this.#isRemoving = true;
    this.#ends = 0;
    const { work, logger } = this.#deps;
    const done = work.begin('removal of finished workflows');
    try {
      const finished = await this.#finished();
      finished.sort((a, b) => a.endedAt - b.endedAt);
      const surplus = finished.slice(0, Math.max(0, finished.length - this.#maxCount));
      for (const { id } of surplus) if (!this.#isStopped) await this.#removeOne(id);
    } catch (error) {
      if (!this.#isStopped) logger.error({ error }, 'finished workflows could not be removed: will be tried again');
    } finally {
      done();
      this.#isRemoving = false;
    }
  }

  async #finished(): Promise<{ readonly id: string; readonly endedAt: number }[]> {
    const finished: { id: string; endedAt: number }[] = [];
    let from: string | undefined;
    do {
      const scan = { prefix: '', parentId: undefined, from, reverse: false, limit: PAGE };
      const { found, next } = await this.#deps.store.list(scan, () => undefined);
      for (const { record } of found)
        if (isFinished(record.status)) finished.push({ id: record.instanceId, endedAt: record.updatedAt });
      from = next;
    } while (from !== undefined && !this.#isStopped);
    return finished;
  }

  /** Activities of an instance that has finished may still run: then it stays. */
  async #removeOne(id: string): Promise<void> {
    const stored = await this.#deps.store.read(id);
    if (stored !== undefined && isFinished(stored.record.status) && stored.record.dueAt !== 0)
      await this.#deps.store.remove(stored);
  }

  stop(): void {
    this.#isStopped = true;
  }
}

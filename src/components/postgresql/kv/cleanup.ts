import { messageOf } from '../../../errors.ts';
import type { Logger } from '../../../util/logger.ts';
import { clearInterval, setInterval } from '../../../util/timers.ts';
import type { KvConnection } from './kv-connection.ts';
import { ROWS_PER_CLEANUP } from './statements.ts';

/** Dapr's: the intervals of two processes are not the same to the millisecond. */
const TOLERANCE_MS = 100;

/** The dependencies of a {@link Cleanup}. */
export interface CleanupDeps {
  readonly cleanupIntervalMs: number;
  readonly cleanupKey: string;
  readonly logger: Logger;
  readonly run: <T>(work: (connection: KvConnection) => Promise<T>) => Promise<T>;
}

/** Deletes expired rows now and then. Of all sidecars, Dapr's included, one does it in each interval. */
export class Cleanup {
  readonly #deps: CleanupDeps;
  readonly #timer: NodeJS.Timeout | undefined;
  #underWay: Promise<void> | undefined;
  #isClosed = false;

  constructor(deps: CleanupDeps) {
    this.#deps = deps;
    if (deps.cleanupIntervalMs > 0) this.#timer = setInterval(() => this.#begin(), deps.cleanupIntervalMs).unref();
  }

  #begin(): void {
    this.#underWay ??= this.#clean()
      .catch((error: unknown) =>
        this.#deps.logger.warn({ error: messageOf(error) }, 'expired values were not deleted: trying again later'),
      )
      .finally(() => {
        this.#underWay = undefined;
      });
  }

  async #clean(): Promise<void> {
    const { run, cleanupKey, cleanupIntervalMs } = this.#deps;
    const mark = [cleanupKey, String(cleanupIntervalMs - TOLERANCE_MS)];
    const marked = await run((connection) => connection.run('markCleanup', mark));
    if (marked.length === 0) return;
    let deleted = ROWS_PER_CLEANUP;
    while (deleted === ROWS_PER_CLEANUP && !this.#isClosed)
      deleted = (await run((connection) => connection.run('deleteExpired', []))).length;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#underWay;
  }
}

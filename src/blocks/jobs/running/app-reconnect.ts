import { type Backoff, backoffDelayMs } from '../../../util/backoff.ts';
import { sleep } from '../../../util/clock.ts';
import type { Delivery } from './delivery.ts';
import type { JobsHost } from './jobs-host.ts';

/** What waiting needs. */
export interface AppReturnParts {
  readonly delivery: Delivery;
  readonly host: JobsHost;
  readonly backoff: Backoff;
  readonly stopping: AbortSignal;
  /** It takes requests again. */
  readonly onReturn: () => void;
}

/** No connection could be made: what goes to the application waits until it takes requests again. */
export class AppReconnect {
  readonly #parts: AppReturnParts;
  #isWaiting = false;

  constructor(parts: AppReturnParts) {
    this.#parts = parts;
  }

  /** The application was not there. */
  expect(reason: string): void {
    const { delivery, host, stopping } = this.#parts;
    delivery.isAppReady = false;
    if (this.#isWaiting || stopping.aborted) return;
    host.logger.warn({ reason }, 'the application cannot be reached: jobs wait for it');
    void this.#wait();
  }

  async #wait(): Promise<void> {
    const { delivery, host, backoff, stopping, onReturn } = this.#parts;
    this.#isWaiting = true;
    try {
      for (let tries = 1; !delivery.isAppReady; tries++) {
        await sleep(host.clock, backoffDelayMs(backoff, tries, host.random), stopping);
        if (await host.app?.isReachable()) delivery.isAppReady = true;
      }
      onReturn();
    } catch {
      // Stopped.
    } finally {
      this.#isWaiting = false;
    }
  }
}

import { messageOf } from '../../../errors.ts';
import { backoffDelayMs } from '../../../util/backoff.ts';
import { sleep } from '../../../util/clock.ts';
import type { DeliveryHost } from './delivery-host.ts';
import { discoverSubscriptions } from './discovery.ts';

/** What asking the application is made of. */
export interface AppSubscriptionsParts {
  readonly appId: string;
  readonly host: DeliveryHost;
  /** Takes what the application told, unchecked. */
  readonly take: (list: readonly unknown[]) => Promise<void>;
}

const BACKOFF = { initialDelayMs: 500, maxDelayMs: 30_000, factor: 2, jitter: 0.2 };

/** Asks the application for its subscriptions whenever it comes, until it has told them. */
export class AppSubscriptions {
  readonly #parts: AppSubscriptionsParts;
  readonly #stopping = new AbortController();
  /** Counts how often the application has come or gone. */
  #meeting = 0;

  constructor(parts: AppSubscriptionsParts) {
    this.#parts = parts;
  }

  /**
   * The application has come. Resolves after the first answer, with whether the application is still the same; when it
   * could not be read, asks again in the background.
   */
  async ask(): Promise<boolean> {
    const meeting = ++this.#meeting;
    const hasTold = await this.#askOnce(meeting);
    if (meeting !== this.#meeting) return false;
    if (!hasTold) void this.#askLater(meeting);
    return true;
  }

  /** The application has gone. */
  forget(): void {
    this.#meeting++;
  }

  stop(): void {
    this.#stopping.abort(new Error('the sidecar is stopping'));
  }

  async #askOnce(meeting: number): Promise<boolean> {
    const { host, appId, take } = this.#parts;
    try {
      const list = await discoverSubscriptions(host.call, host.wire, appId);
      // The answer of an application that has gone since says nothing of the one that comes.
      if (meeting === this.#meeting) await take(list);
      return true;
    } catch (error) {
      host.logger.warn(
        { error: messageOf(error) },
        'the application could not be asked for its subscriptions: will be tried again',
      );
      return false;
    }
  }

  async #askLater(meeting: number): Promise<void> {
    const { clock, random } = this.#parts.host;
    for (let attempt = 1; ; attempt++) {
      try {
        await sleep(clock, backoffDelayMs(BACKOFF, attempt, random), this.#stopping.signal);
      } catch {
        return;
      }
      if (meeting !== this.#meeting || (await this.#askOnce(meeting))) return;
    }
  }
}

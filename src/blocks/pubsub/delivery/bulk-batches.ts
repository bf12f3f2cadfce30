import type { Delivery } from '../../../components/pubsub.ts';
import { type Clock, type DualInstant, dualNow, msSince, type Timer } from '../../../util/clock.ts';

/** A batch is complete at either limit. */
export interface BatchLimits {
  readonly maxMessages: number;
  /** The longest that the oldest message waits for more. */
  readonly maxAwaitMs: number;
}

/** The most messages in flight of a bulk subscription. */
const MAX_IN_FLIGHT = 10_000;

/** How many messages are in flight at most, with so many batches at a time. */
export function maxInBulk({ maxMessages }: BatchLimits, concurrency: number): number {
  return Math.min(maxMessages * concurrency, MAX_IN_FLIGHT);
}

/** Collects messages into batches and sends each batch as soon as it is complete. */
export class BulkBatches {
  readonly #limits: BatchLimits;
  readonly #concurrency: number;
  readonly #clock: Clock;
  readonly #send: (batch: readonly Delivery[]) => Promise<void>;
  #waiting: { readonly delivery: Delivery; readonly since: DualInstant }[] = [];
  #sending = 0;
  #timer: Timer | undefined;

  constructor(
    limits: BatchLimits,
    concurrency: number,
    clock: Clock,
    send: (batch: readonly Delivery[]) => Promise<void>,
  ) {
    this.#limits = limits;
    this.#concurrency = concurrency;
    this.#clock = clock;
    this.#send = send;
  }

  add(deliveries: readonly Delivery[]): void {
    const since = dualNow(this.#clock);
    for (const delivery of deliveries) this.#waiting.push({ delivery, since });
    this.#flush();
  }

  /** Forgets messages that were not sent: they stay unsettled. */
  clear(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#waiting = [];
  }

  #flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    while (this.#sending < this.#concurrency && this.#isDue()) {
      const batch = this.#waiting.splice(0, this.#limits.maxMessages).map(({ delivery }) => delivery);
      this.#sending++;
      void this.#send(batch).finally(() => {
        this.#sending--;
        this.#flush();
      });
    }
    const [oldest] = this.#waiting;
    if (oldest === undefined || this.#sending >= this.#concurrency) return;
    this.#timer = this.#clock.setTimeout(
      () => this.#flush(),
      this.#limits.maxAwaitMs - msSince(oldest.since, this.#clock),
    );
  }

  #isDue(): boolean {
    const [oldest] = this.#waiting;
    if (oldest === undefined) return false;
    return (
      this.#waiting.length >= this.#limits.maxMessages || msSince(oldest.since, this.#clock) >= this.#limits.maxAwaitMs
    );
  }
}

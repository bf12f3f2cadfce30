import { type Backoff, backoffDelayMs } from '../util/backoff.ts';
import { type Clock, sleep } from '../util/clock.ts';

const BACKOFF: Backoff = { initialDelayMs: 500, maxDelayMs: 30_000, factor: 2, jitter: 0.2 };

/** What {@link askAgain} needs. */
export interface AskAgainDeps {
  readonly clock: Clock;
  readonly random: () => number;
  /** Fires when the sidecar stops. */
  readonly stopping: AbortSignal;
  /** Whether it is still the application that was asked first: another one is asked when it comes. */
  readonly isSameApp: () => boolean;
}

/** Asks the application again, with back-off, until `ask` resolves to whether it has answered. Never rejects. */
export async function askAgain(
  ask: () => Promise<boolean>,
  { clock, random, stopping, isSameApp }: AskAgainDeps,
): Promise<void> {
  for (let attempt = 1; isSameApp(); attempt++) {
    try {
      await sleep(clock, backoffDelayMs(BACKOFF, attempt, random), stopping);
    } catch {
      return;
    }
    if (!isSameApp() || (await ask())) return;
  }
}

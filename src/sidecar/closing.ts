import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { withTimeLimit } from '../util/time-limit.ts';

/** The real time for closing the rest after the time of a stop has elapsed. After that, the stop gives up. */
const CLOSING_MS = 5_000;
/** The real time that each of what a stop closes in the end may take: a store may never answer. */
const LIMIT_MS = 30_000;
/** Both with a test clock: the stop must end before the test times out. */
const IN_TEST_MS = 1_000;

/** The real time for closing the rest of the blocks. */
export function closingMsOf({ realGracePeriodMs }: Clock): number {
  return realGracePeriodMs === undefined ? CLOSING_MS : IN_TEST_MS;
}

/** Waits for the end of a closing within the time for it; logs if the stop gives up on it. Never rejects. */
export async function closedWithin(
  what: string,
  closing: Promise<unknown> | undefined,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<PromiseSettledResult<unknown>> {
  const limitMs = clock.realGracePeriodMs === undefined ? LIMIT_MS : IN_TEST_MS;
  let isGivenUp = false;
  const giveUp = (): Error => {
    isGivenUp = true;
    const message = 'the stop gave up waiting for something to close';
    logger.error({ closing: what, limitMs }, message);
    return new Error(message);
  };
  const [result] = await Promise.allSettled([withTimeLimit(Promise.resolve(closing), limitMs, giveUp)]);
  // It is logged: the stop itself has not failed.
  return isGivenUp ? { status: 'fulfilled', value: undefined } : result;
}

import type { BlockService } from '../blocks/block-service.ts';
import type { Answers } from '../http/answers.ts';
import type { Clock } from '../util/clock.ts';
import { setGracePeriod } from '../util/grace-period.ts';
import type { Logger } from '../util/logger.ts';
import { withTimeLimit } from '../util/time-limit.ts';
import type { Work } from '../util/work.ts';
import type { ResolvedOptions } from './options.ts';

/** The real time for closing the rest after the time of a stop has elapsed. After that, the stop gives up. */
const CLOSING_MS = 5_000;
/** The real time that each of what a stop closes in the end may take: a store may never answer. */
const LIMIT_MS = 30_000;
/** Both with a test clock: the stop must end before the test times out. */
const IN_TEST_MS = 1_000;

/** The real time for closing the rest of the blocks. */
function closingMsOf({ realGracePeriodMs }: Clock): number {
  return realGracePeriodMs === undefined ? CLOSING_MS : IN_TEST_MS;
}

/** The work under way when a stop begins. */
interface InFlight {
  readonly work: Work;
  readonly answers: Answers;
}

/** Stops the blocks; waits for what is in flight within the time of a stop, and logs what has not ended by then. */
export async function windDown(
  blocks: readonly Pick<BlockService, 'stop'>[],
  inFlight: InFlight,
  { clock, stopTimeoutMs, logger }: Pick<ResolvedOptions, 'clock' | 'stopTimeoutMs' | 'logger'>,
): Promise<readonly PromiseSettledResult<unknown>[]> {
  let giveUp = (): void => undefined;
  const givenUp = new Promise<readonly []>((resolve) => {
    giveUp = () => resolve([]);
  });
  let closing: NodeJS.Timeout | undefined;
  // Before the timers of the blocks, which then drop their unfinished work.
  const patience = setGracePeriod(clock, stopTimeoutMs, () => {
    const unfinished = unfinishedOf(inFlight);
    if (unfinished.running.length + unfinished.answers > 0)
      logger.error(unfinished, 'the stop gave up waiting for unfinished work');
    closing = setTimeout(() => {
      logger.error(unfinishedOf(inFlight), 'the stop gave up waiting for something to close');
      giveUp();
    }, closingMsOf(clock));
  });
  const ended = Promise.allSettled([
    ...blocks.map((block) => block.stop()),
    inFlight.answers.ended(clock, stopTimeoutMs),
  ]);
  const results = await Promise.race([ended, givenUp]);
  patience.cancel();
  clearTimeout(closing);
  return results;
}

function unfinishedOf({ work, answers }: InFlight): { readonly running: readonly string[]; readonly answers: number } {
  return { running: [...work.running(), ...answers.streamed], answers: answers.underWay };
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

import type { ResiliencySpec } from '../../src/index.ts';
import type { Policy, Resiliency } from '../../src/resiliency/policy.ts';
import { type CircuitBreakerChange, makeResiliency } from '../../src/resiliency/resiliency.ts';
import type { VirtualClock } from '../../src/testing/index.ts';
import type { CancelToken } from '../../src/util/cancel-token.ts';
import { NEVER } from '../../src/util/cancel-token.ts';
import { Work } from '../../src/util/work.ts';
import { patientClock } from './clock.ts';
import { RecordingLogger } from './logger.ts';

/** Resiliency on a clock that stands still. */
export interface Made {
  readonly resiliency: Resiliency;
  readonly clock: VirtualClock;
  readonly logger: RecordingLogger;
  readonly changes: CircuitBreakerChange[];
}

/** `random` is the number that jitter gets; 0 for delays in full. */
export function make(specs: ResiliencySpec | readonly ResiliencySpec[], random = 0): Made {
  const clock = patientClock();
  const logger = new RecordingLogger();
  const work = new Work();
  clock.watch(work);
  const changes: CircuitBreakerChange[] = [];
  const changed = (change: CircuitBreakerChange): void => void changes.push(change);
  return {
    resiliency: makeResiliency(specs, { clock, work, logger, random: () => random, changed }),
    clock,
    logger,
    changes,
  };
}

/** The policy of the application `b`, which has these. */
export function policyOf(
  policies: {
    readonly timeout?: string | number;
    readonly retry?: NonNullable<NonNullable<ResiliencySpec['policies']>['retries']>[string];
    readonly breaker?: NonNullable<NonNullable<ResiliencySpec['policies']>['circuitBreakers']>[string];
  },
  random = 0,
): Made & { readonly policy: Policy } {
  const { timeout, retry, breaker } = policies;
  const made = make(
    {
      policies: {
        ...(timeout === undefined ? {} : { timeouts: { t: timeout } }),
        ...(retry === undefined ? {} : { retries: { r: retry } }),
        ...(breaker === undefined ? {} : { circuitBreakers: { c: breaker } }),
      },
      targets: {
        apps: {
          b: {
            ...(timeout === undefined ? {} : { timeout: 't' }),
            ...(retry === undefined ? {} : { retry: 'r' }),
            ...(breaker === undefined ? {} : { circuitBreaker: 'c' }),
          },
        },
      },
    },
    random,
  );
  const policy = made.resiliency.forApp('b', 'b:method');
  if (policy === undefined) throw new Error('there is no policy');
  return { ...made, policy };
}

/** Runs attempts that answer statuses, one after the other, the last one again and again; notes when each was made. */
export async function runStatuses(
  { policy, clock }: Pick<Made, 'clock'> & { readonly policy: Policy },
  statuses: readonly (number | Error)[],
  options: { readonly forMs?: number; readonly cancelToken?: CancelToken } = {},
): Promise<{ readonly end: number | string; readonly attemptsAt: readonly number[] }> {
  const startedAt = clock.now();
  const attemptsAt: number[] = [];
  let end: number | string = 'still running';
  policy
    .run(
      options.cancelToken ?? NEVER,
      async (_token, attempt) => {
        attemptsAt.push(clock.now() - startedAt);
        const answer = statuses[Math.min(attempt, statuses.length) - 1];
        if (answer instanceof Error) throw answer;
        return answer ?? 0;
      },
      (outcome) => ('value' in outcome ? policy.verdictOf(outcome.value) : 'retry'),
    )
    .then(
      (status) => {
        end = status;
      },
      (error: Error) => {
        end = error.message;
      },
    );
  await clock.advance(options.forMs ?? 3_600_000);
  return { end, attemptsAt };
}

import { backoffDelayMs } from '../../../util/backoff.ts';
import { checkRetry, type RetryOptions, type RetryPlan, retryPlanOf } from '../../../util/retry-options.ts';
import { INVALID_DATA, type WorkflowFailure } from './failure.ts';

/** How a task is tried again. */
export interface TaskRetry extends RetryPlan {
  /** Whether to retry after a failure; deterministic. */
  readonly retryIf: ((failure: WorkflowFailure) => boolean) | undefined;
  /** The longest time for all attempts together: no attempt begins after it. Classes of Dapr's SDK have it. */
  readonly maxDurationMs?: number | undefined;
}

/** A failed attempt. */
export interface FailedAttempt {
  /** From 1. */
  readonly attempt: number;
  readonly firstAt: number;
  readonly now: number;
  /** A number from 0 to 1, the same in every replay. */
  readonly random: () => number;
  readonly failure: WorkflowFailure;
}

const DEFAULTS: RetryPlan = {
  maxRetries: 3,
  initialDelayMs: 1_000,
  maxDelayMs: Number.POSITIVE_INFINITY,
  factor: 2,
  jitter: 0,
};

/**
 * The retries of a call; `undefined` for one attempt.
 *
 * @throws SidecarError `ERR_INVALID_ARGUMENT` for wrong options.
 */
export function taskRetryOf(retry: RetryOptions<WorkflowFailure> | undefined): TaskRetry | undefined {
  if (retry === undefined) return undefined;
  checkRetry(retry);
  return { ...retryPlanOf(retry, DEFAULTS), retryIf: retry.retryIf };
}

/** The delay before the next attempt, in milliseconds; `undefined` if there is none. Deterministic. */
export function retryDelayMs(retry: TaskRetry | undefined, failed: FailedAttempt): number | undefined {
  if (retry === undefined || failed.attempt > retry.maxRetries) return undefined;
  // Data that do not fit never will.
  if (failed.failure.errorType === INVALID_DATA) return undefined;
  if (retry.retryIf?.(failed.failure) === false) return undefined;
  const delayMs = Math.ceil(backoffDelayMs(retry, failed.attempt, failed.random));
  const limitMs = retry.maxDurationMs ?? Number.POSITIVE_INFINITY;
  return failed.now + delayMs > failed.firstAt + limitMs ? undefined : delayMs;
}

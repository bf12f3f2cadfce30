import { type TaskRetry, taskRetryOf } from '../blocks/workflow/model/retry.ts';
import type { FailureDetails } from './task-failed-error.ts';

/** Retries of a failed activity or child workflow. Times are in seconds. @public */
export interface RetryPolicy {
  /** The delay before the second attempt. */
  readonly firstRetryInterval: number;
  /** Max attempts, including the first one. */
  readonly maxNumberOfAttempts: number;
  /** The factor of each further delay, 1 or more. Default: 1. */
  readonly backoffCoefficient?: number | undefined;
  /** The longest delay. Default: no limit. */
  readonly maxRetryInterval?: number | undefined;
  /** The share by which each delay may be shorter, at random, from 0 to 1. Not in Dapr's SDK. Default: 0. */
  readonly jitter?: number | undefined;
  /** The time limit of all attempts together: no attempt starts after it. Default: no limit. */
  readonly retryTimeout?: number | undefined;
  /** Whether to retry after a failure; must be deterministic. Not in Dapr's SDK. Default: always. */
  readonly handle?: ((failure: FailureDetails) => boolean) | undefined;
}

/** Converts a policy for the engine. */
export function taskRetryOfPolicy(policy: RetryPolicy | undefined): TaskRetry | undefined {
  if (policy === undefined) return undefined;
  const { firstRetryInterval, maxNumberOfAttempts, backoffCoefficient = 1, maxRetryInterval, retryTimeout } = policy;
  const retry = taskRetryOf({
    maxRetries: maxNumberOfAttempts - 1,
    delay: firstRetryInterval * 1_000,
    maxDelay: maxRetryInterval === undefined ? undefined : maxRetryInterval * 1_000,
    factor: backoffCoefficient,
    jitter: policy.jitter,
    retryIf: policy.handle,
  });
  return retry && { ...retry, maxDurationMs: retryTimeout === undefined ? undefined : retryTimeout * 1_000 };
}

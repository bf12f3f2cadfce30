import type { RetryPolicy as CorePolicy } from '../blocks/workflow/model/definition.ts';
import type { FailureDetails } from './task-failed-error.ts';

/** How often and when a failed activity or child workflow is tried again. Times are in seconds. @public */
export interface RetryPolicy {
  /** The wait before the second attempt. */
  readonly firstRetryInterval: number;
  /** The most attempts, the first one included. */
  readonly maxNumberOfAttempts: number;
  /** What each further wait is multiplied with, 1 or more. Default 1. */
  readonly backoffCoefficient?: number;
  /** The longest wait. Default: no limit. */
  readonly maxRetryInterval?: number;
  /** How long all attempts may take together: none begins after that. Default: no limit. */
  readonly retryTimeout?: number;
  /**
   * Whether a failure is worth another attempt; it must always decide alike. Dapr's SDK does not have it. Default: each
   * is.
   */
  readonly handle?: (failure: FailureDetails) => boolean;
}

/** The same for the engine. */
export function corePolicyOf(policy: RetryPolicy | undefined): CorePolicy | undefined {
  if (policy === undefined) return undefined;
  const { firstRetryInterval, maxNumberOfAttempts, backoffCoefficient = 1, maxRetryInterval, retryTimeout } = policy;
  return {
    maxAttempts: maxNumberOfAttempts,
    initialIntervalMs: firstRetryInterval * 1000,
    backoffCoefficient,
    ...(maxRetryInterval === undefined ? undefined : { maxIntervalMs: maxRetryInterval * 1000 }),
    ...(retryTimeout === undefined ? undefined : { timeoutMs: retryTimeout * 1000 }),
    ...(policy.handle === undefined ? undefined : { handle: policy.handle }),
  };
}

import { formatGoDuration, msOf, parseGoDuration } from '../../util/duration.ts';
import { type RetryInfo, type RetryOptions, type RetryPlan, retryPlanOf } from '../../util/retry-options.ts';
import type { PolicyFields } from '../job.ts';
import { LONGEST_INTERVAL_MS as LONGEST_DURATION_MS } from './schedule.ts';

/** The policy of a job that sets none. */
export const DEFAULT_POLICY: PolicyFields = { constant: { maxRetries: 3, interval: '1s' } };

/** What retries are by default that code sets. */
const DEFAULT_RETRY: RetryPlan = {
  maxRetries: 3,
  initialDelayMs: 1_000,
  maxDelayMs: Number.POSITIVE_INFINITY,
  factor: 2,
  jitter: 0,
};

/** The longest interval of a policy, about a hundred years. */
const LONGEST_INTERVAL_MS = 100 * 365 * 24 * 3_600_000;

/** The retries that a policy grants. */
export function retriesOf(policy: PolicyFields = DEFAULT_POLICY): RetryPlan {
  if ('drop' in policy) return { ...CONSTANT, maxRetries: 0, initialDelayMs: 0 };
  const { maxRetries = Number.POSITIVE_INFINITY, interval } = policy.constant;
  const initialDelayMs = interval === undefined ? 0 : (parseGoDuration(interval) ?? 0);
  return { ...CONSTANT, ...policy.backoff, maxRetries, initialDelayMs };
}

const CONSTANT = { maxDelayMs: Number.POSITIVE_INFINITY, factor: 1, jitter: 0 };

/** The policy of retries that code sets, which were checked. */
export function policyOf(retry: RetryOptions<never>): PolicyFields {
  const { maxRetries, initialDelayMs, maxDelayMs, factor, jitter } = retryPlanOf(retry, DEFAULT_RETRY);
  const interval = formatGoDuration(Math.min(initialDelayMs, maxDelayMs, LONGEST_INTERVAL_MS));
  const constant = { ...(Number.isFinite(maxRetries) ? { maxRetries } : undefined), interval };
  if (factor === 1 && jitter === 0) return { constant };
  return { constant, backoff: { factor, jitter, ...(Number.isFinite(maxDelayMs) ? { maxDelayMs } : undefined) } };
}

/** A policy as operators see it. */
export function retryInfoOfPolicy(policy: PolicyFields): RetryInfo {
  const { maxRetries, initialDelayMs, maxDelayMs, factor, jitter } = retriesOf(policy);
  return {
    maxRetries: Number.isFinite(maxRetries) ? maxRetries : 'unlimited',
    delayMs: msOf(initialDelayMs),
    ...(Number.isFinite(maxDelayMs) ? { maxDelayMs: msOf(maxDelayMs) } : undefined),
    factor,
    jitter,
  };
}

/** Why the times of a policy cannot be read; `undefined` if they can. */
export function policyProblem(policy: PolicyFields | undefined): string | undefined {
  if (policy === undefined || 'drop' in policy) return undefined;
  const { interval } = policy.constant;
  const intervalMs = interval === undefined ? 0 : parseGoDuration(interval);
  if (intervalMs !== undefined && intervalMs >= 0 && intervalMs < LONGEST_DURATION_MS) return undefined;
  const expected = 'expected a duration of 0 to 292 years, such as 200ms';
  return `failurePolicy.constant.interval is ${JSON.stringify(interval)}: ${expected}`;
}

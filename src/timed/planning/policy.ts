import { parseGoDuration } from '../../util/duration.ts';
import type { PolicyFields } from '../job.ts';

/** A policy in numbers. */
export interface Retries {
  readonly maxRetries: number;
  readonly intervalMs: number;
}

/** The policy of a job that sets none. */
export const DEFAULT_POLICY: PolicyFields = { constant: { maxRetries: 3, interval: '1s' } };

const NO_RETRIES: Retries = { maxRetries: 0, intervalMs: 0 };

/** The retries that a policy grants. */
export function retriesOf(policy: PolicyFields = DEFAULT_POLICY): Retries {
  if ('drop' in policy) return NO_RETRIES;
  const { maxRetries = Number.POSITIVE_INFINITY, interval } = policy.constant;
  const intervalMs = interval === undefined ? 0 : Math.ceil(parseGoDuration(interval) ?? 0);
  return { maxRetries, intervalMs };
}

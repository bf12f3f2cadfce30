import { SidecarError } from '../../../errors.ts';
import { msOf } from '../../../util/duration.ts';
import { parseDurationOption } from '../../../util/duration-option.ts';
import { checkFields, fieldNames } from '../../../util/known-fields.ts';
import type { RetryPolicy } from './definition.ts';
import { INVALID_DATA, type WorkflowFailure } from './failure.ts';

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

const DEFAULT_INTERVAL_MS = 1_000;
const DEFAULT_COEFFICIENT = 2;
/** Higher powers exceed every limit. */
const MAX_POWER = 1_000;
/** About a hundred years: the end of a timer must be a valid date. */
const MAX_DELAY_MS = 100 * 365.25 * 24 * 3_600_000;

/** The delay before the next attempt, in milliseconds; `undefined` if there is none. Deterministic. */
export function retryDelayMs(policy: RetryPolicy | undefined, failed: FailedAttempt): number | undefined {
  if (policy === undefined || failed.attempt >= policy.maxAttempts) return undefined;
  // Data that do not fit never will.
  if (failed.failure.errorType === INVALID_DATA) return undefined;
  if (policy.handle?.(failed.failure) === false) return undefined;
  const {
    initialIntervalMs = DEFAULT_INTERVAL_MS,
    backoffCoefficient = DEFAULT_COEFFICIENT,
    maxIntervalMs,
    jitter = 0,
  } = policy;
  // Finite, so that no interval stays none however often it grows.
  const factor = Math.min(backoffCoefficient ** Math.min(failed.attempt - 1, MAX_POWER), Number.MAX_VALUE);
  const full = initialIntervalMs * factor;
  const longestMs = Math.min(full, maxIntervalMs ?? MAX_DELAY_MS, MAX_DELAY_MS);
  const delayMs = Math.ceil(jitter === 0 ? longestMs : longestMs * (1 - jitter * failed.random()));
  const limitMs = msOf(policy.maxDuration) ?? Number.POSITIVE_INFINITY;
  if (failed.now + delayMs > failed.firstAt + limitMs) return undefined;
  return delayMs;
}

const POLICY_FIELDS = fieldNames<RetryPolicy>({
  maxAttempts: true,
  initialIntervalMs: true,
  backoffCoefficient: true,
  maxIntervalMs: true,
  jitter: true,
  maxDuration: true,
  handle: true,
});

/** Rejects an invalid policy. */
export function checkRetryPolicy(policy: RetryPolicy | undefined): void {
  if (policy === undefined) return;
  checkFields(policy, POLICY_FIELDS, 'retry');
  const { maxAttempts, backoffCoefficient = DEFAULT_COEFFICIENT, jitter = 0 } = policy;
  if (!(Number.isInteger(maxAttempts) && maxAttempts >= 1))
    throw wrong('maxAttempts', maxAttempts, 'a whole number from 1');
  if (!(backoffCoefficient >= 1)) throw wrong('backoffCoefficient', backoffCoefficient, 'a number from 1');
  if (!(jitter >= 0 && jitter <= 1)) throw wrong('jitter', jitter, 'a number from 0 to 1');
  for (const field of ['initialIntervalMs', 'maxIntervalMs'] as const) {
    const value = policy[field];
    if (value !== undefined && !(value >= 0)) throw wrong(field, value, 'milliseconds, 0 or more');
  }
  if (policy.maxDuration !== undefined) parseDurationOption('retry.maxDuration', policy.maxDuration);
}

function wrong(field: string, value: unknown, expected: string): SidecarError {
  return new SidecarError('ERR_BAD_REQUEST', `retry.${field} is ${String(value)}: expected ${expected}`);
}

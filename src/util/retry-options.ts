import type { Backoff } from './backoff.ts';
import { DURATION_FORMS, type Duration, isDurationWithin, msOf, readDuration } from './duration.ts';
import { fieldNames, fieldsProblem } from './known-fields.ts';
import { invalidArgument, type OptionError } from './option-fields.ts';
import { DURATION, type JsonSchema, optionsSchema } from './options-schema.ts';
import { outside } from './outside.ts';
import { shown } from './shown.ts';

/**
 * When and how often something that has failed is tried again: the delivery of a message, an activity or a child
 * workflow.
 *
 * @public
 */
export interface RetryOptions<Failure = unknown> {
  /**
   * Retries after the first attempt: 0 for none, `'unlimited'` for no limit. Default 3; `'unlimited'` for a subscription
   * without a dead-letter topic.
   */
  readonly maxRetries?: number | 'unlimited' | undefined;
  /** The delay before the first retry. Default `1s`; `100ms` for a subscription. */
  readonly delay?: Duration | undefined;
  /**
   * The longest delay. Default: `30s` for a subscription, no limit for an activity or a child workflow; never less than
   * `delay`.
   */
  readonly maxDelay?: Duration | undefined;
  /** How many times as long as the delay before it each further delay is, 1 or more. Default 2. */
  readonly factor?: number | undefined;
  /**
   * The share by which each delay may be shorter, at random, from 0 to 1: what fails together is then not tried again
   * together. Default 0; 0.2 for a subscription.
   */
  readonly jitter?: number | undefined;
  /**
   * Whether to retry after a failure: what was thrown, else an `Error` with the reason. `false` means that no attempt
   * follows. Default: always.
   */
  readonly retryIf?: ((failure: Failure) => boolean) | undefined;
}

/** Retries as they were set, without a default: times in milliseconds. @public */
export interface RetryInfo {
  /** Retries after the first attempt. */
  readonly maxRetries?: number | 'unlimited';
  /** The delay before the first retry, in milliseconds. */
  readonly delayMs?: number;
  /** The longest delay, in milliseconds. */
  readonly maxDelayMs?: number;
  /** How many times as long as the delay before it each further delay is. */
  readonly factor?: number;
  /** The share by which each delay may be shorter. */
  readonly jitter?: number;
}

/** Retries with all defaults: `Infinity` stands for no limit. */
export interface RetryPlan extends Backoff {
  readonly maxRetries: number;
}

const MAX_RETRIES = 'a whole number of 0 or more, or "unlimited"';
const FACTOR = 'a number of 1 or more';
const JITTER = 'a number from 0 to 1';

/** The JSON schema of {@link RetryOptions}. */
export const RETRY_SCHEMA: JsonSchema = optionsSchema<Record<keyof RetryOptions, object>>({
  maxRetries: { type: ['integer', 'string'], minimum: 0, pattern: '^unlimited$', expects: MAX_RETRIES },
  delay: DURATION,
  maxDelay: DURATION,
  factor: { type: 'number', minimum: 1, expects: FACTOR },
  jitter: { type: 'number', minimum: 0, maximum: 1, expects: JITTER },
  retryIf: { isFunction: true, expects: 'a function' },
});

const FIELDS = fieldNames<RetryOptions>({
  maxRetries: true,
  delay: true,
  maxDelay: true,
  factor: true,
  jitter: true,
  retryIf: true,
});

/** Refuses wrong retries. `what` names them. Takes 0.1 µs, for calls in workflow code. */
export function checkRetry(
  retry: RetryOptions<never> | undefined,
  what = 'retry',
  fail: OptionError = invalidArgument,
): void {
  if (retry === undefined) return;
  const problem = fieldsProblem(retry, FIELDS, what);
  if (problem !== undefined) throw fail(problem.message, problem.argument.replace('options', 'options.retry'));
  const { maxRetries = 0, delay = 0, maxDelay = 0, factor = 1, jitter = 0, retryIf } = retry;
  const wrong = (name: keyof RetryOptions, expected: string): Error =>
    fail(`${what}.${name} is ${shown(retry[name])}: expected ${expected}`, `options.retry.${name}`);
  if (maxRetries !== 'unlimited' && !(Number.isSafeInteger(maxRetries) && maxRetries >= 0))
    throw wrong('maxRetries', MAX_RETRIES);
  if (!isDelay(delay)) throw wrong('delay', DURATION_FORMS);
  if (!isDelay(maxDelay)) throw wrong('maxDelay', DURATION_FORMS);
  if (!(Number.isFinite(factor) && factor >= 1)) throw wrong('factor', FACTOR);
  if (!(jitter >= 0 && jitter <= 1)) throw wrong('jitter', JITTER);
  if (retryIf !== undefined && typeof retryIf !== 'function') throw wrong('retryIf', 'a function');
}

function isDelay(value: unknown): boolean {
  return isDurationWithin(value, 0, Number.MAX_SAFE_INTEGER);
}

/** Retries that were checked, with defaults for what they do not say. */
export function retryPlanOf(retry: RetryOptions<never> | undefined, defaults: RetryPlan): RetryPlan {
  if (retry === undefined) return defaults;
  const {
    maxRetries = defaults.maxRetries,
    delay,
    maxDelay,
    factor = defaults.factor,
    jitter = defaults.jitter,
  } = retry;
  // With fractions: a delay is rounded once it has grown.
  const initialDelayMs = readDuration(delay) ?? defaults.initialDelayMs;
  return {
    maxRetries: maxRetries === 'unlimited' ? Number.POSITIVE_INFINITY : maxRetries,
    initialDelayMs,
    // A longer delay that was asked for is not cut by a limit that nobody has set.
    maxDelayMs: readDuration(maxDelay) ?? Math.max(initialDelayMs, defaults.maxDelayMs),
    factor,
    jitter,
  };
}

/** Whether a failure is to be retried; a function that throws refuses none. */
export function isWorthRetrying(
  retryIf: (failure: unknown) => boolean,
  failure: unknown,
  onError: (error: unknown) => void,
): boolean {
  try {
    return outside(() => retryIf(failure)) !== false;
  } catch (error) {
    onError(error);
    return true;
  }
}

/** Retries that were checked, as operators see them. */
export function retryInfoOf({ maxRetries, delay, maxDelay, factor, jitter }: RetryOptions<never>): RetryInfo {
  const [delayMs, maxDelayMs] = [msOf(delay), msOf(maxDelay)];
  return {
    ...(maxRetries === undefined ? undefined : { maxRetries }),
    ...(delayMs === undefined ? undefined : { delayMs }),
    ...(maxDelayMs === undefined ? undefined : { maxDelayMs }),
    ...(factor === undefined ? undefined : { factor }),
    ...(jitter === undefined ? undefined : { jitter }),
  };
}

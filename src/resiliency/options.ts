import { type JsonSchema, optionsSchema, POSITIVE } from '../util/options-schema.ts';

/**
 * Resiliency in Dapr's form: policies by name, and the targets that they hold for. A target that is not named has the
 * policies of the default names, such as `DefaultRetryPolicy`, where they exist, else none.
 *
 * Durations are Go durations such as `5s`; a bare number is milliseconds.
 *
 * @public
 */
export interface ResiliencySpec {
  /** The policies, by name. */
  readonly policies?: {
    /** How long an attempt may take; 0 for no limit. */
    readonly timeouts?: Readonly<Record<string, string | number>>;
    /** When and how often is tried again. */
    readonly retries?: Readonly<Record<string, RetryPolicyOptions>>;
    /** When nothing is tried any more for a while. */
    readonly circuitBreakers?: Readonly<Record<string, CircuitBreakerOptions>>;
  };
  /** What they hold for. */
  readonly targets?: {
    /** By app ID, name of an HTTP endpoint, or URL: how it is invoked. */
    readonly apps?: Readonly<Record<string, AppPolicies>>;
    /** By name of a component. */
    readonly components?: Readonly<Record<string, ComponentPolicies>>;
    /** There are no actors: accepted, without effect. */
    readonly actors?: Readonly<Record<string, unknown>>;
  };
}

/** When and how often is tried again. @public */
export interface RetryPolicyOptions {
  /** Whether the delay grows by half with each retry, up to `maxInterval`, with 50 % jitter. Default `constant`. */
  readonly policy?: 'constant' | 'exponential';
  /** The delay before a retry, before the first of an exponential policy. Default `5s`, exponential `500ms`. */
  readonly duration?: string | number;
  /** The longest delay of an exponential policy. Default `60s`. */
  readonly maxInterval?: string | number;
  /** Retries after the first attempt; -1 for no limit. Default -1. */
  readonly maxRetries?: number;
  /** What is retried at all. */
  readonly matching?: {
    /** Statuses and ranges of them, such as `429,500-599`. Default: all below 200 and above 399. */
    readonly httpStatusCodes?: string;
    /** Accepted, without effect: applications and components are not called over gRPC. */
    readonly gRPCStatusCodes?: string;
  };
}

/** When nothing is tried any more for a while. @public */
export interface CircuitBreakerOptions {
  /** Attempts that are let through when it is half-open; as many successes close it. Default 1. */
  readonly maxRequests?: number;
  /** How often the counts are reset while it is closed; 0 for never. Default 0. */
  readonly interval?: string | number;
  /** How long it stays open before it is half-open. Default `60s`. */
  readonly timeout?: string | number;
  /**
   * When it opens: CEL over the integers `requests`, `totalSuccesses`, `totalFailures`, `consecutiveSuccesses` and
   * `consecutiveFailures`. Default `consecutiveFailures > 5`.
   */
  readonly trip?: string;
}

/** The policies of one direction, by their names. @public */
export interface TargetPolicies {
  /** One of `policies.timeouts`. */
  readonly timeout?: string;
  /** One of `policies.retries`. */
  readonly retry?: string;
  /** One of `policies.circuitBreakers`. */
  readonly circuitBreaker?: string;
}

/** The policies of an application or HTTP endpoint. @public */
export interface AppPolicies extends TargetPolicies {
  /** Circuit breakers that are kept for its methods, each with its own; the least used one goes. Default 100. */
  readonly circuitBreakerCacheSize?: number;
}

/** The policies of a component. @public */
export interface ComponentPolicies {
  /** For what it brings to the application: deliveries. */
  readonly inbound?: TargetPolicies;
  /** For what it is asked to do: publishes. */
  readonly outbound?: TargetPolicies;
}

const text = { type: 'string', minLength: 1 } as const;
const duration = { type: ['string', 'number'] };
const byName = (item: JsonSchema): JsonSchema => ({ type: 'object', additionalProperties: item });
const policies = { timeout: text, retry: text, circuitBreaker: text };

const retry = optionsSchema<RetryPolicyOptions>({
  policy: { enum: ['constant', 'exponential'] },
  duration,
  maxInterval: duration,
  maxRetries: { type: 'integer', minimum: -1 },
  matching: optionsSchema<NonNullable<RetryPolicyOptions['matching']>>({
    httpStatusCodes: { type: 'string' },
    gRPCStatusCodes: { type: 'string' },
  }),
});
const circuitBreaker = optionsSchema<CircuitBreakerOptions>({
  maxRequests: POSITIVE,
  interval: duration,
  timeout: duration,
  trip: text,
});
const target = optionsSchema<TargetPolicies>(policies);

/** The JSON schema of {@link ResiliencySpec}. */
export const RESILIENCY_SCHEMA: JsonSchema = optionsSchema<ResiliencySpec>({
  policies: optionsSchema<NonNullable<ResiliencySpec['policies']>>({
    timeouts: byName(duration),
    retries: byName(retry),
    circuitBreakers: byName(circuitBreaker),
  }),
  targets: optionsSchema<NonNullable<ResiliencySpec['targets']>>({
    apps: byName(optionsSchema<AppPolicies>({ ...policies, circuitBreakerCacheSize: POSITIVE })),
    components: byName(optionsSchema<ComponentPolicies>({ inbound: target, outbound: target })),
    actors: { type: 'object' },
  }),
});

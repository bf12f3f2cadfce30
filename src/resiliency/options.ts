import { type JsonSchema, optionsSchema, POSITIVE } from '../util/options-schema.ts';

/**
 * Resiliency in Dapr's form: named policies and the targets that they apply to. A target that is not named uses the
 * policies with default names, such as `DefaultRetryPolicy`, if they exist.
 *
 * Durations are Go durations such as `5s`; a bare number is milliseconds.
 *
 * @public
 */
export interface ResiliencySpec {
  /** The policies, by name. */
  readonly policies?:
    | {
        /** Time limits of an attempt; 0 for no limit. Default: none. */
        readonly timeouts?: Readonly<Record<string, string | number>> | undefined;
        /** Retry policies. Default: none. */
        readonly retries?: Readonly<Record<string, ResiliencyRetry>> | undefined;
        /** Circuit breaker policies. Default: none. */
        readonly circuitBreakers?: Readonly<Record<string, CircuitBreakerOptions>> | undefined;
      }
    | undefined;
  /** The targets of the policies; those that it does not name use the policies with default names. */
  readonly targets?:
    | {
        /** By the invoked app ID, HTTP endpoint name or URL. Default: none. */
        readonly apps?: Readonly<Record<string, AppPolicies>> | undefined;
        /** By component name. Default: none. */
        readonly components?: Readonly<Record<string, ComponentPolicies>> | undefined;
        /** By actor type: of the calls of its actors by their host. Default: none. */
        readonly actors?: Readonly<Record<string, ActorPolicies>> | undefined;
      }
    | undefined;
}

/** A retry policy. @public */
export interface ResiliencyRetry {
  /** `exponential` delays grow by half with each retry, up to `maxInterval`, with 50 % jitter. Default: `constant`. */
  readonly policy?: 'constant' | 'exponential';
  /** The delay before a retry, of an exponential policy before the first. Default: `5s`, exponential `500ms`. */
  readonly duration?: string | number;
  /** The longest delay of an exponential policy. Default: `60s`. */
  readonly maxInterval?: string | number;
  /** Retries after the first attempt; -1 for no limit. Default: -1. */
  readonly maxRetries?: number;
  /** Which failures to retry. */
  readonly matching?: {
    /** Statuses and ranges, such as `429,500-599`. Default: all below 200 and above 399. */
    readonly httpStatusCodes?: string;
    /** Accepted without effect: applications and components are not called over gRPC. Default: none. */
    readonly gRPCStatusCodes?: string;
  };
}

/** A circuit breaker policy. @public */
export interface CircuitBreakerOptions {
  /** Attempts allowed while half-open; this many successes close it. Default: 1. */
  readonly maxRequests?: number;
  /** How often the counts are reset while closed; 0 for never. Default: 0. */
  readonly interval?: string | number;
  /** How long it stays open before it is half-open. Default: `60s`. */
  readonly timeout?: string | number;
  /**
   * The condition that opens it: CEL over the integers `requests`, `totalSuccesses`, `totalFailures`,
   * `consecutiveSuccesses` and `consecutiveFailures`. Default: `consecutiveFailures > 5`.
   */
  readonly trip?: string;
}

/** The policies of one direction, by name. @public */
export interface TargetPolicies {
  /** One of `policies.timeouts`. Default: none. */
  readonly timeout?: string;
  /** One of `policies.retries`. Default: none. */
  readonly retry?: string;
  /** One of `policies.circuitBreakers`. Default: none. */
  readonly circuitBreaker?: string;
}

/** The policies of an application or HTTP endpoint. @public */
export interface AppPolicies extends TargetPolicies {
  /** Max circuit breakers, one per method; the least recently used one is discarded. Default: 100. */
  readonly circuitBreakerCacheSize?: number;
}

/**
 * The policies of an actor type. A time limit counts from the beginning of the actor's turn, and ends only the waiting of
 * the caller; a retry takes a new turn.
 *
 * @public
 */
export interface ActorPolicies extends TargetPolicies {
  /** Whether one circuit breaker guards the type, each actor has its own (`id`), or both. Default: `type`. */
  readonly circuitBreakerScope?: 'type' | 'id' | 'both' | undefined;
  /** Max circuit breakers of single actors; the least recently used one is discarded. Default: 5000. */
  readonly circuitBreakerCacheSize?: number | undefined;
}

/** The policies of a component. @public */
export interface ComponentPolicies {
  /** Policies of its deliveries to the application. */
  readonly inbound?: TargetPolicies;
  /** Policies of publishes to it. */
  readonly outbound?: TargetPolicies;
}

const text = { type: 'string', minLength: 1 } as const;
const duration = { type: ['string', 'number'] };
const byName = (item: JsonSchema): JsonSchema => ({ type: 'object', additionalProperties: item });
const policies = { timeout: text, retry: text, circuitBreaker: text };

const retry = optionsSchema<ResiliencyRetry>({
  policy: { enum: ['constant', 'exponential'] },
  duration,
  maxInterval: duration,
  maxRetries: { type: 'integer', minimum: -1 },
  matching: optionsSchema<NonNullable<ResiliencyRetry['matching']>>({
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
    actors: byName(
      optionsSchema<ActorPolicies>({
        ...policies,
        circuitBreakerScope: { enum: ['type', 'id', 'both'] },
        circuitBreakerCacheSize: POSITIVE,
      }),
    ),
  }),
});

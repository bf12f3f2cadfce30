import { messageOf, SidecarError } from '../errors.ts';
import { parseGoDuration } from '../util/duration.ts';
import { validator } from '../util/schema.ts';
import type { BreakerSettings } from './breaker.ts';
import {
  type CircuitBreakerOptions,
  RESILIENCY_SCHEMA,
  type ResiliencyRetry,
  type ResiliencySpec,
  type TargetPolicies,
} from './options.ts';
import { Retry } from './retry.ts';
import { parseStatusRanges, type StatusRange } from './status-ranges.ts';
import { compileTrip } from './trip.ts';

/** A circuit breaker policy and its name in logs and events. */
export interface NamedBreaker {
  readonly name: string;
  readonly settings: BreakerSettings;
}

/** Policies by name. */
export interface NamedPolicies {
  readonly timeouts: ReadonlyMap<string, number>;
  readonly retries: ReadonlyMap<string, Retry>;
  readonly breakers: ReadonlyMap<string, NamedBreaker>;
}

/** The policies of a target. */
export interface Holding {
  readonly timeoutMs: number | undefined;
  readonly retry: Retry | undefined;
  readonly breaker: NamedBreaker | undefined;
}

/** The policies of an application. */
export interface AppHolding extends Holding {
  /** Max circuit breakers kept for it. */
  readonly maxBreakers: number;
}

/** The policies of an actor type. */
export interface ActorHolding extends Holding {
  readonly scope: 'type' | 'id' | 'both';
  /** Max circuit breakers kept for its actors. */
  readonly maxBreakers: number;
}

/** The complete configuration, with policy names resolved. */
export interface ParsedResiliency {
  readonly policies: NamedPolicies;
  readonly apps: ReadonlyMap<string, AppHolding>;
  /** By actor type. */
  readonly actors: ReadonlyMap<string, ActorHolding>;
  /** By component and direction; see {@link componentKey}. */
  readonly components: ReadonlyMap<string, Holding>;
}

const DIRECTIONS = ['inbound', 'outbound'] as const;
const DEFAULT_BREAKERS = 100;
export const DEFAULT_ACTOR_BREAKERS = 5_000;
const DEFAULT_OPEN_MS = 60_000;
const problemOf = validator(RESILIENCY_SCHEMA, '');

/** The key of one direction of a component. */
export function componentKey(name: string, direction: (typeof DIRECTIONS)[number]): string {
  return `${direction} ${name}`;
}

/**
 * Validates and merges specs: targets of one may use policies of another.
 *
 * @param tripFailed - called with the policy name if a `trip` could not be evaluated
 * @throws SidecarError `ERR_CONFIGURATION` naming the field, its value and what was expected.
 */
export function parseResiliency(
  given: ResiliencySpec | readonly ResiliencySpec[],
  tripFailed: (policy: string, error: unknown) => void,
): ParsedResiliency {
  const specs = Array.isArray(given) ? (given as readonly ResiliencySpec[]) : [given as ResiliencySpec];
  const named = specs.map((spec, index) => new Reader(spec, Array.isArray(given) ? `[${index}]` : '', tripFailed));
  const policies: NamedPolicies = {
    timeouts: joined(named.map((reader) => reader.timeouts())),
    retries: joined(named.map((reader) => reader.retries())),
    breakers: joined(named.map((reader) => reader.breakers())),
  };
  return {
    policies,
    apps: joined(named.map((reader) => reader.apps(policies))),
    actors: joined(named.map((reader) => reader.actors(policies))),
    components: joined(named.map((reader) => reader.components(policies))),
  };
}

/** A parsed value with its name and its location for messages. */
interface Read<T> {
  readonly name: string;
  readonly at: string;
  readonly value: T;
}

/** Reject duplicate names: the result would depend on the order of files. */
function joined<T>(lists: readonly (readonly Read<T>[])[]): Map<string, T> {
  const byName = new Map<string, Read<T>>();
  for (const read of lists.flat()) {
    const first = byName.get(read.name);
    if (first !== undefined) throw invalid(`${read.at} is defined twice: first as ${first.at}`);
    byName.set(read.name, read);
  }
  return new Map([...byName].map(([name, { value }]) => [name, value]));
}

/** Parses one spec. */
class Reader {
  readonly #spec: ResiliencySpec;
  readonly #at: string;
  readonly #tripFailed: (policy: string, error: unknown) => void;

  constructor(spec: ResiliencySpec, at: string, tripFailed: (policy: string, error: unknown) => void) {
    this.#spec = spec;
    this.#at = `options.resiliency${at}`;
    this.#tripFailed = tripFailed;
    const problem = problemOf(spec);
    if (problem !== undefined) throw invalid(`${this.#at}${problem}`);
  }

  timeouts(): Read<number>[] {
    return this.#each('policies.timeouts', this.#spec.policies?.timeouts, (value, at) => durationMs(value, at));
  }

  retries(): Read<Retry>[] {
    return this.#each('policies.retries', this.#spec.policies?.retries, parseRetry);
  }

  breakers(): Read<NamedBreaker>[] {
    return this.#each('policies.circuitBreakers', this.#spec.policies?.circuitBreakers, (options, at, name) => ({
      name,
      settings: parseBreaker(options, at, (error) => this.#tripFailed(name, error)),
    }));
  }

  apps(policies: NamedPolicies): Read<AppHolding>[] {
    return this.#each('targets.apps', this.#spec.targets?.apps, (target, at) => ({
      ...resolve(target, at, policies),
      maxBreakers: target.circuitBreakerCacheSize ?? DEFAULT_BREAKERS,
    }));
  }

  actors(policies: NamedPolicies): Read<ActorHolding>[] {
    return this.#each('targets.actors', this.#spec.targets?.actors, (target, at) => ({
      ...resolve(target, at, policies),
      scope: target.circuitBreakerScope ?? 'type',
      maxBreakers: target.circuitBreakerCacheSize ?? DEFAULT_ACTOR_BREAKERS,
    }));
  }

  components(policies: NamedPolicies): Read<Holding>[] {
    const targets = this.#each('targets.components', this.#spec.targets?.components, (target) => target);
    return targets.flatMap(({ name, at, value }) =>
      DIRECTIONS.flatMap((direction) => {
        const target = value[direction];
        if (target === undefined) return [];
        const place = `${at}.${direction}`;
        return [{ name: componentKey(name, direction), at: place, value: resolve(target, place, policies) }];
      }),
    );
  }

  #each<Given, T>(
    field: string,
    given: Readonly<Record<string, Given>> | undefined,
    read: (value: Given, at: string, name: string) => T,
  ): Read<T>[] {
    return Object.entries(given ?? {}).map(([name, value]) => {
      const at = `${this.#at}.${field}.${name}`;
      return { name, at, value: read(value, at, name) };
    });
  }
}

function resolve({ timeout, retry, circuitBreaker }: TargetPolicies, at: string, policies: NamedPolicies): Holding {
  return {
    timeoutMs: found(timeout, policies.timeouts, `${at}.timeout`) || undefined,
    retry: found(retry, policies.retries, `${at}.retry`),
    breaker: found(circuitBreaker, policies.breakers, `${at}.circuitBreaker`),
  };
}

function found<T>(name: string | undefined, policies: ReadonlyMap<string, T>, at: string): T | undefined {
  if (name === undefined) return undefined;
  const policy = policies.get(name);
  if (policy !== undefined) return policy;
  const known = [...policies.keys()].join(', ') || 'there are none';
  throw invalid(`${at} is ${JSON.stringify(name)}: expected the name of a policy (${known})`);
}

function parseRetry(options: ResiliencyRetry, at: string): Retry {
  const { policy, duration, maxInterval = 60_000, maxRetries = -1, matching } = options;
  const isConstant = policy !== 'exponential';
  const initialDelayMs = durationMs(duration ?? (isConstant ? 5_000 : 500), `${at}.duration`);
  const longestMs = durationMs(maxInterval, `${at}.maxInterval`);
  return new Retry({
    backoff: isConstant
      ? { initialDelayMs, maxDelayMs: initialDelayMs, factor: 1, jitter: 0 }
      : { initialDelayMs, maxDelayMs: longestMs, factor: 1.5, jitter: 0.5 },
    maxRetries: maxRetries < 0 ? Number.POSITIVE_INFINITY : maxRetries,
    statuses: parseStatuses(matching?.httpStatusCodes ?? '', `${at}.matching.httpStatusCodes`),
  });
}

function parseStatuses(text: string, at: string): readonly StatusRange[] | undefined {
  const ranges = parseStatusRanges(text);
  if (ranges === undefined)
    throw invalid(`${at} is ${JSON.stringify(text)}: expected statuses and ranges such as 429,500-599`);
  return ranges.length === 0 ? undefined : ranges;
}

function parseBreaker(options: CircuitBreakerOptions, at: string, failed: (error: unknown) => void): BreakerSettings {
  const { maxRequests = 1, interval = 0, timeout = 0, trip = 'consecutiveFailures > 5' } = options;
  let trips: BreakerSettings['trips'];
  try {
    trips = compileTrip(trip, failed);
  } catch (cause) {
    throw invalid(`${at}.trip is not valid: ${messageOf(cause)}`, cause);
  }
  const intervalMs = durationMs(interval, `${at}.interval`);
  // A breaker that is open for no time would never reject anything.
  const timeoutMs = durationMs(timeout, `${at}.timeout`) || DEFAULT_OPEN_MS;
  return { maxRequests, intervalMs, timeoutMs, trips };
}

/** Parses a Go duration or milliseconds. */
function durationMs(value: string | number, at: string): number {
  const isNumber = typeof value === 'number' || /^\d+$/.test(value);
  const ms = isNumber ? Number(value) : parseGoDuration(value);
  if (ms !== undefined && Number.isFinite(ms) && ms >= 0) return ms;
  throw invalid(`${at} is ${JSON.stringify(value)}: expected a duration such as 5s, or milliseconds, not negative`);
}

function invalid(problem: string, cause?: unknown): SidecarError {
  return new SidecarError('ERR_CONFIGURATION', problem, { cause });
}

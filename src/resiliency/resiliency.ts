import type { Probe } from '../probe.ts';
import type { Logger } from '../util/logger.ts';
import { LruCache } from '../util/lru.ts';
import { type BreakerState, CircuitBreaker } from './breaker.ts';
import { CallPolicy, type PolicyDeps } from './call-policy.ts';
import type { ResiliencySpec } from './options.ts';
import {
  type ActorHolding,
  componentKey,
  DEFAULT_ACTOR_BREAKERS,
  type Holding,
  type NamedPolicies,
  type ParsedResiliency,
  parseResiliency,
} from './parse.ts';
import type { BreakerInfo, ComponentKind, Direction, Policy, Resiliency } from './policy.ts';

/** A change of state of a circuit breaker. @public */
export interface CircuitBreakerChange {
  /** The kind of target: an application (or HTTP endpoint), a component, or an actor type. */
  readonly targetType: 'app' | 'component' | 'actor';
  /** The app ID, HTTP endpoint, URL, component or actor type. */
  readonly target: string;
  /**
   * The guarded part of the target: a method of the application; `inbound` or `outbound` of a component; the actor ID,
   * empty for all of the type.
   */
  readonly endpoint: string;
  /** The name of its policy. */
  readonly policy: string;
  /** The state before. */
  readonly from: BreakerState;
  /** The state now. */
  readonly to: BreakerState;
}

export interface ResiliencyDeps extends PolicyDeps {
  readonly logger: Logger;
  /** Called on every change of a breaker. */
  readonly changed: (change: CircuitBreakerChange) => void;
  readonly probe?: Probe | undefined;
}

/** Where a policy applies. */
type PolicyTarget = Pick<CircuitBreakerChange, 'targetType' | 'target' | 'endpoint'>;

/** Where a breaker applies, and by which policy. */
type GuardedPlace = PolicyTarget & Pick<CircuitBreakerChange, 'policy'>;

/** Max cached policies of unnamed targets: invocation accepts any URL. */
const MAX_UNNAMED = 1_000;

/** The names of default policies, the most specific first. */
const APP_DEFAULTS = ['App', ''];
const ACTOR_DEFAULTS = ['Actor', ''];
function componentDefaults(kind: ComponentKind, direction: Direction): readonly string[] {
  const way = direction === 'inbound' ? 'Inbound' : 'Outbound';
  return [`${kind}Component${way}`, `Component${way}`, 'Component', ''];
}

/**
 * Makes the policies of a sidecar.
 *
 * @throws SidecarError `ERR_CONFIGURATION` naming the field, its value and what was expected.
 */
export function makeResiliency(specs: ResiliencySpec | readonly ResiliencySpec[], deps: ResiliencyDeps): Resiliency {
  const parsed = parseResiliency(specs, (policy, error) =>
    deps.logger.error({ policy, error }, 'the trip of a circuit breaker could not be evaluated: it stays closed'),
  );
  return new ConfiguredResiliency(parsed, deps);
}

class ConfiguredResiliency implements Resiliency {
  readonly #parsed: ParsedResiliency;
  readonly #deps: ResiliencyDeps;
  readonly #appDefault: Holding;
  /** Policies by application and endpoint. One breaker each, so that a failing method does not block the others. */
  readonly #apps = new Map<string, LruCache<Policy>>();
  readonly #unnamed = new LruCache<Policy>(MAX_UNNAMED);
  readonly #components = new Map<string, Policy>();
  /** Policies of actor types, and those of single actors by their type. */
  readonly #actorDefault: ActorHolding;
  readonly #actorTypes = new LruCache<Policy>(MAX_UNNAMED);
  readonly #actors = new Map<string, LruCache<Policy>>();
  /** The target that each breaker guards. */
  readonly #places = new WeakMap<CircuitBreaker, GuardedPlace>();

  constructor(parsed: ParsedResiliency, deps: ResiliencyDeps) {
    this.#parsed = parsed;
    this.#deps = deps;
    this.#appDefault = defaultsOf(parsed.policies, APP_DEFAULTS);
    this.#actorDefault = {
      ...defaultsOf(parsed.policies, ACTOR_DEFAULTS),
      ...{ scope: 'type', maxBreakers: DEFAULT_ACTOR_BREAKERS },
    };
    for (const [name, { maxBreakers }] of parsed.apps) this.#apps.set(name, new LruCache(maxBreakers));
  }

  forApp(appId: string, endpoint: string): Policy | undefined {
    const holding = this.#parsed.apps.get(appId) ?? this.#appDefault;
    if (isEmpty(holding)) return undefined;
    // Without a breaker, all endpoints share one policy.
    const place: PolicyTarget = {
      targetType: 'app',
      target: appId,
      endpoint: holding.breaker === undefined ? '' : endpoint,
    };
    const make = (): Policy => this.#make(holding, place);
    const policies = this.#apps.get(appId);
    return (
      policies?.getOrMake(place.endpoint, make) ??
      this.#unnamed.getOrMake(JSON.stringify([appId, place.endpoint]), make)
    );
  }

  forEndpoint(name: string, endpoint: string): Policy | undefined {
    return this.forApp(name, endpoint);
  }

  forComponent(name: string, direction: Direction, kind: ComponentKind = 'Pubsub'): Policy | undefined {
    const key = componentKey(name, direction);
    const present = this.#components.get(key);
    if (present !== undefined) return present;
    const { components, policies } = this.#parsed;
    const holding = components.get(key) ?? defaultsOf(policies, componentDefaults(kind, direction));
    if (isEmpty(holding)) return undefined;
    const policy = this.#make(holding, { targetType: 'component', target: name, endpoint: direction });
    this.#components.set(key, policy);
    return policy;
  }

  forActor(actorType: string, actorId: string): Policy | undefined {
    const holding = this.#parsed.actors.get(actorType) ?? this.#actorDefault;
    if (isEmpty(holding)) return undefined;
    const { scope, breaker, maxBreakers } = holding;
    const place: PolicyTarget = { targetType: 'actor', target: actorType, endpoint: '' };
    if (scope === 'type' || breaker === undefined)
      return this.#actorTypes.getOrMake(actorType, () => this.#make(holding, place));
    const actors = this.#actors.get(actorType) ?? new LruCache<Policy>(maxBreakers);
    this.#actors.set(actorType, actors);
    const policy = actors.getOrMake(actorId, () => this.#make(holding, { ...place, endpoint: actorId }));
    if (scope === 'id') return policy;
    const onlyBreaker = { timeoutMs: undefined, retry: undefined, breaker };
    return within(
      this.#actorTypes.getOrMake(actorType, () => this.#make(onlyBreaker, place)),
      policy,
    );
  }

  breakers(): readonly BreakerInfo[] {
    const ofActors = [this.#actorTypes, ...this.#actors.values()];
    const caches = [...this.#apps.values(), this.#unnamed, ...ofActors].flatMap((cache) => cache.values());
    return [...caches, ...this.#components.values()].flatMap(({ breaker }) => {
      const place = breaker && this.#places.get(breaker);
      return breaker === undefined || place === undefined ? [] : [infoOf(breaker, place)];
    });
  }

  #make({ timeoutMs, retry, breaker }: Holding, place: PolicyTarget): Policy {
    const subject = `${place.targetType} ${place.target} ${place.endpoint}`;
    const guard =
      breaker &&
      new CircuitBreaker(breaker.settings, this.#deps.clock, (from, to) => this.#tell(place, breaker.name, from, to));
    if (guard !== undefined && breaker !== undefined) this.#places.set(guard, { ...place, policy: breaker.name });
    const { probe } = this.#deps;
    const retried = probe && ((): void => probe.retried(place));
    return new CallPolicy({ subject, timeoutMs, retry, breaker: guard, retried }, this.#deps);
  }

  #tell(place: PolicyTarget, policy: string, from: BreakerState, to: BreakerState): void {
    const { logger, changed } = this.#deps;
    const change: CircuitBreakerChange = { ...place, policy, from, to };
    logger[to === 'open' ? 'warn' : 'info'](change, `circuit breaker is ${to}`);
    changed(change);
  }
}

/** A policy whose calls are guarded by the breaker of another one, too. */
function within(outer: Policy, inner: Policy): Policy {
  const { timeoutMs, retry, breaker, mayRetry } = inner;
  return {
    ...{ timeoutMs, retry, breaker, mayRetry },
    verdictOf: (status) => inner.verdictOf(status),
    run: (cancelToken, attempt, judge, options) =>
      outer.run(cancelToken, (token) => inner.run(token, attempt, judge, options), judge),
  };
}

function infoOf(breaker: CircuitBreaker, place: GuardedPlace): BreakerInfo {
  const { state, changesAt, consecutiveFailures } = breaker;
  return { ...place, state, ...(state === 'open' ? { openUntil: changesAt } : undefined), consecutiveFailures };
}

/** The default policies of a kind of target, each by the most specific existing name. */
function defaultsOf({ timeouts, retries, breakers }: NamedPolicies, kinds: readonly string[]): Holding {
  const first = <T>(policies: ReadonlyMap<string, T>, what: string): T | undefined =>
    kinds.map((kind) => policies.get(`Default${kind}${what}Policy`)).find((policy) => policy !== undefined);
  return {
    timeoutMs: first(timeouts, 'Timeout') || undefined,
    retry: first(retries, 'Retry'),
    breaker: first(breakers, 'CircuitBreaker'),
  };
}

function isEmpty({ timeoutMs, retry, breaker }: Holding): boolean {
  return timeoutMs === undefined && retry === undefined && breaker === undefined;
}

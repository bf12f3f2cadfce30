import { SidecarError } from '../../errors.ts';
import type { BreakerInfo } from '../../resiliency/policy.ts';

/** A part of the sidecar, and whether it is ready. @public */
export interface HealthCheck {
  /**
   * The part: `components`, `state` (the store of the sidecar's own state), `stores` (of components), `app-channel` (the
   * connection to the application) or `actors` (whether this host has the actor types that it is to have).
   */
  readonly name: 'components' | 'state' | 'stores' | 'app-channel' | 'actors';
  /** Whether it is ready. */
  readonly isReady: boolean;
  /** Why it is not ready, if that is known. */
  readonly reason?: string;
}

/** The sidecar's readiness, part by part. @public */
export interface HealthState {
  /** Whether all components are open, all stores work, and the application can be reached. */
  readonly isReady: boolean;
  /** Whether all components are open and all stores work, whether or not the application can be reached. */
  readonly isOutboundReady: boolean;
  /**
   * The parts; without an application, there is no `app-channel`, and without actors no `actors`. The latter is only shown:
   * a sidecar without its actors is ready for all else.
   */
  readonly checks: readonly HealthCheck[];
}

/** Why a part is not ready. */
export interface NotReady {
  readonly reason: string | undefined;
}

/** A part to check. */
export interface ReadinessCheck {
  readonly name: HealthCheck['name'];
  /** `undefined` if it is ready. */
  readonly problem: () => NotReady | undefined;
}

export interface HealthDeps {
  readonly appId: string;
  /** Needed for calls to the sidecar. */
  readonly outbound: readonly ReadinessCheck[];
  /** Also needed for deliveries to the application. */
  readonly inbound: readonly ReadinessCheck[];
  /** Shown only; `undefined` if there is nothing to show. */
  readonly actors: () => ReadinessCheck | undefined;
  readonly breakers: () => readonly BreakerInfo[];
}

/**
 * The sidecar's readiness.
 *
 * @public
 */
export class Health {
  readonly #deps: HealthDeps;

  /** @internal */
  constructor(deps: HealthDeps) {
    this.#deps = deps;
  }

  /**
   * Succeeds if all components are open, the state store and the stores of components work, and the application can be reached.
   *
   * @param appId - if given, must be the sidecar's own
   * @throws SidecarError `ERR_HEALTH_NOT_READY` naming what is not ready, `ERR_HEALTH_APPID_NOT_MATCH`.
   * @internal
   */
  check(appId?: string): void {
    const missing = notReady([...this.#deps.outbound, ...this.#deps.inbound]);
    if (missing.length > 0)
      throw new SidecarError('ERR_HEALTH_NOT_READY', `sidecar is not ready: [${missing.join(' ')}]`);
    if (appId === undefined || appId === this.#deps.appId) return;
    throw new SidecarError(
      'ERR_HEALTH_APPID_NOT_MATCH',
      `sidecar app-id does not match: ${JSON.stringify(appId)} was asked for`,
    );
  }

  /**
   * Succeeds if all components are open and all stores work, whether or not the application can be reached.
   *
   * @throws SidecarError `ERR_OUTBOUND_HEALTH_NOT_READY` naming what is not ready.
   * @internal
   */
  checkOutbound(): void {
    const missing = notReady(this.#deps.outbound);
    if (missing.length > 0)
      throw new SidecarError('ERR_OUTBOUND_HEALTH_NOT_READY', `sidecar outbound is not ready: [${missing.join(' ')}]`);
  }

  /**
   * The state of each part. Does not throw.
   *
   * @example
   * ```ts
   * for (const { name, isReady, reason } of sidecar.health.state().checks) console.log(name, isReady, reason);
   * ```
   */
  state(): HealthState {
    const outbound = this.#deps.outbound.map(stateOf);
    const inbound = this.#deps.inbound.map(stateOf);
    const actors = this.#deps.actors();
    const isOutboundReady = outbound.every(({ isReady }) => isReady);
    return {
      isReady: isOutboundReady && inbound.every(({ isReady }) => isReady),
      isOutboundReady,
      checks: [...outbound, ...inbound, ...(actors === undefined ? [] : [stateOf(actors)])],
    };
  }

  /**
   * The circuit breakers of this sidecar that have been used; one is forgotten when there are too many.
   *
   * @example
   * ```ts
   * for (const { target, state } of sidecar.health.breakers()) console.log(target, state);
   * ```
   */
  breakers(): readonly BreakerInfo[] {
    return this.#deps.breakers();
  }
}

function stateOf({ name, problem }: ReadinessCheck): HealthCheck {
  const found = problem();
  if (found === undefined) return { name, isReady: true };
  return { name, isReady: false, ...(found.reason === undefined ? undefined : { reason: found.reason }) };
}

function notReady(checks: readonly ReadinessCheck[]): string[] {
  return checks.filter(({ problem }) => problem() !== undefined).map(({ name }) => name);
}

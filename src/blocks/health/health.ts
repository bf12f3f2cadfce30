import { SidecarError } from '../../errors.ts';

/** Returns the name of something that is not ready, else `undefined`. */
export type ReadinessCheck = () => string | undefined;

export interface HealthDeps {
  readonly appId: string;
  /** Needed for calls to the sidecar. */
  readonly outbound: readonly ReadinessCheck[];
  /** Also needed for deliveries to the application. */
  readonly inbound: readonly ReadinessCheck[];
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
   * Succeeds if all components are open, the state store works and the application can be reached.
   *
   * @param appId - if given, must be the sidecar's own
   * @throws SidecarError `ERR_HEALTH_NOT_READY` naming what is not ready, `ERR_HEALTH_APPID_NOT_MATCH`.
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
   * Succeeds if all components are open and the state store works, whether or not the application can be reached.
   *
   * @throws SidecarError `ERR_OUTBOUND_HEALTH_NOT_READY` naming what is not ready.
   */
  checkOutbound(): void {
    const missing = notReady(this.#deps.outbound);
    if (missing.length > 0)
      throw new SidecarError('ERR_OUTBOUND_HEALTH_NOT_READY', `sidecar outbound is not ready: [${missing.join(' ')}]`);
  }
}

function notReady(checks: readonly ReadinessCheck[]): string[] {
  return checks.map((check) => check()).filter((name) => name !== undefined);
}

import { SidecarError } from '../../errors.ts';

/** Something that must be ready; answers with its name when it is not. */
export type ReadinessCheck = () => string | undefined;

/** What readiness depends on. */
export interface HealthDeps {
  readonly appId: string;
  /** What calls to the sidecar need. */
  readonly outbound: readonly ReadinessCheck[];
  /** What deliveries to the application need besides. */
  readonly inbound: readonly ReadinessCheck[];
}

/**
 * Readiness of the sidecar.
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
   * Passes when all components are open, the state store works and the application can be reached.
   *
   * @param appId - when given, must be the sidecar's own
   * @throws SidecarError `ERR_HEALTH_NOT_READY` naming what is not, `ERR_HEALTH_APPID_NOT_MATCH`.
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
   * Passes when all components are open and the state store works, whether or not the application can be reached.
   *
   * @throws SidecarError `ERR_OUTBOUND_HEALTH_NOT_READY` naming what is not.
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

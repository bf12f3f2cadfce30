import type { AppMonitor } from '../../app/app-monitor.ts';
import { UnfitRequest } from '../../app/fetch-app.ts';
import { isNoConnection } from '../../app/no-connection.ts';
import type { AppAddress } from '../../app/transport.ts';
import { asHeaderValue } from '../../http/header-value.ts';
import { cancelTokenOf, type Handler, type SidecarRequest, type SidecarResponse } from '../../http/message.ts';
import type { Policy, Resiliency } from '../../resiliency/policy.ts';
import type { Caller } from '../../security/identity.ts';
import type { Wire } from '../../wire.ts';
import type { Destination } from './destination.ts';
import { failed } from './errors.ts';
import type { Fields } from './headers.ts';

/** The part of the application's channel that invocation uses. */
export interface InvokedApp {
  readonly handle: Handler;
  /** Like `handle`, without the token that the application expects of the sidecar. */
  readonly handleWithoutToken: Handler;
  readonly address: AppAddress;
}

export interface OwnAppDeps {
  readonly appId: string;
  readonly wire: Wire;
  readonly app: InvokedApp | undefined;
  readonly monitor: Pick<AppMonitor, 'isHealthy'> | undefined;
  readonly resiliency: Resiliency | undefined;
}

/** The caller's names, as passed to the application. */
export type NamedCaller = Pick<Caller, 'appId' | 'namespace'>;

/** A caller of `sidecar.peers` without proof of identity: the application gets neither its name nor a token. */
export const STRANGER = 'stranger';

/** The application of this sidecar. */
export class OwnApp implements Destination {
  readonly isOwn = true;
  readonly #deps: OwnAppDeps;
  readonly #caller: NamedCaller | undefined;
  readonly #hasToken: boolean;

  constructor(deps: OwnAppDeps, caller: NamedCaller | typeof STRANGER | undefined) {
    this.#deps = deps;
    this.#caller = caller === STRANGER ? undefined : caller;
    this.#hasToken = caller !== STRANGER;
  }

  get callerId(): string | undefined {
    return this.#caller?.appId;
  }

  policy(path: string): Policy | undefined {
    return this.#deps.resiliency?.forApp(this.#deps.appId, path);
  }

  addTo(fields: Fields): Fields {
    const { callerAppId, callerNamespace, calleeAppId } = this.#deps.wire.headers;
    if (this.#caller !== undefined) {
      fields[callerAppId] = asHeaderValue(this.#caller.appId);
      fields[callerNamespace] = asHeaderValue(this.#caller.namespace);
    }
    fields[calleeAppId] = asHeaderValue(this.#deps.appId);
    return fields;
  }

  pathOf(path: string): string {
    return path;
  }

  send(request: SidecarRequest): Promise<SidecarResponse> {
    const { app, appId, monitor } = this.#deps;
    if (app === undefined)
      return Promise.reject(
        failed(appId, 'there is no application: set the option app (--app-port of the command)', 'unknown'),
      );
    if (monitor?.isHealthy === false)
      return Promise.reject(failed(appId, 'the application is not healthy', 'unhealthy'));
    const handle = this.#hasToken ? app.handle : app.handleWithoutToken;
    return isRemote(app) ? handle(request) : this.#callInProcess(handle, request);
  }

  /** Errors thrown by the application are logged, not sent to the caller. */
  async #callInProcess(handle: Handler, request: SidecarRequest): Promise<SidecarResponse> {
    try {
      return await handle(request);
    } catch (error) {
      if (cancelTokenOf(request).aborted || error instanceof UnfitRequest) throw error;
      throw failed(this.#deps.appId, 'the application broke off before it answered', 'unreachable', error);
    }
  }

  isUnreached(error: unknown): boolean {
    const { app } = this.#deps;
    return app !== undefined && isRemote(app) && isNoConnection(error);
  }
}

function isRemote({ address }: InvokedApp): boolean {
  return address.port !== undefined;
}

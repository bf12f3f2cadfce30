import type { SidecarRequest, SidecarResponse } from '../../http/message.ts';
import type { AccessControl } from '../../security/access-control.ts';
import type { Caller, Identity } from '../../security/identity.ts';
import type { Wire } from '../../wire.ts';
import type { Address } from './address.ts';
import type { Destinations } from './destinations.ts';
import { denied, failed } from './errors.ts';
import { vouchedCaller } from './in-process-caller.ts';
import type { Invocation } from './invocation.ts';
import { checkPath, cleanedPath } from './method-path.ts';
import type { NamedCaller } from './own-app.ts';

/** What decides over calls of the own application. */
export interface PeersDeps {
  readonly invocation: Invocation;
  readonly destinations: Destinations;
  readonly wire: Wire;
  readonly own: NamedCaller;
  readonly identity: Identity | undefined;
  readonly accessControl: AccessControl | undefined;
  /** The trust domain of sidecars in this process. */
  readonly trustDomain: string;
  /** Whether callers of the API have proved by a token that they are the own application. */
  readonly isApiGuarded: boolean;
}

/** Calls of the own application: by other sidecars, and by whoever reaches the API. */
export class Peers {
  readonly #deps: PeersDeps;

  constructor(deps: PeersDeps) {
    this.#deps = deps;
  }

  /** Whether another sidecar calls, or says so. */
  isPeer({ headers }: SidecarRequest): boolean {
    const { identity, peer } = this.#deps.wire.headers;
    return headers[identity] !== undefined || headers[peer] !== undefined;
  }

  /** Whether another sidecar proves who it is: then it needs no API token. */
  identifies({ headers }: SidecarRequest): boolean {
    const { identity, wire } = this.#deps;
    return identity !== undefined && headers[wire.headers.identity] !== undefined;
  }

  /** Answers a request of the API: of another sidecar on the same port, or of the application. */
  answer(request: SidecarRequest, address: Address): Promise<SidecarResponse> {
    if (this.isPeer(request)) return this.answerPeer(request, address);
    const { accessControl, isApiGuarded, destinations, invocation } = this.#deps;
    if (accessControl === undefined || isApiGuarded || !destinations.isOwnName(address.target))
      return invocation.forward(address, request);
    return this.#callOwn(request, address, { caller: undefined, named: undefined });
  }

  /** Answers another sidecar: the own application can be called, and nothing else. */
  async answerPeer(request: SidecarRequest, address: Address): Promise<SidecarResponse> {
    const { destinations, own } = this.#deps;
    const caller = await this.#callerOf(request);
    if (!destinations.isOwnName(address.target))
      throw failed(address.target, `this is the sidecar of ${own.appId} in namespace ${own.namespace}`);
    return this.#callOwn(request, address, { caller, named: caller ?? this.#claimedBy(request) });
  }

  async #callOwn(
    request: SidecarRequest,
    address: Address,
    { caller, named }: { readonly caller: Caller | undefined; readonly named: NamedCaller | undefined },
  ): Promise<SidecarResponse> {
    const { accessControl, destinations, invocation } = this.#deps;
    checkPath(address.path);
    if (accessControl !== undefined) {
      const path = cleanedPath(address.path);
      const verdict = accessControl.check({ caller, verb: request.method, path, rawPath: address.path });
      if (verdict !== 'allow') throw denied(address.target, nameOf(caller), `${request.method} ${path}`);
    }
    return invocation.forward(address, request, destinations.ownFor(named));
  }

  /** Who calls, if that is proved. */
  async #callerOf(request: SidecarRequest): Promise<Caller | undefined> {
    const { identity, wire, trustDomain } = this.#deps;
    const token = request.headers[wire.headers.identity];
    if (identity !== undefined && token !== undefined) return identity.verify(String(token));
    const vouched = vouchedCaller(request);
    return vouched === undefined ? undefined : { ...vouched, trustDomain };
  }

  /** Who the caller says it is. Without keys nobody can prove more; with them, who proves nothing has no name. */
  #claimedBy({ headers }: SidecarRequest): NamedCaller | undefined {
    const { identity, wire } = this.#deps;
    const appId = headers[wire.headers.callerAppId];
    const namespace = headers[wire.headers.callerNamespace];
    if (identity !== undefined || typeof appId !== 'string' || typeof namespace !== 'string') return undefined;
    return { appId, namespace };
  }
}

function nameOf(caller: Caller | undefined): string {
  return caller === undefined ? 'an unknown caller' : `${caller.appId} of namespace ${caller.namespace}`;
}

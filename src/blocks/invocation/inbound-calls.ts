import type { SidecarRequest, SidecarResponse } from '../../http/message.ts';
import type { AccessControl } from '../../security/access-control.ts';
import type { Caller, Identity } from '../../security/identity.ts';
import type { Wire } from '../../wire.ts';
import type { CallAddress } from './address.ts';
import type { Destination } from './destination.ts';
import type { Destinations } from './destinations.ts';
import { denied, failed } from './errors.ts';
import { senderOf, vouchedCaller } from './in-process-caller.ts';
import type { Invocation } from './invocation.ts';
import { checkPath, cleanedPath } from './method-path.ts';
import { type NamedCaller, STRANGER } from './own-app.ts';
import { fromService, toService } from './service-headers.ts';

export interface PeersDeps {
  readonly invocation: Invocation;
  readonly destinations: Destinations;
  readonly wire: Wire;
  readonly own: NamedCaller;
  readonly identity: Identity | undefined;
  readonly accessControl: AccessControl | undefined;
  /** The trust domain of sidecars in this process. */
  readonly trustDomain: string;
  /** Whether API callers have proved with a token that they are the own application. */
  readonly isApiGuarded: boolean;
  /** Called for callers of the port for other sidecars that prove nothing and may call all the same. */
  readonly noticeStranger: (request: SidecarRequest) => void;
}

interface OwnCall {
  /** Authenticated. */
  readonly caller: Caller | undefined;
  readonly destination: Destination;
  /** Whether it came to the port for other sidecars and proves nothing. */
  readonly isStranger?: boolean;
}

/** Calls to the own application, by other sidecars and by clients of the API. */
export class Peers {
  readonly #deps: PeersDeps;

  constructor(deps: PeersDeps) {
    this.#deps = deps;
  }

  /**
   * Whether the request comes from another sidecar, or claims to. A false claim gains nothing: without a proof the
   * caller is anonymous, and may call only the own application.
   */
  isPeer(request: SidecarRequest): boolean {
    return request.headers[this.#deps.wire.headers.peer] !== undefined || this.identifies(request);
  }

  /** Whether another sidecar authenticates itself with a token: it then needs no API token. */
  identifies({ headers }: SidecarRequest): boolean {
    const { identity, wire } = this.#deps;
    return identity !== undefined && headers[wire.headers.identity] !== undefined;
  }

  /** Answers an API request, from another sidecar on the same port or from the application. */
  answer(request: SidecarRequest, address: CallAddress): Promise<SidecarResponse> {
    if (this.isPeer(request)) return this.#answerSidecar(request, address);
    const { accessControl, isApiGuarded, destinations, invocation } = this.#deps;
    if (accessControl !== undefined && !isApiGuarded && destinations.isOwnName(address.target))
      return this.#callOwn(request, address, { caller: undefined, destination: destinations.ownForAnyone() });
    const destination = destinations.find(address.target);
    if (destination.service === undefined) return invocation.forward(address, request, destination);
    return this.#callService(request, address, destination, destination.service);
  }

  async #callService(
    request: SidecarRequest,
    address: CallAddress,
    destination: Destination,
    kind: NonNullable<Destination['service']>,
  ): Promise<SidecarResponse> {
    const { invocation } = this.#deps;
    return fromService(await invocation.forward(address, toService(request, kind), destination), kind);
  }

  /** Answers a request to the port for other sidecars, whose callers have shown no API token. */
  answerPeer(request: SidecarRequest, address: CallAddress): Promise<SidecarResponse> {
    return this.#answerSidecar(request, address, STRANGER);
  }

  /** Answers another sidecar, which may call only the own application. `unproved` is one that proves nothing. */
  async #answerSidecar(
    request: SidecarRequest,
    address: CallAddress,
    unproved?: typeof STRANGER,
  ): Promise<SidecarResponse> {
    const { destinations, identity, own, wire } = this.#deps;
    const caller = await this.#callerOf(request);
    if (!destinations.isOwnName(address.target))
      throw failed(address.target, `this is the sidecar of ${own.appId} in namespace ${own.namespace}`, 'unknown');
    // With keys, who proves nothing has no name.
    const sender = identity === undefined ? senderOf(request.headers[wire.headers.peer], own) : undefined;
    const named = caller ?? sender ?? unproved;
    const destination = destinations.ownForPeer(named);
    return this.#callOwn(request, address, { caller, destination, isStranger: named === STRANGER });
  }

  async #callOwn(
    request: SidecarRequest,
    address: CallAddress,
    { caller, destination, isStranger = false }: OwnCall,
  ): Promise<SidecarResponse> {
    const { accessControl, invocation } = this.#deps;
    checkPath(address.path);
    if (accessControl !== undefined) {
      const path = cleanedPath(address.path);
      const verdict = accessControl.check({ caller, verb: request.method, path, rawPath: address.path });
      if (verdict !== 'allow') throw denied(address.target, nameOf(caller), `${request.method} ${path}`);
    }
    if (isStranger) this.#deps.noticeStranger(request);
    return invocation.forward(address, request, destination);
  }

  /** The caller, if authenticated. Names in header fields are never believed. */
  async #callerOf(request: SidecarRequest): Promise<Caller | undefined> {
    const { identity, wire, trustDomain } = this.#deps;
    const token = request.headers[wire.headers.identity];
    if (identity !== undefined && token !== undefined) return identity.verify(String(token));
    const vouched = vouchedCaller(request);
    return vouched === undefined ? undefined : { ...vouched, trustDomain };
  }
}

function nameOf(caller: Caller | undefined): string {
  return caller === undefined ? 'an unknown caller' : `${caller.appId} of namespace ${caller.namespace}`;
}

import type { ClientPool } from '../../http/client-pool.ts';
import type { Destination } from './destination.ts';
import { baseUrlOf, type HttpEndpoint } from './endpoints.ts';
import { failed, refused, shown } from './errors.ts';
import { Service } from './external-service.ts';
import { checkPath } from './method-path.ts';
import { type NamedCaller, OwnApp, type OwnAppDeps, type STRANGER } from './own-app.ts';
import { RemoteApp, type RemoteAppDeps } from './remote-app.ts';

export interface DestinationsDeps extends OwnAppDeps, RemoteAppDeps {
  readonly endpoints: ReadonlyMap<string, HttpEndpoint>;
  /** Clients for URLs; `undefined` if URLs are not allowed as targets. */
  readonly clients: ClientPool | undefined;
}

const URL_TARGET = /^https?:\/\//i;
/** An app ID and an optional namespace. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it refuses
const APP_TARGET = /^([^./\s\x00-\x1f\x7f]{1,256})(?:\.([^./\s\x00-\x1f\x7f]{1,256}))?$/;

/** Finds the destination of a target: an HTTP endpoint, a URL, the own or another application; in this order. */
export class Destinations {
  readonly #deps: DestinationsDeps;
  /** The own application, called by itself. */
  readonly #own: OwnApp;
  /** Policies are the caller's: a call that comes from another sidecar has passed them there. */
  readonly #ofPeers: OwnAppDeps;

  constructor(deps: DestinationsDeps) {
    this.#deps = deps;
    this.#own = new OwnApp(deps, deps.own);
    this.#ofPeers = { ...deps, resiliency: undefined };
  }

  /** @throws SidecarError `ERR_DIRECT_INVOKE`: 400 for a URL that cannot be called, else 500. */
  find(target: string): Destination {
    const { endpoints, resiliency } = this.#deps;
    const endpoint = endpoints.get(target);
    if (endpoint !== undefined)
      return new Service({
        name: target,
        baseUrl: endpoint.baseUrl,
        client: () => endpoint.client,
        endpoint,
        resiliency,
      });
    if (URL_TARGET.test(target)) return this.#service(target);
    const callee = this.#calleeOf(target);
    if (callee === undefined)
      throw failed(
        target,
        'it is not an application: expected <appId>, <appId>.<namespace>, an HTTP endpoint or a URL',
        'unknown',
      );
    return this.#isOwn(callee) ? this.#own : new RemoteApp(this.#deps, callee, target);
  }

  /** The own application, called by an anonymous client of the API. */
  ownForAnyone(): Destination {
    return new OwnApp(this.#deps, undefined);
  }

  /** The own application, called by another sidecar; `caller` is the caller whose name the application gets. */
  ownForPeer(caller: NamedCaller | typeof STRANGER | undefined): Destination {
    return new OwnApp(this.#ofPeers, caller);
  }

  /** Whether a target names the own application. */
  isOwnName(target: string): boolean {
    const callee = this.#calleeOf(target);
    return callee !== undefined && this.#isOwn(callee);
  }

  #isOwn({ appId, namespace }: NamedCaller): boolean {
    return appId === this.#deps.own.appId && namespace === this.#deps.own.namespace;
  }

  #calleeOf(target: string): NamedCaller | undefined {
    const [, appId, namespace = this.#deps.own.namespace] = APP_TARGET.exec(target) ?? [];
    return appId === undefined ? undefined : { appId, namespace };
  }

  #service(url: string): Destination {
    const { clients, resiliency } = this.#deps;
    if (clients === undefined)
      throw refused(
        'a URL is not allowed as a target: expected an application or an HTTP endpoint (options.invocation.urls)',
        'target',
      );
    checkPath(url);
    const baseUrl = baseUrlOf(url);
    if (baseUrl === undefined)
      throw refused(
        `target ${shown(url.replace(/\/\/.*@/, '//…@'))} cannot be called: expected a URL without query, fragment and credentials`,
        'target',
      );
    return new Service({
      name: url,
      baseUrl,
      client: () => clients.clientOf(baseUrl.origin),
      endpoint: undefined,
      resiliency,
    });
  }
}

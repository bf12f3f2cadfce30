import type { AppMonitor } from '../../app/app-monitor.ts';
import { ClientPool } from '../../http/client-pool.ts';
import type { SidecarRequest } from '../../http/message.ts';
import type { Match, Route } from '../../http/router.ts';
import type { Resiliency } from '../../resiliency/policy.ts';
import type { AccessControl } from '../../security/access-control.ts';
import { strangerWarning } from '../../security/exposure.ts';
import type { Identity } from '../../security/identity.ts';
import type { Complete } from '../../util/defined-only.ts';
import type { BlockDeps } from '../block-deps.ts';
import { Destinations } from './destinations.ts';
import { type HttpEndpointOptions, openEndpoints } from './endpoints.ts';
import { RequestHeaders } from './headers.ts';
import { Peers } from './inbound-calls.ts';
import { Invocation } from './invocation.ts';
import type { InvocationOptions } from './options.ts';
import type { InvokedApp } from './own-app.ts';
import type { Resolver } from './resolver.ts';
import { invocationFallback, invocationRoutes, peerFallback, peerRoutes } from './routes.ts';

export interface InvocationBlockDeps extends BlockDeps {
  readonly app: InvokedApp | undefined;
  readonly monitor: AppMonitor | undefined;
  readonly resolver: Resolver | undefined;
  readonly resiliency: Resiliency | undefined;
  readonly identity: Identity | undefined;
  readonly accessControl: AccessControl | undefined;
  /** The trust domain of sidecars in this process. */
  readonly trustDomain: string;
}

/** The options of the block. */
export interface InvocationSettings {
  readonly invocation: Complete<InvocationOptions>;
  readonly httpEndpoints: readonly HttpEndpointOptions[];
  readonly apiToken: string;
  readonly bodyLimitBytes: number;
  readonly headLimitBytes: number;
}

/** The block with its routes. */
export interface OpenInvocation {
  readonly invocation: Invocation;
  /** For the application. */
  readonly routes: readonly Route[];
  readonly fallback: (request: SidecarRequest) => Match | undefined;
  /** For other sidecars. */
  readonly peerRoutes: readonly Route[];
  readonly peerFallback: (request: SidecarRequest) => Match | undefined;
}

/** Max origins with pooled connections. */
const MAX_ORIGINS = 100;

/**
 * Makes the block.
 *
 * @throws SidecarError `ERR_CONFIGURATION` for an invalid HTTP endpoint.
 */
export function makeInvocation(deps: InvocationBlockDeps, settings: InvocationSettings): OpenInvocation {
  const { appId, namespace, wire } = deps;
  const { httpEndpoints, bodyLimitBytes, headLimitBytes, apiToken } = settings;
  const own = { appId, namespace };
  const endpoints = openEndpoints(httpEndpoints, headLimitBytes);
  const clients = settings.invocation.urls ? new ClientPool(MAX_ORIGINS, headLimitBytes) : undefined;
  const destinations = new Destinations({ ...deps, own, endpoints, clients });
  const invocation = new Invocation({
    ...deps,
    destinations,
    headers: new RequestHeaders(wire),
    replayLimitBytes: bodyLimitBytes,
    close: async () => {
      await Promise.all([clients?.close(), ...[...endpoints.values()].map((endpoint) => endpoint.close())]);
    },
  });
  // With both, the options say what callers may do that prove nothing.
  const isDecided = deps.identity !== undefined && deps.accessControl !== undefined;
  const noticeStranger = isDecided ? () => undefined : strangerWarning(deps.logger, deps.identity !== undefined);
  const peers = new Peers({ ...deps, invocation, destinations, own, isApiGuarded: apiToken !== '', noticeStranger });
  return {
    invocation,
    routes: invocationRoutes(peers),
    fallback: invocationFallback(peers, wire),
    peerRoutes: peerRoutes(peers),
    peerFallback: peerFallback(peers, wire),
  };
}

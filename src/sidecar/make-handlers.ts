import { actorRoutes } from '../blocks/actors/routes.ts';
import { bindingRoutes } from '../blocks/bindings/routes.ts';
import { configurationRoutes } from '../blocks/configuration/routes.ts';
import { daprOnlyRoutes } from '../blocks/dapr-only/routes.ts';
import { healthRoutes } from '../blocks/health/routes.ts';
import type { OpenInvocation } from '../blocks/invocation/make-invocation.ts';
import { jobRoutes } from '../blocks/jobs/routes.ts';
import { lockRoutes } from '../blocks/locks/routes.ts';
import { metadataRoutes } from '../blocks/metadata/routes.ts';
import { placementRoutes } from '../blocks/placement/routes.ts';
import { pubsubRoutes } from '../blocks/pubsub/routes.ts';
import { secretRoutes } from '../blocks/secrets/routes.ts';
import { stateRoutes } from '../blocks/state/routes.ts';
import { workflowRoutes } from '../blocks/workflow/routes.ts';
import { BrowserGuard } from '../http/browser-guard.ts';
import { type GuardOptions, guard } from '../http/guard.ts';
import type { Handler, SidecarRequest } from '../http/message.ts';
import { type Route, Router } from '../http/router.ts';
import { permittedRoutes } from '../security/api-list.ts';
import { OriginList, withCors } from '../security/cors.ts';
import { exposureWarning } from '../security/exposure.ts';
import type { BuiltSidecar, SidecarDeps } from './build-sidecar.ts';
import type { ResolvedOptions } from './options.ts';

interface HasInvocation {
  readonly opened: OpenInvocation;
}

/** Makes the handler of the HTTP API. */
export function makeHandler(
  options: ResolvedOptions,
  host: SidecarDeps,
  {
    stores,
    pubsub,
    jobs,
    workflows,
    actors,
    metadata,
    health,
    placement,
    opened,
    probe,
  }: Pick<
    BuiltSidecar,
    'stores' | 'pubsub' | 'jobs' | 'workflows' | 'actors' | 'metadata' | 'health' | 'placement' | 'probe'
  > &
    HasInvocation,
): Handler {
  const { wire, apiToken, bodyLimitBytes, api, cors } = options;
  const all = [
    ...pubsubRoutes(pubsub, wire, bodyLimitBytes),
    ...stateRoutes({ state: stores.state, wire, bodyLimitBytes }),
    ...jobRoutes({ jobs, wire, bodyLimitBytes }),
    ...workflowRoutes({ workflows, wire, bodyLimitBytes }),
    ...secretRoutes(stores.secrets, wire),
    ...configurationRoutes(stores.configuration, wire),
    ...lockRoutes(stores.locks, bodyLimitBytes),
    ...bindingRoutes({ bindings: stores.bindings, wire, bodyLimitBytes }),
    ...actorRoutes({ actors, wire, bodyLimitBytes }),
    ...opened.routes,
    ...metadataRoutes(metadata, bodyLimitBytes),
    ...healthRoutes(health),
    ...placementRoutes(placement),
    ...(wire.extraRoutes ? daprOnlyRoutes(host, options.logger) : []),
  ];
  const routes = permittedRoutes(all, api);
  const router = new Router(routes);
  // If invocation by path is disabled, so is invocation by header.
  const mayInvoke = opened.routes.every((route) => routes.includes(route));
  const origins = cors && new OriginList(cors);
  const tokenName = `${wire.environmentPrefix}API_TOKEN`;
  const handle = guarded(options, host, {
    router,
    probe,
    ...(mayInvoke ? { fallback: opened.fallback } : {}),
    ...(apiToken === ''
      ? {
          unguarded: exposureWarning(options.logger, tokenName),
          browsers: {
            guard: browserGuard(options, (origin) => origins?.answerTo(origin) !== undefined),
            advice: `set apiToken (${tokenName}), or allow the origin by the option cors, or the name by allowedHosts`,
          },
        }
      : { token: { header: wire.headers.apiToken, value: apiToken } }),
  });
  if (origins === undefined) return handle;
  const isOwn = ({ path }: SidecarRequest, fields: readonly string[]): boolean =>
    router.has(path) || (mayInvoke && fields.includes(wire.headers.appId));
  return withCors(origins, handle, isOwn);
}

/** Makes the handler of requests of other sidecars, and of the health probes. */
export function makePeerHandler(
  options: ResolvedOptions,
  host: SidecarDeps,
  {
    opened,
    routes,
    health,
    probe,
  }: Pick<BuiltSidecar, 'health' | 'probe'> & HasInvocation & { readonly routes: readonly Route[] },
): Handler {
  const advice = 'only other sidecars call here: set identity, or the name in allowedHosts';
  return guarded(options, host, {
    router: new Router([...opened.peerRoutes, ...routes, ...healthRoutes(health)]),
    fallback: opened.peerFallback,
    browsers: { guard: browserGuard(options), advice },
    probe,
  });
}

/** `allowsOrigin` tells which web pages may call. */
function browserGuard(
  { wire, allowedHosts = [], address }: ResolvedOptions,
  allowsOrigin?: (origin: string) => boolean,
): BrowserGuard {
  const hosts = address === undefined ? allowedHosts : [...allowedHosts, new URL(address).host];
  return new BrowserGuard({ hosts, peerField: wire.headers.peer, allowsOrigin });
}

function guarded(
  { wire, logger }: ResolvedOptions,
  { admit, answers }: SidecarDeps,
  parts: Pick<GuardOptions, 'router' | 'fallback' | 'token' | 'browsers' | 'unguarded' | 'probe'>,
): Handler {
  return guard({
    logger,
    errors: { domain: wire.errorDomain, reasonPrefix: wire.reasonPrefix, failedEntryKeys: wire.failedEntryKeys },
    admit: ({ route }) => route.open || route.isServedToTheEnd || admit(),
    answers,
    ...parts,
  });
}

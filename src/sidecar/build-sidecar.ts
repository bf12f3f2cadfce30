import { randomUUID } from 'node:crypto';
import { AppMonitor } from '../app/app-monitor.ts';
import { AppChannel, openTransport } from '../app/channel.ts';
import { daprOnlyRoutes } from '../blocks/dapr-only/routes.ts';
import { Health } from '../blocks/health/health.ts';
import { healthRoutes } from '../blocks/health/routes.ts';
import type { Invocation } from '../blocks/invocation/invocation.ts';
import { makeInvocation, type OpenInvocation } from '../blocks/invocation/make-invocation.ts';
import { NameResolver } from '../blocks/invocation/resolution/name-resolver.ts';
import type { JobService } from '../blocks/jobs/job-service.ts';
import { makeJobs } from '../blocks/jobs/make-jobs.ts';
import { jobRoutes } from '../blocks/jobs/routes.ts';
import { Metadata } from '../blocks/metadata/metadata.ts';
import { metadataRoutes } from '../blocks/metadata/routes.ts';
import { Placement } from '../blocks/placement/placement.ts';
import { placementRoutes } from '../blocks/placement/routes.ts';
import { envelopeDefaults } from '../blocks/pubsub/publishing/envelope.ts';
import { PubSubService } from '../blocks/pubsub/pubsub-service.ts';
import { pubsubRoutes } from '../blocks/pubsub/routes.ts';
import { makeWorkflows } from '../blocks/workflow/make-workflows.ts';
import { workflowRoutes } from '../blocks/workflow/routes.ts';
import type { WorkflowService } from '../blocks/workflow/workflow-service.ts';
import type { SidecarEventEmitter } from '../events.ts';
import type { Answers } from '../http/answers.ts';
import { type GuardOptions, guard } from '../http/guard.ts';
import type { Handler, SidecarRequest } from '../http/message.ts';
import { Router } from '../http/router.ts';
import type { Resiliency } from '../resiliency/policy.ts';
import { makeResiliency } from '../resiliency/resiliency.ts';
import { permittedRoutes } from '../security/api-list.ts';
import { withCors } from '../security/cors.ts';
import { exposureWarning } from '../security/exposure.ts';
import { makeSecurity } from '../security/make-security.ts';
import { Expected } from '../util/expected.ts';
import type { Work } from '../util/work.ts';
import { VERSION } from '../version.ts';
import {
  describeComponents,
  describeConnection,
  describeSubscriptions,
  describeUnhandled,
} from './metadata-sources.ts';
import type { ResolvedOptions } from './options.ts';

/** What the blocks need of the sidecar that they are made for. */
export interface Surroundings {
  readonly events: SidecarEventEmitter;
  readonly work: Work;
  /** Throws when no request is taken now. */
  readonly admit: () => void;
  /** Counts what is being answered. */
  readonly answers: Answers;
  /** Whether components are open and requests are taken. */
  readonly isRunning: () => boolean;
  /** Stops the sidecar, because a client asked for it. */
  readonly shutDown: () => void;
  /** Why the state store does not work, if it does not. */
  readonly stateFailure: () => Error | undefined;
}

/** The parts of a sidecar. */
export interface Parts {
  readonly app: AppChannel | undefined;
  readonly monitor: AppMonitor | undefined;
  readonly pubsub: PubSubService;
  readonly jobs: JobService;
  readonly workflows: WorkflowService;
  readonly invocation: Invocation;
  readonly metadata: Metadata;
  readonly health: Health;
  readonly placement: Placement;
  readonly resolver: NameResolver;
  readonly handle: Handler;
  /** What other sidecars are offered. */
  readonly handlePeer: Handler;
}

const DEFAULT_TRUST_DOMAIN = 'public';

/** Makes the blocks and the HTTP API in front of them; nothing is opened yet. */
export function buildSidecar(options: ResolvedOptions, host: Surroundings): Parts {
  if (options.apiToken !== '' && options.apiToken === options.appToken)
    options.logger.warn(
      {},
      'apiToken and appToken are equal: what the sidecar sends to the application is let into the API as well',
    );
  const app = openApp(options);
  const monitor = app && new AppMonitor({ ...options, ...host, app, health: options.appHealth, random: Math.random });
  const resiliency = makeResiliency(options.resiliency, {
    ...options,
    work: host.work,
    random: Math.random,
    changed: (change) => host.events.emit('circuitBreaker', change),
  });
  const pubsub = makePubSub(options, host, { app, monitor, resiliency });
  const jobApp = isGrpc(app) ? undefined : app;
  const jobs = makeJobs({ ...options, events: host.events, work: host.work, app: jobApp, monitor, admit: host.admit });
  const placement = new Placement({ ...options, ...options.placement });
  const resolver = new NameResolver({ ...options, options: options.nameResolution, random: Math.random });
  const workflows = makeWorkflows({
    ...options,
    ...host,
    onFirst: (made) =>
      placement.hasWorkflows({ workflows: () => made.liveCount, activities: () => made.activityCount }),
  });
  const metadata = makeMetadata(options, { app, pubsub, jobs, workflows, placement });
  const health = makeHealth(options, host, monitor);
  const opened = openInvocation(options, host, { app, monitor, resiliency, resolver });
  const { invocation } = opened;
  const handle = makeHandler(options, host, { pubsub, jobs, workflows, metadata, health, placement, opened });
  const handlePeer = guarded(options, host, { router: new Router(opened.peerRoutes) });
  return {
    app,
    monitor,
    pubsub,
    jobs,
    workflows,
    invocation,
    metadata,
    health,
    placement,
    resolver,
    handle,
    handlePeer,
  };
}

function openApp({ app, clock, logger, appToken, wire }: ResolvedOptions): AppChannel | undefined {
  if (app === undefined) return undefined;
  const transport = openTransport(app);
  const { port, protocol } = transport.address;
  if (protocol === 'grpc')
    logger.warn({ port }, 'a gRPC application gets invocations only: subscriptions and jobs go to functions in code');
  return new AppChannel(transport, {
    clock,
    ...(app.maxConcurrency === undefined ? {} : { maxConcurrency: app.maxConcurrency }),
    ...(appToken === '' ? {} : { token: { header: wire.headers.apiToken, value: appToken } }),
  });
}

/** Such an application gets invocations only: subscriptions and jobs are for functions in code then. */
function isGrpc(app: AppChannel | undefined): boolean {
  return app?.address.protocol === 'grpc';
}

/** How messages get to the application. One that speaks gRPC is not asked for subscriptions: it has none. */
function callOf(app: AppChannel | undefined): AppChannel['call'] {
  if (app === undefined)
    return () => Promise.reject(new Error('there is no application: set the option app (--app-port of the command)'));
  return isGrpc(app) ? async () => ({ status: 404, headers: {}, body: Buffer.alloc(0) }) : (toApp) => app.call(toApp);
}

function makePubSub(
  options: ResolvedOptions,
  { events, work, admit }: Surroundings,
  { app, monitor, resiliency }: Pick<Parts, 'app' | 'monitor'> & { readonly resiliency: Resiliency },
): PubSubService {
  const { appId, components, subscriptions, clock, logger, wire, deliveryTimeoutMs, stopTimeoutMs } = options;
  const newId = randomUUID;
  const envelope = envelopeDefaults(appId, wire, { clock, newId });
  const call = callOf(app);
  const shared = { clock, logger, wire, newId, envelope, call, monitor, events, work };
  const host = { ...shared, random: Math.random, timeLimitMs: deliveryTimeoutMs, patienceMs: stopTimeoutMs };
  const asksApp = app !== undefined && !isGrpc(app);
  const { expectedOn = () => new Expected() } = options.state;
  const definitions = components.filter(({ scopes = [] }) => scopes.length === 0 || scopes.includes(appId));
  return new PubSubService({ appId, definitions, subscriptions, host, resiliency, admit, asksApp, expectedOn });
}

function openInvocation(
  options: ResolvedOptions,
  host: Surroundings,
  parts: Pick<Parts, 'app' | 'monitor' | 'resolver'> & { readonly resiliency: Resiliency },
): OpenInvocation {
  const isGrpc = options.app !== undefined && 'protocol' in options.app && options.app.protocol === 'grpc';
  const security = makeSecurity({ ...options, newId: randomUUID, isGrpc });
  const trustDomain = options.identity?.trustDomain ?? options.accessControl?.trustDomain ?? DEFAULT_TRUST_DOMAIN;
  return makeInvocation({ ...options, ...host, ...parts, ...security, trustDomain });
}

function makeMetadata(
  { appId, wire, httpEndpoints, appHealth }: ResolvedOptions,
  { app, pubsub, jobs, workflows, placement }: Pick<Parts, 'app' | 'pubsub' | 'jobs' | 'workflows' | 'placement'>,
): Metadata {
  return new Metadata({
    appId,
    runtimeVersion: VERSION,
    wire,
    components: () => describeComponents(pubsub.components()),
    httpEndpoints: () => httpEndpoints.map(({ name }) => ({ name })),
    subscriptions: () => describeSubscriptions(pubsub.list()),
    appConnection: () => describeConnection(app, appHealth),
    schedulers: () => jobs.schedulerAddresses,
    actors: () => placement.actors(),
    connectedWorkers: () => workflows.connectedWorkers,
    unhandled: () => describeUnhandled(pubsub.unsubscribed(), jobs.unhandled()),
  });
}

function makeHealth({ appId }: ResolvedOptions, host: Surroundings, monitor: Parts['monitor']): Health {
  return new Health({
    appId,
    outbound: [
      () => (host.isRunning() ? undefined : 'components'),
      () => (host.stateFailure() === undefined ? undefined : 'state'),
    ],
    inbound: [() => (monitor === undefined || monitor.isReady ? undefined : 'app-channel')],
  });
}

function makeHandler(
  options: ResolvedOptions,
  host: Surroundings,
  {
    pubsub,
    jobs,
    workflows,
    metadata,
    health,
    placement,
    opened,
  }: Pick<Parts, 'pubsub' | 'jobs' | 'workflows' | 'metadata' | 'health' | 'placement'> & {
    readonly opened: OpenInvocation;
  },
): Handler {
  const { wire, apiToken, bodyLimitBytes, api, cors } = options;
  const all = [
    ...pubsubRoutes(pubsub, wire, bodyLimitBytes),
    ...jobRoutes({ jobs, wire, bodyLimitBytes }),
    ...workflowRoutes({ workflows, wire, bodyLimitBytes }),
    ...opened.routes,
    ...metadataRoutes(metadata),
    ...healthRoutes(health),
    ...placementRoutes(placement),
    ...(wire.extraRoutes ? daprOnlyRoutes(host.shutDown) : []),
  ];
  const routes = permittedRoutes(all, api);
  const router = new Router(routes);
  // Who may not invoke by path may not by header either.
  const mayInvoke = opened.routes.every((route) => routes.includes(route));
  const handle = guarded(options, host, {
    router,
    ...(mayInvoke ? { fallback: opened.fallback } : {}),
    ...(apiToken === ''
      ? { unguarded: exposureWarning(options.logger, `${wire.environmentPrefix}API_TOKEN`) }
      : { token: { header: wire.headers.apiToken, value: apiToken } }),
  });
  if (cors === undefined) return handle;
  const isOwn = ({ path }: SidecarRequest, fields: readonly string[]): boolean =>
    router.has(path) || (mayInvoke && fields.includes(wire.headers.appId));
  return withCors(cors, handle, isOwn);
}

function guarded(
  { wire, logger }: ResolvedOptions,
  { admit, answers }: Surroundings,
  parts: Pick<GuardOptions, 'router' | 'fallback' | 'token' | 'unguarded'>,
): Handler {
  return guard({
    logger,
    errors: { domain: wire.errorDomain, reasonPrefix: wire.reasonPrefix, failedEntryKeys: wire.failedEntryKeys },
    admit: ({ route }) => route.open || admit(),
    answers,
    ...parts,
  });
}

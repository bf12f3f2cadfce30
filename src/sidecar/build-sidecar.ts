import { randomUUID } from 'node:crypto';
import { AppMonitor } from '../app/app-monitor.ts';
import { AppChannel, openTransport } from '../app/channel.ts';
import { ActorsService } from '../blocks/actors/actors-service.ts';
import { actorHostRoutes } from '../blocks/actors/forwarding/routes.ts';
import type { BlockDeps } from '../blocks/block-deps.ts';
import type { Health } from '../blocks/health/health.ts';
import type { HostIdentity } from '../blocks/host-identity.ts';
import type { Invocation } from '../blocks/invocation/invocation.ts';
import { makeInvocation } from '../blocks/invocation/make-invocation.ts';
import { NameResolver } from '../blocks/invocation/resolution/name-resolver.ts';
import type { JobService } from '../blocks/jobs/job-service.ts';
import { makeJobs } from '../blocks/jobs/make-jobs.ts';
import { Metadata } from '../blocks/metadata/metadata.ts';
import { Placement } from '../blocks/placement/placement.ts';
import { envelopeDefaults } from '../blocks/pubsub/publishing/envelope.ts';
import { PubSubService } from '../blocks/pubsub/pubsub-service.ts';
import { hostRoutes } from '../blocks/workflow/forwarding/routes.ts';
import { WorkflowService } from '../blocks/workflow/workflow-service.ts';
import { type AnyComponentDefinition, pubsubsOf } from '../components/any-component.ts';
import type { SidecarEventEmitter } from '../events.ts';
import type { Answers } from '../http/answers.ts';
import type { Handler } from '../http/message.ts';
import { leavingOwnCalls } from '../http/own-calls.ts';
import { apart, type Gauges, type Probe } from '../probe.ts';
import type { Resiliency } from '../resiliency/policy.ts';
import { type CircuitBreakerChange, makeResiliency } from '../resiliency/resiliency.ts';
import { makeSecurity, type Security } from '../security/make-security.ts';
import type { StateStore } from '../state/store.ts';
import { msOf } from '../util/duration.ts';
import { Expected } from '../util/expected.ts';
import type { Work } from '../util/work.ts';
import { VERSION } from '../version.ts';
import { makeHandler, makePeerHandler } from './make-handlers.ts';
import { makeHealth } from './make-health.ts';
import { StoreBlocks } from './make-stores.ts';
import {
  describeComponents,
  describeConnection,
  describeState,
  describeStores,
  describeSubscriptions,
  describeUnhandled,
} from './metadata-sources.ts';
import type { ResolvedOptions } from './options.ts';
import { warnOfEqualTokens } from './tokens.ts';

/** The parts of the {@link Sidecar} object that the built parts depend on. */
export interface SidecarDeps {
  readonly events: SidecarEventEmitter;
  readonly work: Work;
  /** Throws when the sidecar accepts no requests. */
  readonly admit: () => void;
  /** Counts requests in progress. */
  readonly answers: Answers;
  /** Whether components are open and requests are accepted. */
  readonly isRunning: () => boolean;
  /** Stops the sidecar at a client's request. */
  readonly shutDown: (isForced: boolean) => void;
  /** The state store; `undefined` before it is open. */
  readonly state: () => StateStore | undefined;
  /** The number of shards that this host owns. */
  readonly shards: () => number | undefined;
}

/** The parts of a sidecar. */
export interface BuiltSidecar {
  readonly app: AppChannel | undefined;
  readonly monitor: AppMonitor | undefined;
  readonly stores: StoreBlocks;
  readonly pubsub: PubSubService;
  readonly jobs: JobService;
  readonly workflows: WorkflowService;
  readonly actors: ActorsService;
  readonly invocation: Invocation;
  readonly metadata: Metadata;
  readonly health: Health;
  readonly placement: Placement;
  readonly resolver: NameResolver;
  readonly handle: Handler;
  /** Handles requests of other sidecars. */
  readonly handlePeer: Handler;
  readonly probe: Probe | undefined;
}

const DEFAULT_TRUST_DOMAIN = 'public';

/** Creates the blocks and the HTTP API in front of them. Opens nothing yet. */
export function buildSidecar(options: ResolvedOptions, host: SidecarDeps): BuiltSidecar {
  warnOfEqualTokens(options);
  let gauges: Gauges | undefined;
  const probe = options.telemetry?.attach({ ...options, events: host.events, gauges: () => gauges });
  const deps = { ...blockDeps(options, host), probe };
  const app = openApp(options, deps);
  const isGrpc = app?.address.protocol === 'grpc';
  // A gRPC application gets invocations only: functions in code receive messages and jobs.
  const httpApp = isGrpc ? undefined : app;
  const monitor =
    app && new AppMonitor({ ...deps, app, health: options.appHealth, startTimeoutMs: msOf(options.app?.startTimeout) });
  const changed = (change: CircuitBreakerChange): void => void host.events.emit('circuitBreakerChanged', change);
  const resiliency = makeResiliency(options.resiliency, { ...deps, changed });
  const resolver = new NameResolver({
    ...deps,
    options: options.nameResolution,
    headLimitBytes: options.headLimitBytes,
  });
  const placement = new Placement({ ...deps, ...options.dapr.placement });
  const components = options.components.filter(
    ({ scopes = [] }) => scopes.length === 0 || scopes.includes(options.appId),
  );
  const { isNamespaceSet, secrets, deliveryTimeoutMs: timeLimitMs, bindingTimeoutMs } = options;
  const stores: StoreBlocks = new StoreBlocks({
    ...{ ...deps, resiliency, components, app: httpApp, monitor, isNamespaceSet, secrets },
    ...{ timeLimitMs, bindingTimeoutMs, asksApp: options.app?.discovery !== false },
    pubsub: () => pubsub,
  });
  const pubsub = makePubSub(options, { ...deps, components }, { app: httpApp, monitor, resiliency });
  const jobs = makeJobs({ ...deps, app: httpApp, monitor }, options.jobs);
  const onFirst = (made: WorkflowService): void =>
    placement.hasWorkflows({ workflows: () => made.liveCount, activities: () => made.activityCount });
  const security = openSecurity(options, deps, isGrpc);
  const hostIdentity = identityOfHost(deps, security);
  const workflows = new WorkflowService({ ...deps, ...options.workflows, onFirst, hostIdentity });
  const { bodyLimitBytes, headLimitBytes } = options;
  const { missedTicks, maxCrashes } = options.jobs;
  const actors = new ActorsService({
    ...{ ...deps, hostIdentity, resiliency, app: httpApp, monitor, bodyLimitBytes },
    ...{ headLimitBytes, accessControl: security.accessControl, asksApp: options.app?.discovery !== false },
    ...{ everyTick: missedTicks === 'all', maxCrashes },
    publishTypes: (types, count) => placement.setActors(types, count),
    shutDown: () => host.shutDown(false),
  });
  const opened = makeInvocation({ ...deps, ...security, app, monitor, resiliency, resolver }, options);
  const metadata = makeMetadata(options, host, { app, stores, pubsub, jobs, workflows, placement });
  const health = makeHealth({ appId: options.appId, host, monitor, resiliency, stores, actors });
  const blocks = { stores, pubsub, jobs, workflows, actors, metadata, health, placement };
  const handle = makeHandler(options, host, { ...blocks, opened, probe });
  const toHosts = [
    ...hostRoutes({ ...deps, ...options, ...hostIdentity, inbound: () => workflows.inbound }),
    ...actorHostRoutes({ ...deps, ...hostIdentity, bodyLimitBytes, inbound: () => actors.inbound }),
  ];
  const handlePeer = makePeerHandler(options, host, { opened, routes: toHosts, health, probe });
  gauges = gaugesOf(host, { pubsub, workflows, resiliency }, monitor);
  return {
    ...blocks,
    ...{ app, monitor, invocation: opened.invocation, resolver, probe },
    handle: leavingOwnCalls(handle),
    handlePeer: leavingOwnCalls(handlePeer),
  };
}

function gaugesOf(
  { shards }: SidecarDeps,
  { workflows, pubsub, resiliency }: Pick<BuiltSidecar, 'workflows' | 'pubsub'> & { readonly resiliency: Resiliency },
  monitor: BuiltSidecar['monitor'],
): Gauges {
  return {
    workflows: () => workflows.liveCount,
    activities: () => workflows.activityCount,
    shards,
    isAppHealthy: () => monitor?.isHealthy,
    queues: () => pubsub.queues.list(undefined, undefined),
    breakers: () => resiliency.breakers(),
  };
}

function blockDeps(options: ResolvedOptions, { events, work, admit }: SidecarDeps): Omit<BlockDeps, 'probe'> {
  const { appId, namespace, wire, clock, logger, stopTimeoutMs: gracePeriodMs } = options;
  const random = Math.random;
  const newId = randomUUID;
  const own = { appId, namespace, wire, clock, logger, gracePeriodMs };
  return { ...own, random, newId, events, work, admit, apart: apart(options.telemetry) };
}

function openApp(options: ResolvedOptions, observers: Pick<BlockDeps, 'probe' | 'apart'>): AppChannel | undefined {
  const { app, clock, logger, appToken, wire, headLimitBytes } = options;
  if (app === undefined) return undefined;
  const transport = openTransport(app, { ...observers, headLimitBytes });
  const { port, protocol } = transport.address;
  if (protocol === 'grpc')
    logger.warn({ port }, 'a gRPC application gets invocations only: subscriptions and jobs go to functions in code');
  return new AppChannel(transport, {
    clock,
    ...(app.maxConcurrency === undefined ? {} : { maxConcurrency: app.maxConcurrency }),
    ...(appToken === '' ? {} : { token: { header: wire.headers.apiToken, value: appToken } }),
  });
}

function makePubSub(
  options: ResolvedOptions,
  deps: BlockDeps & { readonly components: readonly AnyComponentDefinition[] },
  { app, monitor, resiliency }: Pick<BuiltSidecar, 'app' | 'monitor'> & { readonly resiliency: Resiliency },
): PubSubService {
  const { appId, subscriptions, wire, deliveryTimeoutMs: timeLimitMs } = options;
  const { expectedOn = () => new Expected() } = options.state;
  const call: AppChannel['call'] =
    app === undefined
      ? () => Promise.reject(new Error('there is no application: set the option app (--app-port of the command)'))
      : (toApp) => app.call(toApp);
  return new PubSubService({
    ...deps,
    envelope: envelopeDefaults(appId, wire, deps),
    definitions: pubsubsOf(deps.components),
    hasApp: app !== undefined,
    asksApp: app !== undefined && options.app?.discovery !== false,
    ...{ subscriptions, resiliency, monitor, call, timeLimitMs, expectedOn },
  });
}

function openSecurity(
  { identity, accessControl }: ResolvedOptions,
  deps: BlockDeps,
  isGrpc: boolean,
): Security & { readonly trustDomain: string } {
  const trustDomain = identity?.trustDomain ?? accessControl?.trustDomain ?? DEFAULT_TRUST_DOMAIN;
  return { ...makeSecurity({ ...deps, identity, accessControl, isGrpc }), trustDomain };
}

function identityOfHost(
  { appId, namespace }: BlockDeps,
  { identity, trustDomain }: ReturnType<typeof openSecurity>,
): HostIdentity {
  return { own: { appId, namespace, trustDomain }, identity };
}

function makeMetadata(
  { appId, dapr, wire, httpEndpoints, appHealth, state }: ResolvedOptions,
  host: SidecarDeps,
  {
    app,
    stores,
    pubsub,
    jobs,
    workflows,
    placement,
  }: Pick<BuiltSidecar, 'app' | 'stores' | 'pubsub' | 'jobs' | 'workflows' | 'placement'>,
): Metadata {
  return new Metadata({
    appId,
    runtimeVersion: VERSION,
    features: dapr.features,
    wire,
    components: () => [...describeComponents(pubsub.components()), ...describeStores(stores.describe())],
    httpEndpoints: () => httpEndpoints.map(({ name }) => ({ name })),
    subscriptions: () => describeSubscriptions(pubsub.list()),
    appConnection: () => describeConnection(app, appHealth),
    schedulers: () => jobs.schedulerAddresses,
    actors: () => placement.actors(),
    connectedWorkers: () => workflows.connectedWorkers,
    state: () => describeState(state.type, host.state()),
    unhandled: () => describeUnhandled(pubsub.unsubscribed(), pubsub.queues.abandoned(), jobs.unhandled()),
  });
}

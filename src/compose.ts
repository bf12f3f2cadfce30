import { randomUUID } from 'node:crypto';
import { AppChannel, openTransport } from './app/channel.ts';
import { Health } from './blocks/health/health.ts';
import { healthRoutes } from './blocks/health/routes.ts';
import type { Jobs } from './blocks/jobs/jobs.ts';
import { makeJobs } from './blocks/jobs/make-jobs.ts';
import { jobRoutes } from './blocks/jobs/routes.ts';
import { Metadata } from './blocks/metadata/metadata.ts';
import { metadataRoutes } from './blocks/metadata/routes.ts';
import { envelopeDefaults } from './blocks/pubsub/envelope.ts';
import { PubSub } from './blocks/pubsub/pubsub.ts';
import { pubsubRoutes } from './blocks/pubsub/routes.ts';
import { describeComponents, describeConnection, describeSubscriptions } from './describe.ts';
import type { SidecarEventEmitter } from './events.ts';
import { guard } from './http/guard.ts';
import type { Handler } from './http/message.ts';
import { Router } from './http/router.ts';
import type { ResolvedOptions } from './options.ts';
import type { Work } from './util/work.ts';
import { VERSION } from './version.ts';

/** What the blocks need of the sidecar that they are made for. */
export interface Surroundings {
  readonly events: SidecarEventEmitter;
  readonly work: Work;
  /** Throws when no request is taken now. */
  readonly admit: () => void;
  /** Whether components are open and requests are taken. */
  readonly isRunning: () => boolean;
  /** Why the state store does not work, if it does not. */
  readonly stateFailure: () => Error | undefined;
  /** Whether the application takes requests and has told its subscriptions. */
  readonly isAppReady: () => boolean;
}

/** The parts of a sidecar. */
export interface Parts {
  readonly app: AppChannel | undefined;
  readonly pubsub: PubSub;
  readonly jobs: Jobs;
  readonly metadata: Metadata;
  readonly health: Health;
  readonly handle: Handler;
}

/** Makes the blocks and the HTTP API in front of them; nothing is opened yet. */
export function compose(options: ResolvedOptions, host: Surroundings): Parts {
  const app = openApp(options);
  const pubsub = makePubSub(options, host, app);
  const jobs = makeJobs({ ...options, events: host.events, work: host.work, app, admit: host.admit });
  const metadata = makeMetadata(options, { app, pubsub, jobs });
  const health = makeHealth(options, host, app);
  const handle = makeHandler(options, host, { pubsub, jobs, metadata, health });
  return { app, pubsub, jobs, metadata, health, handle };
}

function openApp({ app, clock, appToken, wire }: ResolvedOptions): AppChannel | undefined {
  if (app === undefined) return undefined;
  return new AppChannel(openTransport(app), {
    clock,
    ...(app.maxConcurrency === undefined ? {} : { maxConcurrency: app.maxConcurrency }),
    ...(appToken === '' ? {} : { token: { header: wire.headers.apiToken, value: appToken } }),
  });
}

function makePubSub(options: ResolvedOptions, { events, work, admit }: Surroundings, app: Parts['app']): PubSub {
  const { appId, components, subscriptions, clock, logger, wire, deliveryTimeoutMs, stopTimeoutMs } = options;
  const newId = randomUUID;
  const envelope = envelopeDefaults(appId, wire.eventType, () => clock.now(), newId);
  const call: AppChannel['call'] = (toApp) =>
    app === undefined ? Promise.reject(new Error('there is no application: options.app is not set')) : app.call(toApp);
  const shared = { clock, logger, wire, newId, envelope, call, events, work };
  const host = { ...shared, random: Math.random, timeLimitMs: deliveryTimeoutMs, patienceMs: stopTimeoutMs };
  return new PubSub({ appId, definitions: components, subscriptions, host, admit });
}

function makeMetadata(
  { appId, wire }: ResolvedOptions,
  { app, pubsub, jobs }: Pick<Parts, 'app' | 'pubsub' | 'jobs'>,
): Metadata {
  return new Metadata({
    appId,
    runtimeVersion: VERSION,
    wire,
    components: () => describeComponents(pubsub.components()),
    subscriptions: () => describeSubscriptions(pubsub.list()),
    appConnection: () => describeConnection(app),
    schedulers: () => jobs.schedulerAddresses,
  });
}

function makeHealth({ appId }: ResolvedOptions, host: Surroundings, app: Parts['app']): Health {
  return new Health({
    appId,
    outbound: [
      () => (host.isRunning() ? undefined : 'components'),
      () => (host.stateFailure() === undefined ? undefined : 'state'),
    ],
    inbound: [() => (app === undefined || host.isAppReady() ? undefined : 'app-channel')],
  });
}

function makeHandler(
  { wire, apiToken, bodyLimitBytes, logger }: ResolvedOptions,
  { admit }: Surroundings,
  { pubsub, jobs, metadata, health }: Pick<Parts, 'pubsub' | 'jobs' | 'metadata' | 'health'>,
): Handler {
  const routes = [
    ...pubsubRoutes(pubsub, wire, bodyLimitBytes),
    ...jobRoutes({ jobs, wire, bodyLimitBytes }),
    ...metadataRoutes(metadata),
    ...healthRoutes(health),
  ];
  return guard({
    router: new Router(routes),
    logger,
    errors: { domain: wire.errorDomain, reasonPrefix: wire.reasonPrefix },
    admit: ({ route }) => route.open || admit(),
    ...(apiToken === '' ? {} : { token: { header: wire.headers.apiToken, value: apiToken } }),
  });
}

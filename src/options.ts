import type { AppTarget } from './app/channel.ts';
import { JOBS_OPTIONS_SCHEMA, type JobsOptions } from './blocks/jobs/make-jobs.ts';
import type { SubscriptionOptions } from './blocks/pubsub/subscription.ts';
import { memoryStore } from './components/memory/memory-store.ts';
import type { PubSubDefinition } from './components/pubsub.ts';
import { SidecarError } from './errors.ts';
import type { StateDefinition } from './state/store.ts';
import { type Clock, systemClock } from './util/clock.ts';
import { type Logger, standardErrorLogger } from './util/logger.ts';
import { validator } from './util/schema.ts';
import { type Wire, type WireName, wireNames } from './wire.ts';

/** The application: where it is, and how much it takes. @public */
export type AppOptions = AppTarget & {
  /** The most requests to it at a time, over everything that the sidecar sends. Default: no limit. */
  readonly maxConcurrency?: number;
};

/** Options of a {@link Sidecar}. @public */
export interface SidecarOptions {
  /**
   * Names the application: the consumer group of its subscriptions, the source of its events. Not empty, at most 256
   * characters, no dots, slashes or white space. Default: environment variable `APP_ID`.
   */
  readonly appId?: string;
  /** The application that is called. Default: none; messages are then received in code only. */
  readonly app?: AppOptions;
  /** Components, such as `memoryPubSub('pubsub')`. Default: none. */
  readonly components?: readonly PubSubDefinition[];
  /** Where durable state is kept, such as `embedded({ path })`. Default: in memory. */
  readonly state?: StateDefinition;
  /** Subscriptions that deliver to routes of the application. Default: those that it tells itself. */
  readonly subscriptions?: readonly SubscriptionOptions[];
  /** How jobs are run. */
  readonly jobs?: JobsOptions;
  /** Which names the HTTP API speaks: `sidecar`, or `dapr` for its unmodified clients. Default `sidecar`. */
  readonly wire?: WireName;
  /**
   * The token that callers of the HTTP API must send in `sidecar-api-token` (`dapr-api-token`).
   * Default: environment variable `SIDECAR_API_TOKEN` (`DAPR_API_TOKEN`); empty for none.
   */
  readonly apiToken?: string;
  /**
   * The token that the sidecar sends to the application in the header of the same name.
   * Default: environment variable `APP_API_TOKEN`; empty for none.
   */
  readonly appToken?: string;
  /** The largest request body, in bytes. Default 4 MiB. */
  readonly bodyLimitBytes?: number;
  /** How long the application may take for a message, in milliseconds. Default 60,000. */
  readonly deliveryTimeoutMs?: number;
  /** How long a stop waits for messages in flight, in milliseconds. Default 10,000. */
  readonly stopTimeoutMs?: number;
  /** Where to take time from. Default: the system. */
  readonly clock?: Clock;
  /** Where to log to. Default: warnings and errors to standard error. */
  readonly logger?: Logger;
}

/** Options, checked and complete. */
export interface ResolvedOptions {
  readonly appId: string;
  readonly app: AppOptions | undefined;
  readonly components: readonly PubSubDefinition[];
  readonly state: StateDefinition;
  readonly subscriptions: readonly SubscriptionOptions[];
  readonly jobs: JobsOptions;
  /** The environment variable `NAMESPACE`; empty without it. */
  readonly namespace: string;
  readonly wire: Wire;
  readonly apiToken: string;
  readonly appToken: string;
  readonly bodyLimitBytes: number;
  readonly deliveryTimeoutMs: number;
  readonly stopTimeoutMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

const text = { type: 'string' };
const positive = { type: 'integer', minimum: 1 };
const callable = { isFunction: true };
const problemOf = validator(
  {
    type: 'object',
    additionalProperties: false,
    properties: {
      appId: { type: 'string', pattern: '^[^./\\s\\u0000-\\u001f\\u007f]{1,256}$' },
      app: {
        type: 'object',
        additionalProperties: false,
        properties: {
          port: { type: 'integer', minimum: 1, maximum: 65_535 },
          host: { type: 'string', minLength: 1 },
          listener: {},
          fetch: callable,
          maxConcurrency: positive,
        },
      },
      components: {
        type: 'array',
        items: {
          type: 'object',
          required: ['name', 'type', 'open'],
          properties: { name: { type: 'string', minLength: 1 }, type: text, open: callable },
        },
      },
      state: { type: 'object', required: ['type', 'open'], properties: { type: text, open: callable } },
      subscriptions: { type: 'array', items: { type: 'object' } },
      jobs: JOBS_OPTIONS_SCHEMA,
      wire: { enum: ['sidecar', 'dapr'] },
      apiToken: text,
      appToken: text,
      bodyLimitBytes: positive,
      deliveryTimeoutMs: positive,
      stopTimeoutMs: { type: 'integer', minimum: 0 },
      clock: { type: 'object', properties: { now: callable, setTimeout: callable } },
      logger: { type: 'object', properties: { debug: callable, info: callable, warn: callable, error: callable } },
    },
  },
  'options',
);

/**
 * Checks options and fills in defaults.
 *
 * @throws SidecarError `ERR_CONFIGURATION` naming the option, its value and what was expected.
 */
export function resolveOptions(options: SidecarOptions, environment: NodeJS.ProcessEnv): ResolvedOptions {
  const given = { ...options, appId: options.appId ?? environment['APP_ID'] };
  const problem = problemOf(definedOnly(given)) ?? appProblem(options.app);
  if (problem !== undefined) throw new SidecarError('ERR_CONFIGURATION', problem);
  if (given.appId === undefined) throw new SidecarError('ERR_CONFIGURATION', 'options.appId is missing');
  const wire = wireNames(options.wire ?? 'sidecar');
  return {
    appId: given.appId,
    app: options.app,
    components: options.components ?? [],
    state: options.state ?? memoryStore(),
    subscriptions: options.subscriptions ?? [],
    jobs: options.jobs ?? {},
    namespace: environment['NAMESPACE'] ?? '',
    wire,
    apiToken: options.apiToken ?? environment[`${wire.environmentPrefix}API_TOKEN`] ?? '',
    appToken: options.appToken ?? environment['APP_API_TOKEN'] ?? '',
    bodyLimitBytes: options.bodyLimitBytes ?? 4 * 1024 * 1024,
    deliveryTimeoutMs: options.deliveryTimeoutMs ?? 60_000,
    stopTimeoutMs: options.stopTimeoutMs ?? 10_000,
    clock: options.clock ?? systemClock,
    logger: options.logger ?? standardErrorLogger,
  };
}

function appProblem(app: AppOptions | undefined): string | undefined {
  if (app === undefined) return undefined;
  const ways = ['port', 'listener', 'fetch'].filter((way) => Object.hasOwn(app, way));
  if (ways.length !== 1)
    return `options.app must have exactly one of port, listener and fetch: actual is ${ways.join(' and ') || 'none'}`;
  if (!('listener' in app)) return undefined;
  const isListener = typeof app.listener === 'function' || typeof app.listener?.callback === 'function';
  return isListener ? undefined : 'options.app.listener must be a request listener, an Express app or a Koa app';
}

/** An option that is present and undefined is absent. */
function definedOnly(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

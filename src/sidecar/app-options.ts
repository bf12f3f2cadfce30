import type { AppTarget } from '../app/channel.ts';
import { APP_HEALTH_SCHEMA, type AppHealthOptions } from '../app/health.ts';
import type { RouteSubscription } from '../blocks/pubsub/delivery/subscription.ts';
import type { Duration } from '../util/duration.ts';
import { DURATION, type JsonSchema, optionsSchema, POSITIVE } from '../util/options-schema.ts';

/** The application: its address and its limits. @public */
export type AppOptions = AppTarget & {
  /**
   * The maximum number of concurrent requests to it, of all kinds together. A request that has timed out, or whose
   * caller has gone, does not count, though the application may still be at work on it. Default: no limit.
   */
  readonly maxConcurrency?: number | undefined;
  /**
   * Health checks of the application; `true` for the defaults. While it is unhealthy, nothing is sent to it.
   * Default: no health checks; it counts as healthy.
   */
  readonly health?: boolean | AppHealthOptions | undefined;
  /**
   * How long an application on a port may take to accept requests before a warning is logged. The sidecar goes on
   * waiting for it. Default `10s`.
   */
  readonly startTimeout?: Duration | undefined;
  /**
   * Whether the application is asked for its subscriptions (`GET /sidecar/subscribe`). Without it, only those in the
   * options and in code count. Default `true`.
   */
  readonly discovery?: boolean | undefined;
};

/** The options that depend on the application. */
interface AppUse {
  readonly app?: AppOptions | undefined;
  readonly subscriptions?: readonly RouteSubscription[] | undefined;
}

const callable = { isFunction: true };
export const APP_SCHEMA: JsonSchema = optionsSchema<AppOptions>({
  port: { type: 'integer', minimum: 1, maximum: 65_535 },
  host: { type: 'string', minLength: 1 },
  protocol: { enum: ['http', 'grpc'] },
  listener: {},
  fetch: callable,
  maxConcurrency: POSITIVE,
  health: APP_HEALTH_SCHEMA,
  startTimeout: DURATION,
  discovery: { type: 'boolean' },
});

/** The problem of the application's options, beyond their types. */
export function appProblem(app: AppOptions | undefined): string | undefined {
  if (app === undefined) return undefined;
  const ways = ['port', 'listener', 'fetch'].filter((way) => Object.hasOwn(app, way));
  if (ways.length !== 1)
    return `options.app must have exactly one of port, listener and fetch: actual is ${ways.join(' and ') || 'none'}`;
  if (!('listener' in app)) return undefined;
  return isListener(app.listener)
    ? undefined
    : 'options.app.listener must be a request listener, an Express app, a Koa app or a Fastify app';
}

function isListener(listener: unknown): boolean {
  if (typeof listener === 'function') return true;
  const app = listener as { callback?: unknown; routing?: unknown } | undefined | null;
  return typeof app?.callback === 'function' || typeof app?.routing === 'function';
}

/** Refuses subscriptions of a gRPC application: they can never be delivered. */
export function grpcProblem({ app, subscriptions = [] }: AppUse): string | undefined {
  if (app === undefined || !('protocol' in app) || app.protocol !== 'grpc') return undefined;
  if (!('port' in app))
    return 'options.app.protocol "grpc" needs options.app.port: an application in this process is called by HTTP';
  if (subscriptions.length === 0) return undefined;
  return 'options.subscriptions need an HTTP application: options.app.protocol is "grpc", which gets invocations only';
}

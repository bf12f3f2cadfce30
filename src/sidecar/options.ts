import { type HealthSettings, resolveHealth } from '../app/health.ts';
import type { HttpEndpointOptions } from '../blocks/invocation/endpoints.ts';
import { INVOCATION_OPTIONS_SCHEMA, type InvocationOptions } from '../blocks/invocation/options.ts';
import {
  ADDRESS_SCHEMA,
  checkedBaseUrl,
  NAME_RESOLUTION_SCHEMA,
  type NameResolutionOptions,
} from '../blocks/invocation/resolution/options.ts';
import { JOBS_OPTIONS_SCHEMA, type JobsOptions, type JobsSettings, resolveJobs } from '../blocks/jobs/options.ts';
import {
  PLACEMENT_SCHEMA,
  type PlacementOptions,
  type PlacementSettings,
  resolvePlacement,
} from '../blocks/placement/options.ts';
import { type RouteSubscription, SUBSCRIPTION_OPTIONS_SCHEMA } from '../blocks/pubsub/delivery/subscription.ts';
import { SECRETS_OPTIONS_SCHEMA, type SecretsOptions } from '../blocks/secrets/options.ts';
import {
  resolveWorkflows,
  WORKFLOWS_OPTIONS_SCHEMA,
  type WorkflowsOptions,
  type WorkflowsSettings,
} from '../blocks/workflow/options.ts';
import type { AnyComponentDefinition } from '../components/any-component.ts';
import { memoryState } from '../components/memory/memory-store.ts';
import { HOST_NAME } from '../http/browser-guard.ts';
import { HEAD_LIMIT_BYTES } from '../http/head-limit.ts';
import { apart, type Telemetry } from '../probe.ts';
import type { ResiliencySpec } from '../resiliency/options.ts';
import type { AccessControlOptions } from '../security/access-options.ts';
import { API_SCHEMA, type ApiOptions } from '../security/api-list.ts';
import { CORS_SCHEMA, type CorsOptions } from '../security/cors.ts';
import { type IdentityOptions, identityOf } from '../security/identity-options.ts';
import type { StateDefinition } from '../state/store.ts';
import { type Clock, clockOutside, systemClock } from '../util/clock.ts';
import { type Complete, definedOnly } from '../util/defined-only.ts';
import { type Duration, msOf } from '../util/duration.ts';
import { loggingErrors } from '../util/logged-error.ts';
import { type Logger, silentLogger, standardErrorLogger } from '../util/logger.ts';
import { NAME_FORM } from '../util/name-pattern.ts';
import { invalidConfiguration } from '../util/option-fields.ts';
import { DURATION, type JsonSchema, optionsSchema, POSITIVE } from '../util/options-schema.ts';
import { validator } from '../util/schema.ts';
import { type Wire, type WireName, wireNames } from '../wire.ts';
import { APP_SCHEMA, type AppOptions, appProblem, grpcProblem } from './app-options.ts';
import { likelyMistake } from './likely-mistakes.ts';
import { resolveTokens, type Tokens } from './tokens.ts';

/** What only programs written for Dapr ask for. @public */
export interface DaprOptions {
  /** Names to show as `enabledFeatures` in the metadata; nothing else depends on them. Default: none. */
  readonly features?: readonly string[] | undefined;
  /** The table of hosts and their actor types. */
  readonly placement?: PlacementOptions | undefined;
}

/** Options of a {@link Sidecar}. @public */
export interface SidecarOptions {
  /**
   * Names the application: the consumer group of its subscriptions, the source of its events. Not empty, at most 256
   * characters, no dots, slashes or white space. Default: environment variable `APP_ID`.
   */
  readonly appId?: string | undefined;
  /**
   * The namespace of the application: part of its name among other sidecars, sent with its calls. It may have the
   * characters of `appId`. Default: environment variable `NAMESPACE`, else `default`.
   */
  readonly namespace?: string | undefined;
  /** The application that the sidecar calls. Default: none; messages are then received in code only. */
  readonly app?: AppOptions | undefined;
  /** Components of every building block, such as `memoryPubSub('pubsub')`, those of brokers, and `keyValueStore('orders')`. Default: none. */
  readonly components?: readonly AnyComponentDefinition[] | undefined;
  /**
   * The store of durable state: `embeddedState({ path })` keeps it in a directory, `postgresqlState(…)` and `redisState(…)` keep it on a
   * server for several processes and machines. Default: in memory.
   */
  readonly state?: StateDefinition | undefined;
  /** Subscriptions that deliver to routes of the application. Default: the subscriptions that it declares itself. */
  readonly subscriptions?: readonly RouteSubscription[] | undefined;
  /** Options of calls to other services. */
  readonly invocation?: InvocationOptions | undefined;
  /** HTTP services without a sidecar that can be invoked by name. Default: none. */
  readonly httpEndpoints?: readonly HttpEndpointOptions[] | undefined;
  /** How to find sidecars of other applications that do not share the state store. */
  readonly nameResolution?: NameResolutionOptions | undefined;
  /**
   * The URL at which other sidecars reach this one, such as `http://10.0.0.5:3500`; published to those that share the
   * state store. Default: none; only sidecars of the same process can then call it.
   */
  readonly address?: string | undefined;
  /** Options of jobs. */
  readonly jobs?: JobsOptions | undefined;
  /** Options of workflows. */
  readonly workflows?: WorkflowsOptions | undefined;
  /** Which secrets the application may read. Default: all. */
  readonly secrets?: SecretsOptions | undefined;
  /** The names that the HTTP API uses: `sidecar`, or `dapr` for unmodified Dapr clients. Default `sidecar`. */
  readonly wire?: WireName | undefined;
  /**
   * The token that callers of the HTTP API must send in `sidecar-api-token` (`dapr-api-token`).
   * Visible ASCII characters. Default: environment variable `SIDECAR_API_TOKEN` (`DAPR_API_TOKEN`), where empty means
   * none.
   */
  readonly apiToken?: string | undefined;
  /**
   * The token that the sidecar sends to the application in the header of the same name.
   * Visible ASCII characters. Default: environment variable `APP_API_TOKEN`, where empty means none.
   */
  readonly appToken?: string | undefined;
  /** Time-outs, retries and circuit breakers of the sidecar's calls. Default: only the defaults of each block. */
  readonly resiliency?: ResiliencySpec | readonly ResiliencySpec[] | undefined;
  /**
   * How sidecars authenticate to each other. Default: by the secret in the environment variable
   * `SIDECAR_IDENTITY_SECRET`; without it there is no authentication, and every other sidecar is anonymous.
   */
  readonly identity?: IdentityOptions | undefined;
  /** The callers that may reach the application through other sidecars. Default: all. */
  readonly accessControl?: AccessControlOptions | undefined;
  /** The enabled parts of the HTTP API. Default: all. */
  readonly api?: ApiOptions | undefined;
  /** The web pages that may use the HTTP API and read its responses. Default: none. */
  readonly cors?: CorsOptions | undefined;
  /**
   * The names by which clients reach the HTTP API, without ports, such as `sidecar.example.com`: needed without an
   * `apiToken` behind a proxy on the same host that passes `Host` on, and for web pages of that name. `localhost`, names
   * that end in `.localhost`, IP addresses and the host of `address` always are. Other names are refused (403) to
   * browsers, and on a loopback connection to every client, because the page of a stranger may have its own name lead
   * here (DNS rebinding). Default: none.
   */
  readonly allowedHosts?: readonly string[] | undefined;
  /** What only programs written for Dapr ask for. */
  readonly dapr?: DaprOptions | undefined;
  /** The largest request body, in bytes. Default 4 MiB. */
  readonly bodyLimitBytes?: number | undefined;
  /**
   * The largest head of a response that is read, in bytes: of the application, other sidecars, HTTP endpoints and URLs.
   * A larger one fails the call. The head of a request is limited by the server that the sidecar is mounted in
   * (`maxHeaderSize` of `node:http`). Default 16 KiB.
   */
  readonly headLimitBytes?: number | undefined;
  /**
   * The application's time limit for a message; 0 for no limit. Functions in code have only the time limit of their
   * subscription. Default `1m`; none with `wire: 'dapr'`, as in daprd.
   */
  readonly deliveryTimeout?: Duration | undefined;
  /**
   * How long a stop waits for messages, job runs and responses in flight. After half of it, the signals of functions
   * that still run fire. Default `10s`.
   */
  readonly stopTimeout?: Duration | undefined;
  /** The source of time. Default: the system. */
  readonly clock?: Clock | undefined;
  /**
   * Where to log: an object with `debug`, `info`, `warn` and `error`, each called as `(details, message)`, like pino. An
   * error in `details` is plain data, `{ type, message, code?, stack?, cause?, errors? }`, of bounded length. Default:
   * warnings and errors go to standard error: one line of JSON each, on a terminal readable lines with stacks. `silent`
   * discards everything.
   */
  readonly logger?: Logger | 'silent' | undefined;
  /** Traces and metrics, such as `openTelemetry()` of `insidecar/otel`. Default: none. */
  readonly telemetry?: Telemetry | undefined;
}

/** Options without a default: their absence has a meaning. */
type Optional = 'app' | 'address' | 'identity' | 'accessControl' | 'cors' | 'allowedHosts' | 'telemetry';

/** Options that are there in milliseconds. */
type InMilliseconds = 'deliveryTimeout' | 'stopTimeout';

/** Options of blocks with their defaults, and values derived from options. */
interface Resolved extends Tokens {
  readonly invocation: Complete<InvocationOptions>;
  readonly dapr: { readonly features: readonly string[]; readonly placement: PlacementSettings };
  readonly deliveryTimeoutMs: number;
  /** As `deliveryTimeoutMs`, for the events of input bindings. */
  readonly bindingTimeoutMs: number;
  readonly stopTimeoutMs: number;
  readonly jobs: JobsSettings;
  readonly workflows: WorkflowsSettings;
  readonly wire: Wire;
  readonly logger: Logger;
  readonly appHealth: HealthSettings | undefined;
  /** Whether the namespace is more than the default. */
  readonly isNamespaceSet: boolean;
}

/** Options, checked and complete. */
export type ResolvedOptions = Resolved &
  Complete<Omit<SidecarOptions, Optional | InMilliseconds | keyof Resolved>> & {
    readonly [Name in Optional]: SidecarOptions[Name];
  };

/** The namespace of applications that set none. */
const DEFAULT_NAMESPACE = 'default';

/** On both wires: daprd has no limit for messages, but one for the events of bindings. */
const BINDING_TIMEOUT_MS = 60_000;

/** The building blocks that components may be for. */
const BLOCKS: readonly NonNullable<AnyComponentDefinition['block']>[] = [
  'pubsub',
  'state',
  'secrets',
  'configuration',
  'lock',
  'bindings',
];

const text = { type: 'string' } as const;
const name = { type: 'string', ...NAME_FORM } as const;
const callable = { isFunction: true };
/** An object that has these methods, its own or inherited ones. */
function methods(...names: readonly string[]): JsonSchema {
  return { type: 'object', required: names, properties: Object.fromEntries(names.map((name) => [name, callable])) };
}

const problemOf = validator(
  optionsSchema<SidecarOptions>({
    appId: name,
    namespace: name,
    app: APP_SCHEMA,
    components: {
      type: 'array',
      items: {
        type: 'object',
        required: ['name', 'type', 'open'],
        properties: { name: { type: 'string', minLength: 1 }, type: text, block: { enum: BLOCKS }, open: callable },
      },
    },
    state: { type: 'object', required: ['type', 'open'], properties: { type: text, open: callable } },
    subscriptions: { type: 'array', items: SUBSCRIPTION_OPTIONS_SCHEMA },
    invocation: INVOCATION_OPTIONS_SCHEMA,
    nameResolution: NAME_RESOLUTION_SCHEMA,
    address: ADDRESS_SCHEMA,
    jobs: JOBS_OPTIONS_SCHEMA,
    workflows: WORKFLOWS_OPTIONS_SCHEMA,
    secrets: SECRETS_OPTIONS_SCHEMA,
    wire: { enum: ['sidecar', 'dapr'] },
    // Validated when they are read: error messages must not show them.
    apiToken: {},
    appToken: {},
    // Validated when it is parsed.
    resiliency: {},
    // Validated when they are parsed: error messages must not show keys or header fields.
    httpEndpoints: {},
    identity: {},
    accessControl: {},
    api: API_SCHEMA,
    cors: CORS_SCHEMA,
    allowedHosts: {
      type: 'array',
      maxItems: 1_000,
      items: { type: 'string', pattern: HOST_NAME, expects: 'the name of a host, without a port' },
    },
    dapr: optionsSchema<DaprOptions>({
      features: { type: 'array', items: { type: 'string', minLength: 1 } },
      placement: PLACEMENT_SCHEMA,
    }),
    bodyLimitBytes: POSITIVE,
    headLimitBytes: POSITIVE,
    deliveryTimeout: DURATION,
    stopTimeout: DURATION,
    clock: methods('now', 'setTimeout'),
    logger: {
      ...methods('debug', 'info', 'warn', 'error'),
      expects: 'an object with debug, info, warn and error, or "silent"',
    },
    telemetry: {
      type: 'object',
      required: ['type', 'attach', 'logFields', 'bound'],
      properties: { type: text, attach: callable, logFields: callable, bound: callable },
    },
  }),
  'options',
);

/**
 * Checks options and fills in defaults.
 *
 * @throws SidecarError `ERR_CONFIGURATION` naming the option, its value and what was expected.
 */
export function resolveOptions(options: SidecarOptions, environment: NodeJS.ProcessEnv): ResolvedOptions {
  const givenNamespace = options.namespace ?? (environment['NAMESPACE'] || undefined);
  const namespace = givenNamespace ?? DEFAULT_NAMESPACE;
  const given = definedOnly(options);
  const { app, logger, appId = environment['APP_ID'] } = given;
  const problem =
    likelyMistake(given) ??
    problemOf(definedOnly({ ...given, appId, namespace, logger: logger === 'silent' ? undefined : logger })) ??
    appProblem(app) ??
    grpcProblem(given);
  if (problem !== undefined) throw invalidConfiguration(problem, /^options(?:\.\w+)*/.exec(problem)?.[0]);
  if (appId === undefined) throw invalidConfiguration('options.appId is missing', 'options.appId');
  if (given.address !== undefined) checkedBaseUrl(given.address, 'options.address');
  const wire = wireNames(given.wire ?? 'sidecar');
  const prefix = wire.environmentPrefix;
  const tokens = resolveTokens(given, environment, prefix);
  return {
    app: undefined,
    address: undefined,
    accessControl: undefined,
    cors: undefined,
    allowedHosts: undefined,
    telemetry: undefined,
    components: [],
    subscriptions: [],
    secrets: {},
    nameResolution: {},
    api: {},
    bodyLimitBytes: 4 * 1024 * 1024,
    headLimitBytes: HEAD_LIMIT_BYTES,
    ...given,
    deliveryTimeoutMs: msOf(given.deliveryTimeout) ?? wire.appTimeLimitMs,
    bindingTimeoutMs: msOf(given.deliveryTimeout) ?? BINDING_TIMEOUT_MS,
    stopTimeoutMs: msOf(given.stopTimeout) ?? 10_000,
    ...tokens,
    clock: clockOutside(given.clock ?? systemClock),
    state: given.state ?? memoryState(),
    identity: given.identity ?? identityOf(environment),
    httpEndpoints: given.httpEndpoints ?? [],
    resiliency: given.resiliency ?? [],
    appId,
    namespace,
    isNamespaceSet: givenNamespace !== undefined,
    invocation: { urls: true, ...definedOnly(given.invocation ?? {}) },
    dapr: {
      features: given.dapr?.features ?? [],
      placement: resolvePlacement(definedOnly(given.dapr?.placement ?? {}), environment, prefix),
    },
    jobs: resolveJobs(given.jobs ?? {}, wire),
    workflows: resolveWorkflows(given.workflows ?? {}),
    wire,
    appHealth: resolveHealth(app?.health),
    logger: loggingErrors(loggerOf(given, appId), apart(given.telemetry)),
  };
}

/** By default, a logger whose lines name the present trace, if there is one. */
function loggerOf({ logger, telemetry }: SidecarOptions, appId: string): Logger {
  if (logger !== undefined) return logger === 'silent' ? silentLogger : logger;
  return standardErrorLogger({ appId, ...(telemetry && { traceFields: telemetry.logFields }) });
}

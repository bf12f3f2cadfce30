import { randomUUID } from 'node:crypto';
import type { HttpEndpointOptions } from '../blocks/invocation/endpoints.ts';
import type { NameResolutionOptions } from '../blocks/invocation/resolution/options.ts';
import type { RouteSubscription } from '../blocks/pubsub/delivery/subscription.ts';
import type { SecretsOptions } from '../blocks/secrets/options.ts';
import type { AnyComponentDefinition } from '../components/any-component.ts';
import { SidecarError } from '../errors.ts';
import type { ResiliencySpec } from '../resiliency/options.ts';
import type { AccessControlOptions } from '../security/access-options.ts';
import type { ApiOptions } from '../security/api-list.ts';
import type { IdentityOptions } from '../security/identity-options.ts';
import type { StateDefinition } from '../state/store.ts';
import type { Logger } from '../util/logger.ts';
import { type WireName, wireNames } from '../wire.ts';
import { type Substitutes, substituteProblem } from './component-types.ts';
import { readComponents } from './components.ts';
import { chooseConfigurations, type ReadConfiguration, readConfiguration } from './configuration.ts';
import { findFiles } from './find-files.ts';
import { readHttpEndpoints } from './http-endpoints.ts';
import { type ReadFilesOptions, readFiles } from './read-files.ts';
import { Report, type ResourceFinding, wholeFile } from './report.ts';
import { readResiliency } from './resiliency.ts';
import { type Resource, selectResources } from './resource.ts';
import type { ComponentSpec } from './schema/component.ts';
import { type OwnState, stateOnDisk } from './state-stores.ts';
import { readSubscriptions } from './subscriptions.ts';
import type { TelemetrySettings } from './telemetry-settings.ts';

/** Options of {@link checkResources}. @public */
export interface CheckOptions {
  /** The application that the resources are for. Default: all applications; the files are then only checked. */
  readonly appId?: string | undefined;
  /** Its namespace; others are excluded. Default: environment variable `NAMESPACE`; empty for any. */
  readonly namespace?: string | undefined;
  /** Read by `envRef`, `secretstores.local.env` and variables in Configuration files. Default: `process.env`. */
  readonly environment?: NodeJS.ProcessEnv | undefined;
  /**
   * Files with a Configuration; sections of later ones replace those of earlier ones, and `$NAME` in them is replaced
   * by an environment variable. If given, Configurations among the other resources are ignored.
   */
  readonly configPaths?: readonly string[] | undefined;
  /** The directory of the state, overriding the resources. Default: as in the resources. */
  readonly statePath?: string | undefined;
  /**
   * Replacements of component types, such as `{ 'pubsub.redis': 'pubsub.in-memory' }`. `pubsub.*` matches every
   * unsupported pub/sub type; `none` leaves components of that type out, and `{ '*': 'none' }` all of unsupported types.
   */
  readonly substitute?: Readonly<Record<string, string>> | undefined;
  /** The base of relative paths in components. Default: the working directory. */
  readonly workingDirectory?: string | undefined;
  /**
   * The names that the API of the application's sidecar uses. With `dapr`, keys, kinds and component types are
   * understood in any case, as daprd does; with `sidecar` they are case-sensitive. Default: `sidecar`.
   */
  readonly wire?: WireName | undefined;
  /** Whether the caller applies {@link LoadedResources.telemetry}; else a note says that it has no effect. @internal */
  readonly appliesTelemetry?: boolean;
}

/** Options of {@link loadResources}. @public */
export interface LoadOptions extends CheckOptions {
  /** The application that the resources are for. */
  readonly appId: string;
  /** Logs unused parts of the files. Default: no log; see {@link LoadedResources.notes}. */
  readonly logger?: Logger | undefined;
}

/** Options of a sidecar from resource files. @public */
export interface ResourceOptions {
  /** Components of all building blocks. */
  readonly components: readonly AnyComponentDefinition[];
  /** Declarative subscriptions, in the order of the files. */
  readonly subscriptions: readonly RouteSubscription[];
  /** HTTP endpoints. */
  readonly httpEndpoints: readonly HttpEndpointOptions[];
  /** From a Configuration. */
  readonly accessControl?: AccessControlOptions;
  /** From a Configuration, with the referenced keys resolved. */
  readonly identity?: IdentityOptions;
  /** From a Configuration. */
  readonly api?: ApiOptions;
  /** From a Configuration. */
  readonly secrets?: SecretsOptions;
  /** The features that a Configuration enables; absent if none is. */
  readonly dapr?: { readonly features: readonly string[] };
  /** From a Configuration. */
  readonly nameResolution?: NameResolutionOptions;
  /** All Resiliency resources, merged. */
  readonly resiliency?: ResiliencySpec;
  /** The state store, if a state component or {@link CheckOptions.statePath} defines one. */
  readonly state?: StateDefinition;
}

/** A resource. @public */
export interface ResourceSummary {
  /** Such as `Component`. */
  readonly kind: string;
  /** Its name. */
  readonly name: string;
  /** Its file. */
  readonly file: string;
}

/** The result of {@link checkResources}. @public */
export interface CheckedResources {
  /** Problems that must be fixed; empty if the files can be used. */
  readonly problems: readonly ResourceFinding[];
  /** Parts that are unused, or used in another way than Dapr does. */
  readonly notes: readonly ResourceFinding[];
  /** The resources for the application. */
  readonly resources: readonly ResourceSummary[];
}

/** The result of {@link loadResources}. @public */
export interface LoadedResources {
  /** Options of a sidecar: `new Sidecar({ appId, ...options })`. */
  readonly options: ResourceOptions;
  /** The absolute directory of {@link ResourceOptions.state}, if it is on disk. */
  readonly statePath?: string;
  /** The state and why it is that, for sidecars that share one. @internal */
  readonly ownState?: OwnState;
  /** The settings of a Configuration for traces and metrics. The command applies them, the sidecar itself does not. */
  readonly telemetry?: TelemetrySettings;
  /** Features enabled by a Configuration. */
  readonly features: readonly string[];
  /** Parts that are unused, or used in another way than Dapr does. */
  readonly notes: readonly ResourceFinding[];
  /** The resources for the application. */
  readonly resources: readonly ResourceSummary[];
}

/**
 * Reads resource files in Dapr's form as options of a sidecar: single files, or every `*.yaml` and `*.yml` directly in
 * a directory.
 *
 * @param paths - directories and files; all must exist
 * @throws SidecarError `ERR_CONFIGURATION` with all problems in all files, each with file, document, line and column.
 * @example
 * ```ts
 * const { options } = await loadResources(['./resources'], { appId: 'orders' });
 * const sidecar = new Sidecar({ appId: 'orders', app: { port: 3000 }, ...options });
 * ```
 * @public
 */
export async function loadResources(paths: readonly string[], options: LoadOptions): Promise<LoadedResources> {
  const report = new Report();
  const { made, summaries } = await readAll(paths, options, report);
  report.throwProblems(`resources of ${JSON.stringify(options.appId)}`);
  for (const { message, ...location } of report.notes) options.logger?.info(location, message);
  const { components, configuration, state } = made;
  const { features, telemetry, ...configured } = configuration;
  const { resiliency, subscriptions, httpEndpoints } = made;
  return {
    options: {
      components,
      subscriptions,
      httpEndpoints,
      ...configured,
      ...(features.length === 0 ? {} : { dapr: { features } }),
      ...(resiliency === undefined ? {} : { resiliency }),
      ...(state === undefined ? {} : { state: state.definition }),
    },
    ...(state === undefined ? {} : { ownState: state }),
    ...(state?.path === undefined ? {} : { statePath: state.path }),
    ...(telemetry === undefined ? {} : { telemetry }),
    features,
    notes: report.notes,
    resources: summaries,
  };
}

/**
 * Finds all problems in resource files without opening anything. Without an app ID, checks them for all applications.
 *
 * @param paths - directories and files
 * @public
 */
export async function checkResources(paths: readonly string[], options: CheckOptions = {}): Promise<CheckedResources> {
  const report = new Report();
  const { summaries } = await readAll(paths, options, report);
  return { problems: report.problems, notes: report.notes, resources: summaries };
}

interface Made {
  readonly components: readonly AnyComponentDefinition[];
  readonly subscriptions: readonly RouteSubscription[];
  readonly httpEndpoints: readonly HttpEndpointOptions[];
  readonly configuration: ReadConfiguration;
  readonly resiliency: ResiliencySpec | undefined;
  readonly state: OwnState | undefined;
}

async function readAll(
  paths: readonly string[],
  options: CheckOptions,
  report: Report,
): Promise<{ made: Made; summaries: readonly ResourceSummary[] }> {
  const { environment = process.env, substitute = {}, workingDirectory = '.', configPaths = [] } = options;
  refuseSubstitutes(substitute);
  const namespace = options.namespace ?? environment['NAMESPACE'] ?? '';
  const audience = { appId: options.appId, namespace };
  const inAnyCase = options.wire === undefined ? false : wireNames(options.wire).keysInAnyCase;
  const configs = await readConfigs(configPaths, { environment, inAnyCase }, report);
  const found = await readFiles(await findFiles(paths, report), report, { inAnyCase });
  const selected = selectResources(found, audience, report);
  const configurations = chooseConfigurations(configs, selected, report);

  const origins = { appId: options.appId ?? 'app', namespace, environment, newId: randomUUID };
  const ofComponents = selected.filter(({ kind }) => kind === 'Component');
  const read = await readComponents(
    ofComponents,
    { origins, substitute, workingDirectory, isForDapr: inAnyCase },
    report,
  );
  const withSecrets = { ...origins, secretStores: read.secretStores };
  const made = {
    components: [...read.pubsubs, ...read.stores],
    subscriptions: readSubscriptions(selected, report),
    httpEndpoints: readHttpEndpoints(selected, withSecrets, report),
    configuration: await readConfiguration(
      configurations,
      { ...withSecrets, workingDirectory, appliesTelemetry: options.appliesTelemetry ?? false },
      report,
    ),
    resiliency: readResiliency(selected, report),
    state:
      options.statePath === undefined
        ? read.state
        : { ...stateOnDisk(options.statePath), isMarked: true, needsDisk: true },
  };
  noteOpenEnvironment(made, selected, report);
  report.sort();
  const summaries = selected.map(({ kind, name, document: { file } }) => ({ kind, name, file }));
  return { made, summaries };
}

/** The Configurations of explicitly named files; `undefined` if no file is named. */
async function readConfigs(
  paths: readonly string[],
  reading: Required<ReadFilesOptions>,
  report: Report,
): Promise<readonly Resource[] | undefined> {
  if (paths.length === 0) return undefined;
  const before = report.problems.length;
  const found = await readFiles(await findFiles(paths, report), report, reading);
  for (const { kind, document } of found) {
    if (kind !== 'Configuration')
      report.note(document.location(), `this ${kind} is not used: the file is named for a Configuration`);
  }
  const configurations = found.filter(({ kind }) => kind === 'Configuration');
  // Without the named Configuration, everything would be allowed.
  if (configurations.length === 0 && report.problems.length === before)
    report.problem(wholeFile(paths.join(', ')), 'there is no Configuration in it');
  return configurations;
}

/** Applications can read the whole environment of the sidecar then, which may hold more than is meant for them. */
function noteOpenEnvironment(
  { components, configuration }: Made,
  resources: readonly Resource[],
  report: Report,
): void {
  const ruled = new Set(configuration.secrets?.scopes?.map(({ storeName }) => storeName));
  const open = components.find(({ name, type }) => type === 'secretstores.local.env' && !ruled.has(name));
  const resource = open && resources.find(({ kind, name }) => kind === 'Component' && name === open.name);
  // The cast is safe: the schema of the kind was checked.
  const { metadata = [] } = (resource?.spec ?? {}) as ComponentSpec;
  if (resource === undefined || metadata.some((entry) => entry.name.toLowerCase() === 'prefix')) return;
  const what = `the application can read all environment variables from the secret store ${JSON.stringify(resource.name)}`;
  report.note(
    resource.document.location(['spec', 'type']),
    `${what}: restrict it by spec.secrets.scopes of a Configuration`,
  );
}

function refuseSubstitutes(substitute: Substitutes): void {
  const problem = substituteProblem(substitute);
  if (problem !== undefined) throw new SidecarError('ERR_CONFIGURATION', `options.substitute: ${problem}`);
}
